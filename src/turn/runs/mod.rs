//! The run in flight: its message, its steps and its calls.

pub(super) mod calls;
pub(super) mod closed_calls;
pub(super) mod loop_guard;
pub(super) mod open_calls;
pub(super) mod recover;
pub(super) mod run;
pub(super) mod steps;
pub(super) mod tool_messages;
