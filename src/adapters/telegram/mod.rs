//! Telegram: submits people's messages to the threads, and sends answers in Telegram's formats.
//!
//! # Receiving
//!
//! `poll` fetches updates and `webhook` receives them; both put them into the `update_queue`. There `update` parses
//! each (with `wire`, `entities`, `contents`), `albums` orders them, and `update_handler` handles them: checks access,
//! downloads (`attachments`), submits, or decides an approval (`callback`). `pending_updates` tracks the updates in
//! progress, and `offsets` those that may be confirmed.
//!
//! # Sending
//!
//! `deliver` sends the outbox, with `question` and `attach`; `draft_renderer` shows a running turn (its state is in
//! `draft_state`), `first_draft` sends the streamed message, and `live` stores it. All use `client` and `change`, which
//! apply fallbacks for what the server refuses (`classify`) within the rate limits of `limits`. `feature_probe`
//! remembers which calls the server supports, and `retry` repeats calls outside of the outbox. `outgoing_message`, `html`, `keyboard` and `menu` build
//! the contents.
//!
//! # Both
//!
//! `api` makes the calls and reports whether they took effect; `check` serves the doctor; `chat_target` and `aliases`
//! resolve chats.

mod adapter;
mod admins;
mod albums;
mod aliases;
mod api;
mod attach;
mod attachments;
mod callback;
mod change;
mod chat_target;
mod check;
mod classify;
mod client;
mod contents;
mod def;
mod deliver;
mod draft_renderer;
mod draft_state;
mod entities;
mod feature_probe;
mod first_draft;
pub mod html;
mod identity;
mod keyboard;
mod limits;
mod live;
mod menu;
mod offsets;
mod options;
mod outgoing_message;
mod pending_updates;
pub(crate) mod phrases;
mod poll;
mod question;
mod retry;
mod run;
mod section;
mod update;
mod update_handler;
mod update_queue;
mod webhook;
mod wire;

pub use adapter::{TelegramAdapter, capabilities};
pub use aliases::Aliases;
pub use api::{Api, ApiError, Upload};
pub use chat_target::ChatTarget;
pub use check::{Finding, check};
pub use def::DEF;
pub use deliver::Sender;
pub use options::{Acknowledge, Strangers, TelegramOptions, WebhookOptions};
pub use webhook::TelegramHook;
