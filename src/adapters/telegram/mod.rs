//! Telegram: submits people's messages to the threads, and sends answers in Telegram's formats.
//!
//! # Receiving
//!
//! `poll` fetches updates and `webhook` receives them; both pass them to the inbound pipeline of `chat`. `inbound` is
//! Telegram's part of it: `update` parses (with `wire`, `content`), `attachments` downloads. Its `Offsets`
//! are the updates that may be confirmed.
//!
//! # Sending
//!
//! `deliver` and `drafts` are Telegram's part of the outbound side of `chat`, with `attachments`. Both use `client`, which
//! applies fallbacks for what the server refuses (`classify`) within the rate limits of `limits`; `retry` repeats calls outside of the
//! outbox. `outgoing_message`, `html` and `menu` build the contents.
//!
//! # Both
//!
//! `api` makes the calls and reports whether they took effect; `chat_target` resolves chats.

mod adapter;
mod api;
mod attachments;
mod chat_target;
mod classify;
mod client;
mod connect;
mod content;
mod def;
mod deliver;
mod drafts;
pub mod html;
mod inbound;
mod limits;
mod menu;
mod outgoing_message;
pub(crate) mod phrases;
mod poll;
mod retry;
mod section;
mod update;
mod webhook;
mod wire;

pub use adapter::{TelegramAdapter, capabilities};
pub use api::{ApiError, BotApi, Upload};
pub use chat_target::{Aliases, ChatTarget};
pub use def::DEF;
pub use deliver::TelegramSender;
pub use section::{Acknowledge, TelegramOptions, WebhookOptions};
