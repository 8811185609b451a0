//! `shipagent init`: the steps of the onboarding in the terminal.
//!
//! Everything is asked before anything is written, and a file that exists is never overwritten without a yes. `answers` has
//! what the command line says, `steps` asks for the rest, `prompt` is the terminal, `init_project` writes.

mod answers;
mod init_project;
mod prompt;
mod steps;
#[cfg(test)]
mod tests;

pub(crate) use init_project::{InitError, InitParts, init};
pub(crate) use prompt::{StdinTerminal, Terminal};
