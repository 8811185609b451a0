//! The command line and the start of the daemon.

mod command_line;
mod doctor_chats;
mod language;
mod sandbox_status;
mod start;
