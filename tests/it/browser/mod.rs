//! The console in a real browser, with a real daemon.

mod access;
mod approvals;
mod conversation;
mod everyday;
mod files;
mod grants;
mod history;
mod kill;
mod login;
mod messages;
mod onboarding;
mod operator;
mod other_origins;
mod other_ports;
mod overview;
mod pages;
mod project;
mod reader;
mod threads;
mod unsent;
mod usage;
mod views;
mod voice;
