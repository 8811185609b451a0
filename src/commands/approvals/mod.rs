//! `shipagent approvals`: looks at the agent's questions and answers them. Looking reads the files themselves; an
//! answer goes through the running daemon, which alone acts on it.

mod decide;
mod list;
mod run;
mod show;

pub use run::run;
