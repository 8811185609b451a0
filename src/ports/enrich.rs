//! The port of work between "received" and "turn": a step that adds to a message, such as a transcript of its voice.

use std::time::Duration;

use super::BoxFuture;
use crate::domain::{Author, Said, ThreadId};

/// A message on its way to a turn. Its files are stored.
#[derive(Clone, Copy, Debug)]
pub struct EnrichInput<'a> {
    pub thread: &'a ThreadId,
    pub author: &'a Author,
    pub said: &'a Said,
}

/// Why a step has no result. The message goes on without it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EnrichError(pub String);

/// One step. It runs after the message is durable and before the turn; meanwhile commands, buttons and other chats go on,
/// and later messages of the same thread wait. Its result is stored once: a step whose result is stored never runs again
/// for that message, and one that was cut off by the end of the process runs again.
pub trait EnrichStep: Send + Sync + std::fmt::Debug {
    /// The name under which results are stored and logged; unique among the steps.
    fn name(&self) -> &str;

    /// After this time the message goes on without the step.
    fn deadline(&self) -> Duration;

    /// Whether the step has something to do. Asked for the text alone when the message is received, and again when its
    /// files are stored.
    fn applies(&self, said: &Said) -> bool;

    /// The message with the result.
    fn enrich<'a>(&'a self, input: EnrichInput<'a>) -> BoxFuture<'a, Result<Said, EnrichError>>;
}
