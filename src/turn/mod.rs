//! The turn: decides what happens next, without performing it.
//!
//! [`Conversation`] is a state machine: events go in, effects come out. Nothing here awaits, reads a clock or opens a
//! file, so a crash, a stop or a duplicate message is a table in a test.

mod approval;
mod budget;
mod compaction;
mod context;
mod effect;
mod event;
mod exchange;
mod history;
mod machine;
mod prompt;
mod queue;
mod runs;
mod user_message;

pub use budget::{fit, stated_limit};
pub use compaction::{
    Compacted, CompactionRules, Draft, NoteCandidate, Span, by_rules, correction, read_summary,
    summary_prompt,
};
pub use context::{CheckArguments, EffectsOf, Rules};
pub use effect::{Effect, Spoken};
pub use event::{ApprovalSlot, Event, Lookups, ReplyToken};
pub use machine::conversation::Conversation;
pub use machine::recall::RecallPlan;
pub use prompt::{BuiltPrompt, FACTS_NAME, Facts, build_prompt, system_prompt};

#[cfg(test)]
mod tests;
