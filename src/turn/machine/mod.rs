//! The state machine of a thread: passes events to its parts and combines their effects.

mod commands;
pub(super) mod conversation;
mod withdrawal;
