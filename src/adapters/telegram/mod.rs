//! Telegram: submits people's messages to the threads, and sends answers in Telegram's formats.
//!
//! # Receiving
//!
//! `poll` fetches updates and `webhook` receives them; both pass them to the inbound pipeline of `chat`. `inbound` is
//! Telegram's part of it: `update` parses (with `wire`, `entities`, `contents`), `attachments` downloads. Its `Offsets`
//! are the updates that may be confirmed.
//!
//! # Sending
//!
//! `deliver` sends the outbox, with `question` and `attachments`; `draft_renderer` shows a running turn (`draft_state` has
//! its state and sends the first message), and `streamed_messages` stores the message that is edited meanwhile. All use
//! `client` and `change`, which apply fallbacks for what the server refuses (`classify`) within the rate limits of `limits`. `feature_probe`
//! remembers which calls the server supports, and `retry` repeats calls outside of the outbox. `outgoing_message`,
//! `html` and `menu` build the contents.
//!
//! # Both
//!
//! `api` makes the calls and reports whether they took effect; `chat_target` resolves chats.

mod adapter;
mod api;
mod attachments;
mod change;
mod chat_target;
mod classify;
mod client;
mod connect;
mod contents;
mod def;
mod deliver;
mod draft_renderer;
mod draft_state;
mod entities;
mod feature_probe;
pub mod html;
mod inbound;
mod limits;
mod menu;
mod outgoing_message;
pub(crate) mod phrases;
mod poll;
mod question;
mod retry;
mod section;
mod streamed_messages;
mod update;
mod webhook;
mod wire;

pub use adapter::{TelegramAdapter, capabilities};
pub use api::{ApiError, BotApi, Upload};
pub use chat_target::{Aliases, ChatTarget};
pub use def::DEF;
pub use deliver::TelegramSender;
pub use section::{Acknowledge, TelegramOptions, WebhookOptions};
