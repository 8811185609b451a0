//! A fake Telegram: a Bot API server on the loopback, as strict as the real one, with simulated people and a log of
//! everything the bot did.
//!
//! ```ignore
//! let fake = FakeTelegram::start().await;
//! let ann = fake.user(7, "Ann");
//! let chat = fake.private(&ann);
//! // … start the bot with fake.url() and fake.token() …
//! chat.say(&ann, "hello");
//! fake.wait_for(|world| world.bot_texts(chat.id()) == ["hi"]).await;
//! ```
//!
//! - `server`, `calls`, `request`, `answer`: the wire, and one call from end to end;
//! - `methods`, `polling`, `webhook`, `updates`: what the server does;
//! - `formatted`, `html`, `markdown`: texts with entities;
//! - `world`, `room`, `account`, `view`, `log`: the state, and its views for people and for tests;
//! - `people`, `post`: the actions of people;
//! - `trouble`, `flood`: injected failures and rate limits.

pub(crate) mod account;
pub(crate) mod answer;
mod calls;
pub(crate) mod fault;
pub(crate) mod flood;
pub(crate) mod formatted;
mod html;
pub(crate) mod log;
mod markdown;
mod methods;
pub(crate) mod people;
mod polling;
pub(crate) mod post;
mod request;
mod room;
pub(crate) mod server;
mod updates;
pub(crate) mod view;
pub(crate) mod webhook;
pub(crate) mod world;
