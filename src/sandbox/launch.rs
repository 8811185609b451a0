//! The daemon's side: starts a command in its sandbox, lets go of it, and hears how it ended.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::control::frames;
use super::linux;
use super::report::Report;
use super::spec::Spec;
use super::stage::{FLAG, Stage};

/// More than the few lines of reports that there are.
const REPORT_BYTES: u64 = 64 * 1024;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal.
    Killed(i32),
}

/// Why a command was not run.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The helper could not be started or spoken to.
    #[error("the sandbox helper cannot be used")]
    Helper(#[from] io::Error),
    /// The sandbox could not be set up as asked, so the command was not started.
    #[error("the sandbox cannot be set up: {0}")]
    Setup(String),
    /// The helper ended without a word; whether the command did anything is not known.
    #[error("the sandbox helper ended without saying how the command ended")]
    Silent,
}

/// A command that runs. Dropping it lets go of it: the command is asked to end, and after its grace ended.
#[derive(Debug)]
pub struct Running {
    supervisor: Child,
    reports: OwnedReadHalf,
    lifeline: Option<OwnedWriteHalf>,
}

/// Our own binary, as the helper that [`start`] wants.
pub fn own_binary() -> PathBuf {
    PathBuf::from(linux::SELF)
}

/// Starts a command with this environment and no other. Gives what it writes to its two outputs.
pub async fn start(
    helper: &Path,
    spec: &Spec,
    environment: &[(String, String)],
) -> Result<(Running, ChildStdout, ChildStderr), LaunchError> {
    let frames = frames(spec)?;
    let (ours, theirs) = StdStream::pair()?;
    ours.set_nonblocking(true)?;
    let mut supervisor = Command::new(helper)
        .arg0("shipagent")
        .args([FLAG, Stage::Supervise.name()])
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (Some(stdout), Some(stderr)) = (supervisor.stdout.take(), supervisor.stderr.take()) else {
        return Err(LaunchError::Silent);
    };
    let (reports, mut lifeline) = UnixStream::from_std(ours)?.into_split();
    lifeline.write_all(&frames).await?;
    Ok((Running { supervisor, reports, lifeline: Some(lifeline) }, stdout, stderr))
}

impl Running {
    /// Asks the command to end; what has not ended after the grace of its spec is killed.
    pub fn let_go(&mut self) {
        self.lifeline = None;
    }

    /// Kills the helpers, and with them the command. For when letting go does not help.
    pub fn kill(&mut self) {
        // One that has ended cannot be killed, and need not be.
        drop(self.supervisor.start_kill());
    }

    /// Waits for the end of the command and of all that it started. To be awaited once.
    pub async fn ended(&mut self) -> Result<Ended, LaunchError> {
        let mut lines = BufReader::new((&mut self.reports).take(REPORT_BYTES)).lines();
        let mut ended = Err(LaunchError::Silent);
        while let Some(line) = lines.next_line().await? {
            match serde_json::from_str(&line).map_err(io::Error::from)? {
                Report::Entered(_) => {}
                Report::Exited { code } => ended = Ok(Ended::Exited(code)),
                Report::Killed { signal } => ended = Ok(Ended::Killed(signal)),
                Report::Failed { why } => ended = Err(LaunchError::Setup(why)),
            }
        }
        self.supervisor.wait().await?;
        ended
    }
}
