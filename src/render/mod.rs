//! Intents to blocks, phrases in the person's language. Pure.

mod phrases;
pub use phrases::{Phrase, StatusFacts};
pub fn lower(i: &crate::domain::Intent, _c: &crate::domain::Capabilities) -> Vec<crate::domain::Intent> { vec![i.clone()] }
