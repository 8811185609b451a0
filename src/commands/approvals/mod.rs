//! `shipagent approvals`: shows requests for approval and decides them. Showing reads the files; a decision goes
//! through the running daemon.

mod approvals_command;
mod list;
mod send_decision;
mod show;

pub use approvals_command::run;
