//! What `exec_shell` is given once, when the daemon starts.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::scratch::Scratch;
use crate::ports::ToolOutputs;
use crate::sandbox::{Finding, Limits, Memory, Mode};

/// Takes secrets out of a text.
type Apply = dyn Fn(&str) -> String + Send + Sync;

/// Takes secrets out of the beginning of a text that goes on, and says how many bytes that was.
type Settled = dyn Fn(&str, usize) -> (String, usize) + Send + Sync;

/// Takes known secrets out of a text.
#[derive(Clone)]
pub struct Redact {
    apply: Arc<Apply>,
    settled: Arc<Settled>,
}

impl Redact {
    /// One that does what the function does. Doing it twice must change nothing more.
    pub fn new(redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let apply: Arc<Apply> = Arc::new(redact);
        let known = apply.clone();
        Self { apply, settled: Arc::new(move |text, held| settled_by_trying(&*known, text, held)) }
    }

    /// The same, for texts that go on: `settled` is given a text and how many bytes of its end may still change, and
    /// gives its beginning without secrets and how many bytes that was. It never cuts a secret.
    #[must_use]
    pub fn with_settled(
        mut self,
        settled: impl Fn(&str, usize) -> (String, usize) + Send + Sync + 'static,
    ) -> Self {
        self.settled = Arc::new(settled);
        self
    }

    /// The text without secrets.
    pub(in crate::tools) fn apply(&self, text: &str) -> String {
        (self.apply)(text)
    }

    /// What may be shown of a text that goes on, without secrets, and how many bytes of it that is.
    pub(super) fn settled(&self, text: &str, held: usize) -> (String, usize) {
        (self.settled)(text, held)
    }
}

/// Cuts before the held bytes, or where the parts say the same as the whole.
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

/// How commands are run.
#[derive(Clone, Debug)]
pub struct ExecSettings {
    /// Where everything a command says is kept for people.
    pub outputs: Arc<dyn ToolOutputs>,
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
