//! Talking and looking in a terminal, as people and scripts do it: pipes, signals, a keyboard.

mod decisions;
mod keyboard;
mod looking;
mod once;
mod pty;
mod stage;
