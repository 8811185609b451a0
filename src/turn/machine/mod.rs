//! The state machine of a thread: passes events to its parts and combines their effects.

mod commands;
mod compaction;
pub(super) mod conversation;
mod decisions;
pub(super) mod groups;
mod inbound;
pub(super) mod recall_plan;
mod view;
