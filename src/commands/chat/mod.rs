//! `shipagent chat`: talk to the agent in this terminal.
//!
//! `open` finds the agent: a running daemon, or one inside this process. Either is a `line`, which takes words
//! and tells what happens. `turn` follows one answer along the line, `teller` decides what of it is shown (pure),
//! `screen` shows it. `once` and `session` are the two ways to use all that.

mod interruptions;
mod keyboard;
mod line;
mod local;
mod once;
mod open;
mod remote;
mod run;
mod screen;
mod session;
mod sse;
mod teller;
mod turn;
mod words;

pub use run::run;
