//! The agent's instructions: the text of `Agent.md` as it is now.

use std::sync::Arc;

use super::BoxFuture;

/// The instructions for one model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentInstructions {
    pub text: Arc<str>,
    /// Whether this call is the first to return a changed text.
    pub changed: bool,
}

/// The agent's instructions. Read before each model call, so that an edit counts from the next call on.
pub trait Instructions: Send + Sync + std::fmt::Debug {
    /// The current instructions. If the file cannot be read, the last readable text.
    fn current(&self) -> BoxFuture<'_, CurrentInstructions>;
}

/// Instructions that never change.
#[derive(Clone, Debug)]
pub struct FixedInstructions(pub Arc<str>);

impl Instructions for FixedInstructions {
    fn current(&self) -> BoxFuture<'_, CurrentInstructions> {
        Box::pin(async { CurrentInstructions { text: self.0.clone(), changed: false } })
    }
}
