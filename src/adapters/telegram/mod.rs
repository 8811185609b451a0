//! Telegram: what people write there goes through the door, and answers go back as it can show them.
//!
//! # Receiving
//!
//! `poll` asks for updates, `webhook` is sent them; both put them onto the `desk`. There `update` reads each (with
//! `wire`, `entities`, `contents`), `albums` keeps the order, and `reception` does what is to be done: admits, fetches
//! (`attachments`), hands in, or decides (`callback`). `offsets` says what may be confirmed.
//!
//! # Sending
//!
//! `deliver` sends what the outbox holds, `menu` tells Telegram which commands there are.

mod adapter;
mod admins;
mod albums;
mod aliases;
mod api;
mod attachments;
mod callback;
mod contents;
mod deliver;
mod desk;
mod entities;
mod identity;
mod menu;
mod offsets;
mod options;
mod place;
mod poll;
mod reception;
mod run;
mod update;
mod webhook;
mod wire;

pub use adapter::TelegramAdapter;
pub use api::{Api, ApiError, Upload};
pub use options::{Acknowledge, Strangers, TelegramOptions, Threading, WebhookOptions};
pub use webhook::TelegramHook;
