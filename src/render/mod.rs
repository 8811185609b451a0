//! Intents to deliverable pieces, phrases in the person's language, text that is split to fit. Pure.

mod en;
mod phrases;
mod zh;

pub use phrases::{Phrase, Status};
