//! `shipagent init`: asks a few things and writes a project's first files.
//!
//! Everything is asked before anything is written, and a file that exists is never overwritten without a yes.

mod answers;
mod files;
mod run;
#[cfg(test)]
mod tests;

pub use answers::Answers;
pub use run::{InitError, init};
