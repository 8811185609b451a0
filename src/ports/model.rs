//! What the threads ask of a language model.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use super::BoxFuture;
use crate::domain::{ErrorKind, ToolCallId, ToolSpec};
use crate::uimessage::ModelMessage;

/// Everything one model call is given.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// Who the agent is, the facts of the moment, the rules of output.
    pub system: String,
    pub messages: Vec<ModelMessage>,
    /// What it may call.
    pub tools: Arc<[ToolSpec]>,
}

/// What a call lets be seen while it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelDelta {
    /// More of the answer.
    Text(String),
    /// More of its thinking.
    Reasoning(String),
    /// A tool call has begun, or its arguments grow. Boxed: most deltas are words, and every call in flight has room for
    /// many deltas.
    ToolInput(Box<CallDelta>),
    /// The call has trouble and is tried again, or elsewhere.
    Trouble {
        kind: ErrorKind,
        /// The model that is asked next, where it is another one.
        next_model: Option<String>,
    },
    /// The stream broke off and the answer is asked for again: what was shown of this step no longer holds.
    StartOver,
}

/// More of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallDelta {
    /// Which of the step's calls.
    pub index: usize,
    /// Its id, as soon as it is known; the same one that the completion will carry.
    pub id: ToolCallId,
    pub name: String,
    /// More letters of its arguments.
    pub arguments: String,
}

/// A tool call the model made.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Its id, unique in its turn.
    pub id: ToolCallId,
    pub name: String,
    /// The arguments; where they are not JSON, the text as it came.
    pub arguments: Result<Value, String>,
}

/// What the server counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    /// The part of the input that came from the provider's cache.
    pub cached: u64,
}

/// What a model call gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    pub text: String,
    pub reasoning: String,
    /// The calls, in the model's order.
    pub tool_calls: Vec<ToolCall>,
    /// Whether the answer was cut at the model's own limit.
    pub truncated: bool,
    /// What it cost, where the server said.
    pub usage: Option<Usage>,
}

/// Why there is no completion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct ModelError {
    /// What sort of trouble.
    pub kind: ErrorKind,
    /// What happened, for the operator: the model, the status, the server's own words, without secrets.
    pub detail: String,
    /// How long the server asked us to wait.
    pub retry_after: Option<std::time::Duration>,
}

pub trait Model: Send + Sync + std::fmt::Debug {
    /// Asks the model once, with all retries and fallbacks that this may take. What can be shown goes to `live`
    /// as it comes; a `Text` that went there is never taken back. Ends in bounded time. Dropping the future
    /// cancels the call.
    fn complete(
        &self,
        prompt: Prompt,
        live: mpsc::Sender<ModelDelta>,
    ) -> BoxFuture<'_, Result<Completion, ModelError>>;

    /// The model's name, for people.
    fn name(&self) -> &str;
}
