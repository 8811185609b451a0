//! `shipagent grants`: lists and revokes grants, with a running daemon or
//! without one.

mod list;
mod run;

pub use run::run;
