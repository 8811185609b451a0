//! The sending half of the Telegram adapter, with the fake server: deliveries, drafts, questions and files.

mod desk;
mod files;
mod frames;
mod questions;
mod runs;
mod texts;
