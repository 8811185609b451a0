//! Chatting and reading in a terminal, by people and scripts: pipes, signals, a keyboard.

mod decisions;
mod keyboard;
mod looking;
mod once;
mod project;
pub(crate) mod pty;
