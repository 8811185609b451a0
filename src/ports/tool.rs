//! What a turn asks of a tool.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{BoxFuture, Clock};
use crate::domain::{ThreadId, ToolCallId, ToolSpec};
use crate::policy::Class;

/// Where and for whom a call runs.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The project directory, absolute and resolved.
    pub project: PathBuf,
    /// The thread that asked.
    pub thread: ThreadId,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Ends the call; a tool that works long looks at it.
    pub cancel: CancellationToken,
    /// Which call it is.
    pub call: ToolCallId,
    /// What it may do.
    pub class: Class,
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

    /// Runs it. The caller bounds the time; dropping the future ends the call.
    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome>;
}
