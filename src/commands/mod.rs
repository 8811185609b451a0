//! What each command does. Commands write to what they are given and return how the program should end; they
//! never print by themselves and never end the process.

mod address;
pub mod chat;
pub mod config;
mod dispatch;
pub mod doctor;
pub mod init;
pub mod run;
mod sandbox_words;
mod summary;
mod terminal;
pub mod threads;

pub use dispatch::run;
