//! QQ, by a bot of the official platform (API v2): people in private, groups, guild channels and guild DMs.
//!
//! The platform lets a bot answer and hardly ever speak first: every message from a person allows a few replies for
//! a while. The [`ledger`] keeps account of them; what no longer fits waits for that person's next message.

mod api;
mod clerk;
mod event;
mod gateway;
mod http;
mod lanes;
mod ledger;
mod mark;
mod scene;
mod token;
mod trouble;
mod webhook;
mod words_in;
