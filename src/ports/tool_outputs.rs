//! Everything a command says, for people: the model is shown an excerpt.

use super::BoxFuture;
use crate::domain::ToolCallId;

/// The full outputs of calls. How many are kept, and how long, is the store's to say.
pub trait ToolOutputs: Send + Sync + std::fmt::Debug {
    /// Begins the output of a call. Stores nothing before the first text.
    fn begin(&self, call: &ToolCallId) -> Box<dyn ToolOutput>;
}

/// The output of one call. What cannot be written is left out: the command matters more.
pub trait ToolOutput: Send + Sync + std::fmt::Debug {
    /// Adds text, as long as there is room.
    fn write<'a>(&'a mut self, text: &'a str) -> BoxFuture<'a, ()>;

    /// Ends the output; where it is not `needed` it goes away. Gives where people find it, relative to the project.
    fn close(self: Box<Self>, needed: bool) -> BoxFuture<'static, Option<String>>;
}
