//! The console in a real browser, with a real daemon.

mod access;
mod approvals;
mod conversation;
mod files;
mod grants;
mod history;
mod kill;
mod login;
mod other_ports;
mod overview;
mod reader;
mod stage;
