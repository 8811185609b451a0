//! `shipagent access`: access beyond what `ship.json` grants. Works with or without a running daemon.

mod access_command;
mod list;

pub use access_command::run;
