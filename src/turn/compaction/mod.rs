//! Compaction: the older part of a conversation gives way to a checkpoint in the prompt. Nothing is rewritten.
//!
//! `span` decides what is covered, `summary` asks a model for observations and reads its answer, `check` decides
//! whether they hold, `rules` writes them where no model can, `shown` puts a checkpoint into a prompt, and `commit`
//! makes its message. All of it is pure; an actor calls the model in between.

mod check;
mod commit;
mod rules;
mod shown;
mod span;
mod summary;

pub use commit::Compacted;
pub use rules::by_rules;
pub use span::{CompactionRules, CompactionSpan};
pub use summary::{Draft, NoteCandidate, correction, read_summary, summary_prompt};

pub(super) use commit::{ManualCompaction, checkpoint_message};
pub(super) use shown::shown;
pub(super) use span::{coverable, plan};
