//! The ways a model call can fail, before they are classified.

use std::time::Duration;

/// How a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// The server answered with a status that is no success.
    #[error("status {status}: {body}")]
    Refused {
        status: u16,
        /// The beginning of the body.
        body: String,
        /// How long it asked us to wait.
        retry_after: Option<Duration>,
    },
    /// The status was fine, and then an error stood where the answer should.
    #[error("reported {0}")]
    Reported(String),
    #[error("cannot connect: {0}")]
    Unreachable(String),
    /// The connection, or the stream on it, ended too early.
    #[error("connection lost: {0}")]
    Broken(String),
    /// The stream ended in the middle of an answer of which words were shown.
    #[error("the answer broke off after its first words: {0}")]
    BrokenOff(String),
    /// Nothing came for too long.
    #[error("no {awaited} within {} seconds", limit.as_secs_f32())]
    Silent {
        /// What was waited for.
        awaited: &'static str,
        limit: Duration,
    },
    /// What came is not an answer.
    #[error("not an answer: {0}")]
    Unreadable(String),
    /// The request cannot even be sent.
    #[error("cannot be sent: {0}")]
    Unsendable(String),
    /// The key cannot be sent.
    #[error("{0}")]
    BadKey(String),
    #[error("{0}")]
    Internal(String),
}
