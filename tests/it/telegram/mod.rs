//! The daemon on Telegram: the real binary against the fake Bot API.

mod access;
mod messages;
mod stage;
mod troubles;
