//! `shipagent audit`: reads the audit trail, beside a running daemon or without one. Writes nothing.

mod read;
mod run;
mod show;
mod words;

pub use run::run;
