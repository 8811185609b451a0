//! The daemon on Telegram: the real binary against the fake Bot API.

mod access;
mod approvals;
mod bare;
mod fake;
mod kill;
mod memory;
mod messages;
pub(crate) mod scene;
mod send;
mod spool;
mod troubles;
