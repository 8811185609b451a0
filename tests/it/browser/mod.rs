//! The console in a real browser, before a real daemon.

mod conversation;
mod files;
mod history;
mod login;
mod other_ports;
mod reader;
mod stage;
