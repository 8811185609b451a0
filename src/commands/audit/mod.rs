//! `shipagent audit`: reads the audit trail, beside a running daemon or without one. Writes nothing.

mod run;
mod show;
mod since;

pub use run::run;
