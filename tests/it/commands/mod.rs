//! The command line and the start of the daemon.

mod command_line;
mod doctor_chats;
mod language;
mod memory_search;
mod sandbox_status;
mod start;
