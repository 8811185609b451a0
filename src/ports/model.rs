//! The port of a language model.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use super::{Account, BoxFuture};
use crate::domain::{ErrorKind, Shortage, ToolCallId, ToolSpec, Usage};
use crate::uimessage::ModelMessage;

/// The input of one model call.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// Instructions, facts and output rules.
    pub system: String,
    pub messages: Vec<ModelMessage>,
    pub tools: Arc<[ToolSpec]>,
    /// Most tokens of the answer, where the call needs fewer than the model may give.
    pub max_output_tokens: Option<u32>,
    /// Who measures the call; nothing outside a daemon.
    pub account: Option<Account>,
}

/// The streamed output of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelDelta {
    /// More of the answer.
    Text(String),
    Reasoning(String),
    /// A tool call has begun, or its arguments grow. Boxed: most deltas are text, and every call in flight reserves
    /// space for many deltas.
    ToolInput(Box<CallDelta>),
    /// The call failed and is retried, or another model is called.
    Retrying {
        kind: ErrorKind,
        /// The model that is called next, where it is another one.
        next_model: Option<String>,
    },
    /// The stream broke and the answer is requested again: the output of this step so far is void.
    StartOver,
}

/// More of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallDelta {
    /// The index among the step's calls.
    pub index: usize,
    /// Its id; the same one that the completion will carry.
    pub id: ToolCallId,
    pub name: String,
    /// A further piece of its arguments.
    pub arguments: String,
}

/// A tool call of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Unique in its turn.
    pub id: ToolCallId,
    pub name: String,
    /// The arguments; the raw text where they are not JSON.
    pub arguments: Result<Value, String>,
}

/// The result of a model call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    pub text: String,
    pub reasoning: String,
    /// The calls, in the model's order.
    pub tool_calls: Vec<ToolCall>,
    /// Whether the answer was cut at the model's output limit.
    pub truncated: bool,
    /// The usage, where the server reports it.
    pub usage: Option<Usage>,
    /// The model that answered in place of the first choice.
    pub fallback: Option<Fallback>,
}

/// A model that stood in for another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    pub model: String,
    /// Why the model before it did not answer.
    pub reason: ErrorKind,
}

/// Why a model call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct ModelError {
    pub kind: ErrorKind,
    /// For the operator: the model, the status, the server's message, redacted.
    pub detail: String,
    /// The server's `retry-after`.
    pub retry_after: Option<std::time::Duration>,
    /// Which cap has no room for the call, where it was not made for that.
    pub shortage: Option<Box<Shortage>>,
}

pub trait Model: Send + Sync + std::fmt::Debug {
    /// Calls the model, with retries and fallbacks. Output is streamed to `live`; text that was streamed is only
    /// revoked by `StartOver`. Ends in bounded time. Dropping the future cancels the call.
    fn complete(
        &self,
        prompt: Prompt,
        live: mpsc::Sender<ModelDelta>,
    ) -> BoxFuture<'_, Result<Completion, ModelError>>;

    /// The model's display name.
    fn name(&self) -> &str;

    /// Whether it is called where the first choice does not fit into a spend cap.
    fn stands_in_at_caps(&self) -> bool {
        false
    }
}
