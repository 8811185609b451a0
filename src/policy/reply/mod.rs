//! Reads a person's reply as decisions about pending approvals. Rules only, Chinese and English: an approval needs the
//! whole reply to be understood; a doubt, question, negation or unknown word in it approves nothing. It knows no store,
//! no person and no command beyond its text.
//!
//! A reply goes through `fold` (normalized characters), `tokens` (one meaning per word, from `words_zh`, `words_en`,
//! `numbers` and `naming`), `grammar` and `clauses` (acts and their targets), and `reader` (which approvals they are).
//! An approval must also match `closed`, the grammar of an approval.

mod choice;
mod clauses;
mod closed;
mod fold;
mod grammar;
mod model_hint;
mod naming;
mod numbers;
mod outright;
mod question;
mod raise;
mod reader;
mod reason;
mod scope;
#[cfg(test)]
mod tests;
mod tokens;
mod unclear;
mod word;
mod words_en;
mod words_zh;

pub use choice::chosen;
pub use model_hint::{HintedReading, INSTRUCTIONS, Leaning, ModelHint, ask_back_from_model};
pub use outright::{Named, decided_outright};
pub use question::{ReplyQuestion, Side};
pub use raise::raise;
pub use reader::{Meant, PendingApproval, ReadReply, ReplyRuling, read};
