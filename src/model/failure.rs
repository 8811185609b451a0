//! The ways a model call can fail, before they are classified.

use std::time::Duration;

/// How a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// The server answered with an error status.
    #[error("status {status}: {body}")]
    Refused {
        status: u16,
        /// The beginning of the body.
        body: String,
        /// The server's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The status was a success, but the body contained an error.
    #[error("reported {0}")]
    Reported(String),
    #[error("cannot connect: {0}")]
    Unreachable(String),
    /// The connection or the stream ended early.
    #[error("connection lost: {0}")]
    Broken(String),
    /// The stream ended in the middle of an answer that was partly shown.
    #[error("the answer broke off after its first words: {0}")]
    BrokenOff(String),
    #[error("no {awaited} within {} seconds", limit.as_secs_f32())]
    Silent { awaited: &'static str, limit: Duration },
    /// The response could not be parsed.
    #[error("not an answer: {0}")]
    Unreadable(String),
    /// The request is invalid and was not sent.
    #[error("cannot be sent: {0}")]
    Unsendable(String),
    /// The key is no valid header.
    #[error("{0}")]
    BadKey(String),
    #[error("{0}")]
    Internal(String),
}
