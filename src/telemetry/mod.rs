//! Logs: to the terminal for people, to daily files for machines, with all secrets redacted.
//!
//! This module decides where log lines go and what they may not contain.

mod automaton;
mod encodings;
mod init;
mod redact;
#[cfg(test)]
mod redact_tests;
mod stream;
mod views;
mod writer;

pub use init::{Console, Guard, LogWriter, Options, TelemetryError, init, turn_span};
pub use redact::{RedactError, Redactor};
pub use stream::RedactedStream;
