//! Secrets reach no model, no answer and no file.

mod answers;
mod redaction;
