//! Search without the disk: text to tokens, questions to queries, results to an order. Pure.

mod calendar;
mod query;
mod rank;
mod stem;
mod stop_words;
mod tokens;

pub use query::{Query, Term, keyword_expression};
pub use rank::{Frequencies, Passage, Ranked, WINDOW, rank};
pub use tokens::{content_words, index_text};
