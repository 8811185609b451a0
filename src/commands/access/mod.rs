//! `shipagent access`: access beyond what `ship.json` grants. Works with or without a running daemon.

mod list;
mod run;

pub use run::run;
