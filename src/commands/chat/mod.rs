//! `shipagent chat`: talk to the agent in this terminal.
//!
//! `open` finds the agent: a running daemon, or one inside this process. Either is a `line`, which takes words
//! and tells what happens. `turn` follows what comes of a message along the line, `teller` decides what of it is shown
//! and `question` keeps the requests for approval (both pure), `screen` shows it. `once` (one message) and `session`
//! (typed lines) are the two ways to use all that.

mod chat_context;
mod chat_output;
mod input;
mod interruptions;
mod keyboard;
mod line;
mod local;
mod once;
mod open;
mod question;
mod question_text;
mod remark;
mod remote;
mod run;
mod session;
mod sse;
mod transcript_printer;
mod turn;

pub use run::run;
