//! Lowers intents to blocks, phrases messages, and splits long texts. Pure.

mod fence;
mod grants;
mod lower;
pub mod markdown;
mod memory;
mod phrase;
mod question;
mod split;
mod status;

pub use grants::GrantPhrase;
pub use lower::lower;
pub use memory::{MemoryPhrase, ShownMemory};
pub use phrase::Phrase;
pub use question::fit_question;
pub use split::split;
pub use status::Status;
