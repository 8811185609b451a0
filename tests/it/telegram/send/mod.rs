//! The sending half of the Telegram adapter, with the fake server: deliveries, drafts, questions and files.

mod files;
mod frames;
mod questions;
mod runs;
mod scene;
mod texts;
