//! `shipagent audit`: reads the audit trail, beside a running daemon or without one. Writes nothing.

mod read;
mod run;
mod show;

pub use run::run;
