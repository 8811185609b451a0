//! The sending half of the Telegram adapter, against the fake server: what is delivered, shown, asked and sent along.

mod desk;
mod files;
mod frames;
mod questions;
mod runs;
mod texts;
