//! QQ, by a bot of the official platform (API v2): direct chats, groups, guild channels and guild DMs.
//!
//! A bot can reply, but hardly ever send first: every message from a person allows a few replies for a limited time.
//! `reply_budget` counts them; a reply beyond the budget waits for the chat's next message.

mod adapter;
mod api;
mod call_failure;
mod check;
mod compose;
mod connection;
mod def;
mod event;
mod gateway;
mod inbound;
mod media;
mod message_text;
mod options;
pub(crate) mod phrases;
mod reply_budget;
mod reply_budget_actor;
mod scene;
mod section;
mod send;
mod sequence_tracker;
mod session;
mod text;
mod webhook;

pub use adapter::{QqAdapter, capabilities};
pub use check::{QqFinding, check};
pub use def::DEF;
pub use options::{QqEvents, QqOptions};
