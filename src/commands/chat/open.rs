//! Finds the daemon of a chat: the one that holds the project's lock, or a new one inside this process.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::time::Instant;

use super::connection::Connection;
use super::turn::RUN_MESSAGES;
use crate::adapters::web::WebAdapter;
use crate::app::{App, BoundListener};
use crate::commands::daemon_client::{DaemonClient, DaemonError};
use crate::commands::setup::start_logging;
use crate::config::{Env, Settings};
use crate::domain::ThreadId;
use crate::environment::Environment;
use crate::ports::ThreadStore;
use crate::store::{Layout, Lock, OpenError, State, address};
use crate::telemetry::{Console, Guard};
use crate::uimessage::unfinished_runs;

/// How long to retry: a daemon that has just taken the lock does not listen yet.
const RETRY_FOR: Duration = Duration::from_secs(5);
const RETRY_EVERY: Duration = Duration::from_millis(100);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    /// Another process holds the lock and cannot be reached: another chat, or a daemon without a console.
    #[error("another process holds this project")]
    Taken { pid: Option<u32> },
    /// The daemon refused the connection.
    #[error("{0}")]
    Refused(String),
    /// The project's state cannot be opened.
    #[error(transparent)]
    State(OpenError),
    /// The daemon inside this process did not start.
    #[error(transparent)]
    Start(anyhow::Error),
}

/// Connects to the project's daemon; starts one in this process where none runs.
pub(super) async fn open(
    settings: &Settings,
    env: &Env,
    thread: &ThreadId,
) -> Result<Connection, ConnectError> {
    let layout = Layout::new(&settings.state);
    let deadline = Instant::now() + RETRY_FOR;
    loop {
        let pid = match Lock::holder(&layout) {
            None => match State::files(&settings.state) {
                Ok(state) => return embedded(settings, env, state, thread).await,
                Err(OpenError::Held { holder, .. }) => holder.pid,
                Err(error) => return Err(ConnectError::State(error)),
            },
            Some(holder) => match running(settings, thread).await {
                Ok(connection) => return Ok(connection),
                Err(DaemonError::Refused(why)) => return Err(ConnectError::Refused(why)),
                Err(DaemonError::NotRunning | DaemonError::Broken(_)) => holder.pid,
            },
        };
        if Instant::now() >= deadline {
            return Err(ConnectError::Taken { pid });
        }
        tokio::time::sleep(RETRY_EVERY).await;
    }
}

async fn embedded(
    settings: &Settings,
    env: &Env,
    state: State,
    thread: &ThreadId,
) -> Result<Connection, ConnectError> {
    // A daemon that died may have left its address; this one is not to be found there.
    address::withdraw(&settings.state);
    // Read before the daemon resumes them, so that a run that ends at once is still shown as resumed.
    let before = state.threads.page(thread, None, RUN_MESSAGES).await.unwrap_or_default();
    let daemon = EmbeddedDaemon::start(settings, env, state).map_err(ConnectError::Start)?;
    let connection = Connection::to_embedded(daemon, thread).await.map_err(ConnectError::Start)?;
    Ok(connection.resuming(unfinished_runs(&before)))
}

async fn running(settings: &Settings, thread: &ThreadId) -> Result<Connection, DaemonError> {
    Connection::open(DaemonClient::of_project(settings)?, thread).await
}

/// The daemon inside this process. It holds the project's lock for as long as the chat lasts, serves HTTP on a loopback
/// port that is announced nowhere, and logs to files only.
#[derive(Debug)]
pub(super) struct EmbeddedDaemon {
    app: App,
    store: Arc<dyn ThreadStore>,
    address: SocketAddr,
    token: SecretString,
    _logs: Guard,
}

impl EmbeddedDaemon {
    /// Starts a daemon on a state whose lock this process holds. Its token is new for each start.
    pub(super) fn start(settings: &Settings, env: &Env, state: State) -> anyhow::Result<Self> {
        let listener = WebAdapter::bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = listener.local_addr()?;
        let token: SecretString =
            format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple()).into();
        let (shell, logs) = start_logging(settings, env, Some(&token), Console::Silent)?;
        let store = state.threads.clone();
        let web = BoundListener { listener, address, token: token.clone(), onboarding: None };
        let app = App::start(settings, state, Environment::real(&settings.model, shell), Some(web))?;
        Ok(Self { app, store, address, token, _logs: logs })
    }

    pub(super) fn client(&self) -> Result<DaemonClient, DaemonError> {
        DaemonClient::new(self.address, self.token.clone())
    }

    /// Stops the daemon; a running turn gets until `grace` is over.
    pub(super) async fn stop(self, grace: Duration) {
        self.app.stop(grace).await;
        self.store.close().await;
    }
}
