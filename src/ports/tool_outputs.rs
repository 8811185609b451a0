//! The port of full command outputs, for people: the model gets an excerpt.

use super::BoxFuture;
use crate::domain::ToolCallId;

/// The full outputs of calls. The store decides how many are kept, and how long.
pub trait ToolOutputs: Send + Sync + std::fmt::Debug {
    /// Begins the output of a call. Creates nothing before the first text.
    fn begin(&self, call: &ToolCallId) -> Box<dyn ToolOutput>;
}

/// The output of one call. Write errors are ignored: they must not fail the command.
pub trait ToolOutput: Send + Sync + std::fmt::Debug {
    /// Appends text, up to the size limit.
    fn write<'a>(&'a mut self, text: &'a str) -> BoxFuture<'a, ()>;

    /// Ends the output; deletes it where it is not `needed`. Returns its path, relative to the project.
    fn close(self: Box<Self>, needed: bool) -> BoxFuture<'static, Option<String>>;
}
