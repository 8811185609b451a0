//! The fake Telegram, held to what the real one does: what it takes, what it refuses and in which words.

mod client;
mod markup;
mod people;
mod receiving;
mod sending;
mod troubles;
