//! `shipagent audit`: reads the audit trail, beside a running daemon or without one. Writes nothing.

mod run;
mod show;
mod since;
mod words;

pub use run::run;
