//! What each command does. Commands write to what they are given and return how the program should end; they
//! never print by themselves and never end the process.

pub mod config;
pub mod doctor;
pub mod init;
