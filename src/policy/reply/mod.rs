//! What a person's reply says about the approvals that wait. Rules only, Chinese and English: an approval needs the
//! whole reply understood; a doubt, question, negation or unknown word in it approves nothing. It knows
//! no store, no person and no command beyond its text.
//!
//! A reply goes through `fold` (one form per character), `tokens` (one meaning per word, from `words_zh`, `words_en`,
//! `numbers` and `naming`), `grammar` and `clauses` (who does what to which), and `reader` (which approvals that is).
//! What approves must also match `closed`, the grammar of a yes.

mod clauses;
mod closed;
mod fold;
mod grammar;
mod model_hint;
mod naming;
mod numbers;
mod outright;
mod question;
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

pub use model_hint::{HintedReading, INSTRUCTIONS, Leaning, ModelHint, ask_back_from_model};
pub use outright::{Named, decided_outright};
pub use question::{Question, Side};
pub use reader::{Meant, Pending, Reading, Ruling, read};
