//! `shipagent threads`: looks at conversations. It reads the files themselves, beside a running daemon or without
//! one, and never writes state.

mod export;
mod list;
mod outcome;
mod run;
mod show;

pub use run::run;
