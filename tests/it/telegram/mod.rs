//! The daemon on Telegram: the real binary against the fake Bot API.

mod access;
mod approvals;
mod bare;
mod fake;
mod kill;
mod memory;
mod messages;
mod send;
mod spool;
pub(crate) mod stage;
mod troubles;
