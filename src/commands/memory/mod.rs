//! `shipagent memory`: what stays between conversations.

mod change;
mod export;
mod import;
mod run;
mod search;
mod show;

pub use run::run;
