//! The daemon on Telegram: the real binary against the fake Bot API.

mod access;
mod memory;
mod messages;
mod spool;
pub(crate) mod stage;
mod troubles;
