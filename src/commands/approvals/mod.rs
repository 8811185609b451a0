//! `shipagent approvals`: shows requests for approval and decides them. Showing reads the files; a decision goes
//! through the running daemon.

mod decide;
mod list;
mod run;
mod show;

pub use run::run;
