//! `shipagent memory`: what stays between conversations.

mod change;
mod export;
mod import;
mod memory_command;
mod search;
mod show;

pub use memory_command::run;
