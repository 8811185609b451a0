//! `shipagent threads`: shows threads. It reads the files, with a running daemon or without
//! one, and never writes state.

mod export;
mod list;
mod outcome;
mod run;
mod show;

pub use run::run;
