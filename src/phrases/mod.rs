//! Every word that the program says to people, in English and Chinese side by side, by topic. A new phrase is one
//! entry here; what is said when is decided by the modules that use it.

mod table;

pub(crate) mod adapters;
pub(crate) mod approvals;
pub(crate) mod chat;
pub(crate) mod commands;
pub(crate) mod config;
pub(crate) mod conversation;
pub(crate) mod permissions;

#[cfg(test)]
mod tests;
