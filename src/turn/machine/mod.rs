//! The state machine of a thread: passes events to its parts and combines their effects.

mod commands;
mod compaction;
pub(super) mod conversation;
mod decisions;
mod inbound;
pub(super) mod recall;
mod view;
