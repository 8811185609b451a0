//! The commands. They write to the given streams and return an exit code; they
//! never print by themselves and never end the process.

pub mod access;
pub mod approvals;
pub mod audit;
pub mod chat;
mod cli_context;
pub mod config;
pub mod config_keys;
mod daemon_client;
mod dispatch;
pub mod doctor;
pub mod grants;
mod init;
pub mod man;
pub mod memory;
mod open;
mod result_line;
pub mod run_daemon;
mod sandbox_text;
mod service;
mod setup;
mod sse_reader;
mod summary;
mod tasks;
mod terminal;
mod text_table;
pub mod threads;
mod usage;

pub use dispatch::{choices, language_of, run};
