//! The port of a tool.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{BoxFuture, Clock, FileStore, Memory, ScopedSearch, Tasks, ThreadStore, ThreadsHandle};
use crate::domain::{
    ApprovalId, AuthorId, Capabilities, CorrelationId, Language, MemoryScope, MessageId, Origin, Permit,
    ThreadId, Timestamp, ToolCallId, ToolSpec,
};

/// The progress of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of output so far.
    pub bytes: u64,
    /// The last line of output, cut to a readable length.
    pub last_line: String,
}

/// The context of a call.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The project directory, absolute and resolved.
    pub project: PathBuf,
    /// The thread of the call.
    pub thread: ThreadId,
    pub correlation: CorrelationId,
    pub call: ToolCallId,
    pub permit: Permit,
    /// The memory that the turn may use.
    pub scope: MemoryScope,
    /// How far the people are trusted whose words led to the call.
    pub origin: Origin,
    /// Who asked for it.
    pub requester: Option<AuthorId>,
    /// Whether a scheduled task asked for it, perhaps without people to answer.
    pub unattended: bool,
    /// The language of the people.
    pub language: Language,
    /// The messages that the turn answers.
    pub asked_in: Vec<MessageId>,
    /// The approval that allowed it.
    pub approval: Option<ApprovalId>,
    pub memory: Arc<dyn Memory>,
    pub tasks: Arc<dyn Tasks>,
    pub files: Arc<dyn FileStore>,
    /// Search in what the turn may read.
    pub search: ScopedSearch,
    /// The stored messages of all threads.
    pub history: Arc<dyn ThreadStore>,
    /// For posting messages to threads.
    pub threads: ThreadsHandle,
    /// Receives the progress of a long call. A tool never waits for it: progress is dropped when the queue is full.
    pub progress: Option<mpsc::Sender<Progress>>,
    pub clock: Arc<dyn Clock>,
    /// Cancels the call; a long-running tool must observe it.
    pub cancel: CancellationToken,
}

impl ToolContext {
    /// The part of the context that a preview needs.
    pub fn site(&self) -> CallSite<'_> {
        CallSite {
            project: &self.project,
            thread: &self.thread,
            scope: &self.scope,
            origin: self.origin,
            requester: self.requester.as_ref(),
            unattended: self.unattended,
            language: self.language,
            now: self.clock.now(),
            memory: &*self.memory,
            tasks: &*self.tasks,
        }
    }
}

/// The context of a call before it was approved.
#[derive(Clone, Copy, Debug)]
pub struct CallSite<'a> {
    /// The project directory, absolute and resolved.
    pub project: &'a Path,
    pub thread: &'a ThreadId,
    /// The memory that the turn may use.
    pub scope: &'a MemoryScope,
    /// How far the people are trusted whose words led to the call.
    pub origin: Origin,
    pub requester: Option<&'a AuthorId>,
    /// Whether a scheduled task asked for it.
    pub unattended: bool,
    /// The language of the people.
    pub language: Language,
    pub now: Timestamp,
    pub memory: &'a dyn Memory,
    pub tasks: &'a dyn Tasks,
}

/// A proposed change of a text. May contain secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextChange {
    /// The path for people.
    pub path: String,
    pub before: Option<String>,
    pub after: String,
    /// What it means, as CommonMark, where the text alone does not tell.
    pub explanation: Option<String>,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolFailure {
    /// The arguments are invalid; the model can correct them.
    #[error("invalid arguments: {0}")]
    BadArguments(String),
    /// It is not permitted.
    #[error("refused: {0}")]
    Refused(String),
    /// It was tried and failed.
    #[error("{0}")]
    Failed(String),
    /// It exceeded its deadline.
    #[error("timed out after {0} seconds")]
    TimedOut(u64),
}

/// The result of a call: JSON for the model, bounded in size by the tool.
pub type ToolOutcome = Result<Value, ToolFailure>;

/// A tool. Each is one file under `tools/` and one line in the registry.
pub trait Tool: Send + Sync + std::fmt::Debug {
    /// The description for the model.
    fn spec(&self) -> ToolSpec;

    /// Whether it is usable on a platform with these capabilities. Where it is not, the model is not told of it and
    /// cannot call it.
    fn suits(&self, _: &Capabilities) -> bool {
        true
    }

    /// Whether the tool can take these arguments at all: present, of the right type and of a known form. Checked before
    /// a call is judged, so that a call which cannot run is mended by the model and never shown to a person.
    fn check(&self, arguments: &Value) -> Result<(), ToolFailure>;

    /// What a call would change, for the approval question; `None` for a tool that changes no text. Fails as the call
    /// would. Accesses the disk, but changes nothing.
    fn preview(&self, _arguments: &Value, _site: CallSite<'_>) -> Option<Result<TextChange, ToolFailure>> {
        None
    }

    /// Runs a call. The caller sets the deadline; dropping the future cancels the call.
    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome>;
}

/// The tools of an agent. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolBox {
    /// The specs, in the order of `tools`.
    specs: Arc<[ToolSpec]>,
    tools: Arc<[Arc<dyn Tool>]>,
}

impl ToolBox {
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let tools: Arc<[Arc<dyn Tool>]> = tools.into_iter().collect();
        Self { specs: tools.iter().map(|tool| tool.spec()).collect(), tools }
    }

    /// The tools that are usable with these capabilities.
    pub fn suited(&self, capabilities: &Capabilities) -> Self {
        if self.tools.iter().all(|tool| tool.suits(capabilities)) {
            return self.clone();
        }
        Self::new(self.tools.iter().filter(|tool| tool.suits(capabilities)).cloned())
    }

    /// The specs for the model. Shared by all prompts.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.specs)
    }

    /// The tool of this name, with its spec.
    pub fn get(&self, name: &str) -> Option<(&ToolSpec, &Arc<dyn Tool>)> {
        self.specs.iter().zip(self.tools.iter()).find(|(spec, _)| spec.name == name)
    }
}
