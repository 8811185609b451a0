//! The command line and the start of the daemon.

mod certificates;
mod command_line;
mod doctor_chats;
mod language;
mod memory_search;
mod open;
mod reload;
mod sandbox_status;
mod service;
mod start;
