//! Tests of the state machine without a model, a disk or a clock.

mod again;
mod approvals;
mod caps;
mod chat;
mod clocks;
mod compaction;
mod driver;
mod flow;
mod long_questions;
mod parts;
mod recovery;
mod run_messages;
mod scheduled;
mod scopes_and_ask_backs;
mod seen;
mod theirs;
mod undecided;
mod waiting;
