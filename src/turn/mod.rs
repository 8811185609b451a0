//! The turn: decides what happens next, without performing it.
//!
//! [`Conversation`] is a state machine: events go in, effects come out. Nothing here awaits, reads a clock or opens a
//! file, so a crash, a stop or a duplicate message is a table in a test.

mod answers;
mod asking;
mod audit;
mod budget;
mod calls;
mod closed_calls;
mod commands;
mod compaction;
mod conversation;
mod effect;
mod event;
mod guard;
mod history;
mod intake;
mod long_question;
mod open_calls;
mod participants;
mod prompt;
mod reading;
mod recover;
mod replies;
mod run;
mod steps;
mod tool_messages;
mod visibility;
mod withdrawal;

pub use budget::{estimate_tokens, fit, stated_limit};
pub use compaction::{
    Compacted, CompactionRules, Draft, NoteCandidate, Span, by_rules, correction, read_summary,
    summary_prompt,
};
pub use conversation::{CheckArguments, Conversation, EffectsOf, Rules};
pub use effect::{Effect, Spoken};
pub use event::{ApprovalSlot, Event, Lookups, ReplyToken};
pub use prompt::{BuiltPrompt, FACTS_NAME, Facts, build_prompt, system_prompt};

#[cfg(test)]
mod tests;
