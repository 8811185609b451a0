//! `shipagent audit`: reads the audit trail, with or without a running daemon. Writes nothing.

mod run;
mod show;
mod since;

pub use run::run;
