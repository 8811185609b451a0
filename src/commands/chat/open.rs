//! Finds the agent: the daemon that has the project, or, where nobody has it, one of our own.

use std::time::Duration;

use tokio::time::Instant;

use super::line::Line;
use super::local::Local;
use super::remote::{ConnectError, Remote};
use crate::commands::daemon::whereabouts;
use crate::config::{Env, Settings};
use crate::domain::ThreadId;
use crate::store::{Layout, Lock, OpenError, State, address};

/// A daemon that has just taken the lock needs a moment until it can be talked to.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);

/// Why there is no line.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenLineError {
    /// Somebody has the project but cannot be talked to: another chat, or a daemon without a console.
    #[error("somebody else has this project")]
    Taken { pid: Option<u32> },
    /// The daemon did not let us in.
    #[error("{0}")]
    Refused(String),
    /// The project's state is out of reach.
    #[error(transparent)]
    State(OpenError),
    /// Our own agent did not start.
    #[error(transparent)]
    Start(anyhow::Error),
}

/// Opens a line to whoever answers for the project.
pub(super) async fn open(settings: &Settings, env: &Env, thread: &ThreadId) -> Result<Line, OpenLineError> {
    let layout = Layout::new(&settings.state);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let pid = match Lock::holder(&layout) {
            None => match State::files(&settings.state) {
                Ok(state) => return local(settings, env, state, thread).await,
                Err(OpenError::Held { holder, .. }) => holder.pid,
                Err(error) => return Err(OpenLineError::State(error)),
            },
            Some(holder) => match remote(settings, thread).await {
                Some(Ok(line)) => return Ok(line),
                Some(Err(ConnectError::Refused(why))) => return Err(OpenLineError::Refused(why)),
                Some(Err(ConnectError::Nobody(_))) | None => holder.pid,
            },
        };
        if Instant::now() >= deadline {
            return Err(OpenLineError::Taken { pid });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn local(
    settings: &Settings,
    env: &Env,
    state: State,
    thread: &ThreadId,
) -> Result<Line, OpenLineError> {
    // A daemon that died may have left its address behind; nobody should look for us there.
    address::withdraw(&settings.state);
    let line = Local::start(settings, env, state, thread.clone()).await.map_err(OpenLineError::Start)?;
    Ok(Line::Local(Box::new(line)))
}

/// A line to the daemon, if it is known where it listens and its token.
async fn remote(settings: &Settings, thread: &ThreadId) -> Option<Result<Line, ConnectError>> {
    let (address, token) = whereabouts(settings)?;
    let line = Remote::connect(address, token, thread).await;
    Some(line.map(|line| Line::Remote(Box::new(line))))
}
