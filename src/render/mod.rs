//! Lowers intents to blocks, phrases messages, and splits long texts. Pure.

mod budget;
mod fence;
mod grants;
mod lower;
pub mod markdown;
mod memory_phrase;
mod models;
mod money;
mod phrase;
mod question;
mod speakable;
mod split;
mod status;

pub use budget::{BudgetPhrase, amount, budget_grant, cap_line, shortage};
pub use fence::fenced;
pub use grants::GrantPhrase;
pub use lower::lower;
pub use memory_phrase::{MemoryPhrase, ShownMemory, notes_with_handles};
pub use models::ModelPhrase;
pub use money::{Spent, dollars};
pub use phrase::Phrase;
pub use question::{approval_question, fit_question};
pub use speakable::speakable;
pub use split::split;
pub use status::Status;
