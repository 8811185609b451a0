//! What a turn asks of a tool.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{BoxFuture, Clock, FileStore, Memory, ThreadStore, ThreadsHandle};
use crate::domain::{AuthorId, Capabilities, CorrelationId, Permit, ThreadId, ToolCallId, ToolSpec};

/// How far a call has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How much it has said so far.
    pub bytes: u64,
    /// The last line it said, cut to a readable length.
    pub last_line: String,
}

/// Where and for whom a call runs.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The project directory, absolute and resolved.
    pub project: PathBuf,
    /// The thread that asked.
    pub thread: ThreadId,
    pub correlation: CorrelationId,
    pub call: ToolCallId,
    /// What it was given leave to do.
    pub permit: Permit,
    /// The one person who speaks there, where nobody else reads along.
    pub person: Option<AuthorId>,
    /// What is remembered from one conversation to the next.
    pub memory: Arc<dyn Memory>,
    /// The attachments of messages.
    pub files: Arc<dyn FileStore>,
    /// What was said in the threads.
    pub history: Arc<dyn ThreadStore>,
    /// The way to say something in a thread.
    pub door: ThreadsHandle,
    /// Hears how far a long call has come. A tool never waits for it: what does not fit is left out.
    pub progress: Option<mpsc::Sender<Progress>>,
    pub clock: Arc<dyn Clock>,
    /// Ends the call; a tool that works long looks at it.
    pub cancel: CancellationToken,
}

impl ToolContext {
    /// What of it matters to a call that is only looked at.
    pub fn site(&self) -> CallSite<'_> {
        CallSite {
            project: &self.project,
            thread: &self.thread,
            person: self.person.as_ref(),
            memory: &*self.memory,
        }
    }
}

/// Where and for whom a call would run, before anybody has said that it may.
#[derive(Clone, Copy, Debug)]
pub struct CallSite<'a> {
    /// The project directory, absolute and resolved.
    pub project: &'a Path,
    /// The thread that asked.
    pub thread: &'a ThreadId,
    /// The one person who speaks there, where nobody else reads along.
    pub person: Option<&'a AuthorId>,
    /// What is remembered from one conversation to the next.
    pub memory: &'a dyn Memory,
}

/// A change of a text that is worked out but not made. May hold secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextChange {
    /// Where the text is, as people call it.
    pub path: String,
    /// What is there now.
    pub before: Option<String>,
    /// What is to be there.
    pub after: String,
}

/// Why a call gave no output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolFailure {
    /// The arguments are not what the tool takes; the model can mend them.
    #[error("invalid arguments: {0}")]
    BadArguments(String),
    /// It may not be done.
    #[error("refused: {0}")]
    Refused(String),
    /// It was tried and failed.
    #[error("{0}")]
    Failed(String),
    /// It took too long.
    #[error("timed out after {0} seconds")]
    TimedOut(u64),
}

/// What a call gave: JSON for the model, bounded in size by the tool.
pub type ToolOutcome = Result<Value, ToolFailure>;

/// A tool: what it is and what it does, in one file under `tools/`, named once in its registry.
pub trait Tool: Send + Sync + std::fmt::Debug {
    /// What the model is told.
    fn spec(&self) -> ToolSpec;

    /// Whether it makes sense in a conversation on a platform that can do this much. Where it does not, the model is
    /// not told of it and cannot call it.
    fn suits(&self, _: &Capabilities) -> bool {
        true
    }

    /// Whether the tool can take these arguments at all: present, of the right type and of a known form. Checked before
    /// a call is judged, so that a call which cannot run is mended by the model and never shown to a person.
    fn check(&self, arguments: &Value) -> Result<(), ToolFailure>;

    /// What a call would change, for whoever is to decide about it; nothing for a tool that changes no text. Fails as the
    /// call would. Touches the disk, but changes nothing.
    fn preview(&self, _arguments: &Value, _site: CallSite<'_>) -> Option<Result<TextChange, ToolFailure>> {
        None
    }

    /// Runs it. The caller bounds the time; dropping the future ends the call.
    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome>;
}
