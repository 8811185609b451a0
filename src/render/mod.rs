//! Intents to deliverable pieces, phrases in the person's language, text that is split to fit. Pure.

mod en;
mod fence;
mod grants;
mod lower;
pub mod markdown;
mod memory;
mod phrases;
mod question;
mod split;
mod zh;

pub use grants::GrantPhrase;
pub use lower::lower;
pub use memory::MemoryPhrase;
pub use phrases::{Phrase, Status};
pub use question::fit_question;
pub use split::split;
