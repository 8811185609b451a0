//! The turn: decides what happens next, without performing it.
//!
//! [`Conversation`] is the state machine of a thread: events go in, effects come out. Nothing here awaits, reads a
//! clock or opens a file, so a crash, a stop or a duplicate message is a table in a test.
//!
//! ```text
//!              ┌─────────────────────── machine::Conversation ───────────────────────┐
//!  Event ────► │ routes events, combines effects, starts the next run                │ ────► Vec<Effect>
//!              │   │                        │                         │              │
//!              │   ▼                        ▼                         ▼              │
//!              │ Queue                    runs::Run          approval::Approvals     │
//!              │ accepts, merges, edits   steps, calls,      questions, replies,     │
//!              │ what waits for a run     results, restart   reminders, expiry       │
//!              └────── all read TurnContext: settings, History, the time ────────────┘
//! ```
//!
//! Each part keeps its fields to itself, and its entry points return what is to be done: effects, or a small result
//! (`Accepted`, `Question`, `Settlement`) that the conversation passes to another part. The history follows the
//! commits: what a part commits enters it. The queue decides where a message goes, the run what a call does, and the
//! approvals who may say yes to what.

mod approval;
mod budget;
mod compaction;
mod context;
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
    Compacted, CompactionRules, CompactionSpan, Draft, NoteCandidate, by_rules, correction, read_summary,
    summary_prompt,
};
pub use context::{CheckArguments, EffectsOf, Rules};
pub use event::{ApprovalSlot, Effect, Event, GateDecision, Lookups, ReplyToken, Spoken};
pub use machine::conversation::Conversation;
pub use machine::groups::{CLAIM_LOST, CLAIM_WON};
pub use machine::recall_plan::{MEMORY_UPSERT, RecallPlan};
pub use prompt::{Audience, BuiltPrompt, FACTS_NAME, Facts, build_prompt, system_prompt};
pub use runs::over_budget::{CapQuestion, OverBudget};
pub use runs::promotion::{PROMOTION, Proposal, ProposedItem};
pub use user_message::{ANSWERS_AGENT, CHAIN, DELIVER_TO, DEPTH};

#[cfg(test)]
mod tests;
