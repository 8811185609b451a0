//! What may be learned from a conversation without a person asking for it. Pure.
//!
//! `own_words` finds what people said themselves, `extract` asks a model for candidates and reads its answer, `filter`
//! decides which of them may be kept, `instruction` recognises what is no fact, `agent_rule` reads `Agent.md`, and
//! `quoted_notes` finds unreviewed notes in the arguments of a call.
//!
//! The model is not trusted: a candidate is kept only where its words come from what people said.

mod agent_rule;
mod extract;
mod filter;
mod instruction;
mod own_words;
mod quoted_notes;
#[cfg(test)]
mod tests;

pub use agent_rule::{AgentRules, DISTIL_EVERY, DistilEvery};
pub use extract::{Candidate, MOST_CANDIDATES, distil_prompt, read_candidates};
pub use filter::{Accepted, Rejection, Speaker, accept, same_text};
pub use own_words::{own_words, without_invisible};
pub use quoted_notes::{quotes_any, recalled_texts, unreviewed_texts};
