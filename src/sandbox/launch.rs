//! The daemon's side: starts a command in its sandbox, ends it, and receives its outcome.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::control::{END_REQUEST, HelperReport, frames};
use super::helper_stage::{FLAG, HelperStage};
use super::linux;
use super::memory::{MemoryLimit, MemoryLimiter};
use super::spec::Spec;

/// Most bytes of reports.
const REPORT_BYTES: u64 = 64 * 1024;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// By itself, with this code.
    Exited(i32),
    Killed(i32),
}

/// Why a command was not run.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The helper could not be started or reached.
    #[error("the sandbox helper cannot be used")]
    Helper(#[from] io::Error),
    /// The sandbox could not be set up as specified, so the command was not started.
    #[error("the sandbox cannot be set up: {0}")]
    Setup(String),
    /// The helper ended without a report; whether the command did anything is unknown.
    #[error("the sandbox helper ended without saying how the command ended")]
    Silent,
}

#[derive(Debug)]
pub struct RunningCommand {
    pub lifeline: CommandGuard,
    /// Reports its outcome.
    pub end: OutcomeReceiver,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
    pub memory: MemoryLimit,
}

/// Keeps a command running. When it is dropped the command is asked to end, and killed after the grace period of its
/// spec. When the daemon dies with it, the command is killed at once.
#[derive(Debug)]
pub struct CommandGuard {
    held_open: OwnedWriteHalf,
    grace: Grace,
}

/// Whether a command is asked before it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grace {
    Given,
    Denied,
}

impl CommandGuard {
    /// Kills the command at once.
    pub fn cut(mut self) {
        self.grace = Grace::Denied;
    }
}

impl Drop for CommandGuard {
    fn drop(&mut self) {
        if self.grace == Grace::Given {
            // An error means that the command has ended, or that it will be killed sooner.
            drop(self.held_open.try_write(END_REQUEST));
        }
    }
}

/// Receives the outcome of a command.
#[derive(Debug)]
pub struct OutcomeReceiver {
    supervisor: Child,
    reports: OwnedReadHalf,
}

/// Our own binary, as the helper for [`start`].
pub fn own_binary() -> PathBuf {
    PathBuf::from(linux::SELF)
}

/// Starts a command with exactly this environment. `helper` is our own binary.
pub async fn start(
    helper: &Path,
    spec: &Spec,
    environment: &[(String, String)],
    memory: &MemoryLimiter,
) -> Result<RunningCommand, LaunchError> {
    let frames = frames(spec)?;
    let (ours, theirs) = StdStream::pair()?;
    ours.set_nonblocking(true)?;
    let mut supervisor = Command::new(helper)
        .arg0("shipagent")
        .args([FLAG, HelperStage::Supervise.name()])
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
    // The helper waits for its spec: until then it has started nothing.
    let memory = memory.open(supervisor.id().unwrap_or_default(), spec.limits.processes)?;
    let (reports, mut lifeline) = UnixStream::from_std(ours)?.into_split();
    lifeline.write_all(&frames).await?;
    let lifeline = CommandGuard { held_open: lifeline, grace: Grace::Given };
    Ok(RunningCommand { lifeline, end: OutcomeReceiver { supervisor, reports }, stdout, stderr, memory })
}

impl OutcomeReceiver {
    /// Waits for the end of the command and of all its processes.
    pub async fn wait(&mut self) -> Result<CommandEnd, LaunchError> {
        let mut lines = BufReader::new((&mut self.reports).take(REPORT_BYTES)).lines();
        let mut ended = Err(LaunchError::Silent);
        while let Some(line) = lines.next_line().await? {
            match serde_json::from_str(&line).map_err(io::Error::from)? {
                HelperReport::Entered(_) => {}
                HelperReport::Exited { code } => ended = Ok(CommandEnd::Exited(code)),
                HelperReport::Killed { signal } => ended = Ok(CommandEnd::Killed(signal)),
                HelperReport::Failed { why } => ended = Err(LaunchError::Setup(why)),
            }
        }
        self.supervisor.wait().await?;
        ended
    }

    /// Kills the outer helper, if dropping the lifeline did not help. In a namespace the command ends with it.
    pub async fn kill(&mut self) {
        // An error means that it has ended already.
        self.supervisor.kill().await.ok();
    }
}
