//! Every message for people, in English and Chinese side by side, by topic; the messages of one
//! chat platform are in its own folder. A new phrase is one entry here; other modules decide which one is
//! used.

pub(crate) mod table;

pub(crate) mod adapters;
pub(crate) mod approvals;
pub(crate) mod budget;
pub(crate) mod chat;
pub(crate) mod cli;
pub(crate) mod commands;
pub(crate) mod config;
pub(crate) mod conversation;
pub(crate) mod cron;
pub(crate) mod doctor;
pub(crate) mod onboarding;
pub(crate) mod permissions;
pub(crate) mod service;
pub(crate) mod start;
pub(crate) mod tasks;
pub(crate) mod usage;

pub(crate) use table::phrases;

#[cfg(test)]
#[expect(dead_code, reason = "the page reads these words from phrases.js, which a test writes")]
mod console;
#[cfg(test)]
#[expect(dead_code, reason = "the page reads these words from phrases.js, which a test writes")]
mod console_setup;
#[cfg(test)]
#[expect(dead_code, reason = "the page reads these words from phrases.js, which a test writes")]
mod page;
#[cfg(test)]
mod tests;
