//! `shipagent chat`: talk to the agent in this terminal.
//!
//! `open` finds the project's daemon or starts one inside this process; `connection` is the HTTP client of either.
//! `turn` follows the runs of a message, `transcript_printer` decides what of their events is shown, `question` tracks
//! the requests for approval (both pure), and `chat_output` prints. `once` (one message) and `session` (typed lines)
//! are the two ways to use them.

mod chat_command;
mod chat_context;
mod chat_output;
mod connection;
mod input;
mod interruptions;
mod keyboard;
mod once;
mod open;
mod question;
mod question_text;
mod remark;
mod session;
mod transcript_printer;
mod turn;

pub use chat_command::run;
