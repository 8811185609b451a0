//! Telegram: what people write there goes through the door, and answers go back as it can show them.
//!
//! # Receiving
//!
//! `poll` asks for updates, `webhook` is sent them; both put them onto the `desk`. There `update` reads each (with
//! `wire`, `entities`, `contents`), `albums` keeps the order, and `handler` does what is to be done: admits, fetches
//! (`attachments`), hands in, or decides (`callback`). `unsettled` knows what is not at its end, and `offsets` what may be
//! confirmed.
//!
//! # Sending
//!
//! `deliver` sends what the outbox holds, with `question` and `attach`; `render_draft` shows a running turn (`stroke` remembers
//! it), `first` sends the message it grows on, and `live` notes that. All go through `post` and `change`, which get around
//! what the server minds (`classify`) and are no faster than `limits` allow; `seek` looks by the `trail` for what was sent
//! without an answer, and `ability` remembers which calls the server has; `patience` repeats what is not in the outbox.
//! `letter`, `html`, `keyboard` and `menu` are how things look.
//!
//! # Both
//!
//! `api` makes the calls and says whether they took effect; `check` asks who the bot is; `place` and `aliases` say where things are.

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
mod lost_messages;
mod menu;
mod offsets;
mod options;
mod outgoing_message;
mod pending_updates;
mod poll;
mod question;
mod retry;
mod run;
mod section;
mod send_log;
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
