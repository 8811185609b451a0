//! The console in a real browser, before a real daemon.

mod conversation;
mod history;
mod reader;
mod stage;
