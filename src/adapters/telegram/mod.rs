//! Telegram: what people write there goes through the door, and answers go back as it can show them.
//!
//! # Receiving
//!
//! `poll` asks for updates, `webhook` is sent them; both put them onto the `desk`. There `update` reads each (with
//! `wire`, `entities`, `contents`), `albums` keeps the order, and `reception` does what is to be done: admits, fetches
//! (`attachments`), hands in, or decides (`callback`). `unsettled` knows what is not at its end, and `offsets` what may be
//! confirmed.
//!
//! # Sending
//!
//! `deliver` sends what the outbox holds, with `question` and `attach`; `paint` shows a running turn (`stroke` remembers
//! it), `first` sends the message it grows on, and `live` notes that. All go through `post` and `change`, which get around
//! what the server minds (`classify`) and are no faster than `limits` allow; `seek` looks by the `trail` for what was sent
//! without an answer, and `ability` remembers which calls the server has; `patience` repeats what is not in the outbox.
//! `letter`, `html`, `keyboard` and `menu` are how things look.
//!
//! # Both
//!
//! `api` makes the calls and says whether they took effect; `check` asks who the bot is; `place` and `aliases` say where things are.

mod ability;
mod adapter;
mod admins;
mod albums;
mod aliases;
mod api;
mod attach;
mod attachments;
mod callback;
mod change;
mod check;
mod classify;
mod contents;
mod deliver;
mod desk;
mod entities;
mod first;
pub mod html;
mod identity;
mod keyboard;
mod letter;
mod limits;
mod live;
mod menu;
mod offsets;
mod options;
mod paint;
mod patience;
mod place;
mod poll;
mod post;
mod question;
mod reception;
mod run;
mod seek;
mod stroke;
mod trail;
mod unsettled;
mod update;
mod webhook;
mod wire;

pub use adapter::{TelegramAdapter, capabilities};
pub use aliases::Aliases;
pub use api::{Api, ApiError, Upload};
pub use check::{Finding, check};
pub use deliver::Sender;
pub use options::{Acknowledge, Strangers, TelegramOptions, Threading, WebhookOptions};
pub use place::Place;
pub use webhook::TelegramHook;
