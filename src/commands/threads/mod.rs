//! `shipagent threads`: shows threads. It reads the files, with a running daemon or without
//! one, and never writes state.

mod export;
mod list;
mod outcome;
mod show;
mod threads_command;

pub use threads_command::run;
