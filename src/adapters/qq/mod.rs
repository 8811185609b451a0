//! QQ, by a bot of the official platform (API v2): direct chats, groups, guild channels and guild DMs.
//!
//! A bot can reply, but hardly ever send first: every message from a person allows a few replies for a limited time.
//! `reply_budget` counts them; a reply beyond the budget waits for the chat's next message.

mod adapter;
mod api;
mod check;
mod compose;
mod connection;
mod def;
mod event;
mod gateway;
mod http;
mod inbound;
mod mark;
mod media;
mod options;
pub(crate) mod phrases;
mod reply_budget;
mod reply_budget_actor;
mod scene;
mod section;
mod send;
mod session;
mod text;
mod trouble;
mod webhook;
mod words_in;

pub use adapter::{QqAdapter, capabilities};
pub use check::{Finding, check};
pub use def::DEF;
pub use options::{QqEvents, QqOptions};
