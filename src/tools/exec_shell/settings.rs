//! The settings of `exec_shell`, fixed when the daemon starts.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::scratch::Scratch;
use crate::ports::ToolOutputs;
use crate::sandbox::{MemoryLimiter, ProbeResult, ResourceLimits, SandboxMode};

type Apply = dyn Fn(&str) -> String + Send + Sync;

/// Redacts the beginning of a growing text, and returns its length.
type RedactSettled = dyn Fn(&str, usize) -> (String, usize) + Send + Sync;

#[derive(Clone)]
pub struct Redact {
    apply: Arc<Apply>,
    settled: Arc<RedactSettled>,
}

impl Redact {
    /// With this function, which must be idempotent.
    pub fn new(redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let apply: Arc<Apply> = Arc::new(redact);
        let known = apply.clone();
        Self { apply, settled: Arc::new(move |text, held| settled_by_trying(&*known, text, held)) }
    }

    /// Adds a function for growing texts: `settled` gets a text and how many bytes of its end may still change, and
    /// returns its redacted beginning and that part's length. It never cuts a secret.
    #[must_use]
    pub fn with_settled(
        mut self,
        settled: impl Fn(&str, usize) -> (String, usize) + Send + Sync + 'static,
    ) -> Self {
        self.settled = Arc::new(settled);
        self
    }

    pub(in crate::tools) fn apply(&self, text: &str) -> String {
        (self.apply)(text)
    }

    /// The redacted part of a growing text that may be shown, and its length.
    pub(super) fn settled(&self, text: &str, held: usize) -> (String, usize) {
        (self.settled)(text, held)
    }
}

/// Cuts before the held bytes, or where redacting the parts equals redacting the whole.
fn settled_by_trying(apply: &dyn Fn(&str) -> String, text: &str, held: usize) -> (String, usize) {
    let whole = apply(text);
    let mut at = text.floor_char_boundary(text.len().saturating_sub(held));
    loop {
        let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
        let clean = apply(before);
        if at == 0 || format!("{clean}{}", apply(after)) == whole {
            return (clean, at);
        }
        at = text.floor_char_boundary(at - 1);
    }
}

impl fmt::Debug for Redact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redact")
    }
}

/// The settings of commands.
#[derive(Clone, Debug)]
pub struct ExecSettings {
    /// The store of complete outputs, for people.
    pub outputs: Arc<dyn ToolOutputs>,
    /// Our own binary: see [`crate::sandbox::own_binary`].
    pub helper: PathBuf,
    pub mode: SandboxMode,
    /// The sandbox probe of this machine.
    pub found: ProbeResult,
    /// The daemon's environment; commands get only a small part of it.
    pub environment: Vec<(String, String)>,
    /// Paths that commands may read and execute beside the system and the project: see [`super::programs_of`].
    pub readable: Vec<PathBuf>,
    /// Sockets of other programs that commands with network access may connect to: `permissions.exec_shell.sockets`.
    pub sockets: Vec<PathBuf>,
    /// The private folders of commands.
    pub scratch: Scratch,
    /// The default and largest deadline of a command.
    pub timeout: Duration,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Duration,
    pub max_processes: usize,
    pub limits: ResourceLimits,
    pub memory: MemoryLimiter,
    pub redact: Redact,
}
