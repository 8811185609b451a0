//! Tests of the fake Telegram: it accepts and refuses like the real one, with the same messages.

mod client;
mod markup;
mod people;
mod receiving;
mod sending;
mod troubles;
