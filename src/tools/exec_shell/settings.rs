//! What `exec_shell` is given once, when the daemon starts.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::scratch::Scratch;
use crate::sandbox::{Finding, Limits, Memory, Mode};

/// Takes known secrets out of a text.
#[derive(Clone)]
pub struct Redact(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Redact {
    /// One that does what the function does. Doing it twice must change nothing more.
    pub fn new(redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(redact))
    }

    /// The text without secrets.
    pub(in crate::tools) fn apply(&self, text: &str) -> String {
        (self.0)(text)
    }
}

impl fmt::Debug for Redact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redact")
    }
}

/// How commands are run.
#[derive(Clone, Debug)]
pub struct ExecSettings {
    /// Our own binary: see [`crate::sandbox::own_binary`].
    pub helper: PathBuf,
    /// What the operator wants of the sandbox.
    pub mode: Mode,
    /// What this machine has of it, as soon as it is known.
    pub found: Finding,
    /// The daemon's environment; little of it is passed on.
    pub environment: Vec<(String, String)>,
    /// What commands may read and execute beside the system and the project: see [`super::programs_of`].
    pub readable: Vec<PathBuf>,
    /// Sockets of other programs that commands with network may connect to: `permissions.exec_shell.sockets`.
    pub sockets: Vec<PathBuf>,
    /// Where a command gets the folder that is its own.
    pub scratch: Scratch,
    /// How long a command may take, and the most that a call can ask for.
    pub timeout: Duration,
    /// Between being asked to end and being ended.
    pub grace: Duration,
    /// How many commands may run at the same time.
    pub max_processes: usize,
    /// How much a command may use.
    pub limits: Limits,
    /// How much memory commands may use.
    pub memory: Memory,
    /// Takes secrets out of what it says.
    pub redact: Redact,
}
