//! The kinds of trouble a person is told about. A kind exists where they would do something different.

use serde::{Deserialize, Serialize};

/// Why a turn could not be finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The model refused our key.
    Auth,
    /// The account is out of money or quota.
    Quota,
    /// Too many requests, and waiting did not help.
    Rate,
    /// The conversation does not fit into the model's window.
    ContextLength,
    /// The model could not be reached, or the connection broke.
    Network,
    /// It did not answer in time.
    Timeout,
    /// The model's server failed.
    Server,
    /// The server did not understand the request.
    BadRequest,
    /// The server's answer could not be understood.
    BadResponse,
    /// The turn took more steps than it may.
    TooManySteps,
    /// The model repeated the same call without end.
    Loop,
    /// State could not be written.
    Storage,
    /// A fault of our own.
    Internal,
}

impl ErrorKind {
    /// Whether trying again later, unchanged, may help.
    pub const fn retryable(self) -> bool {
        match self {
            Self::Rate | Self::Network | Self::Timeout | Self::Server | Self::BadResponse | Self::Storage => {
                true
            }
            Self::Auth
            | Self::Quota
            | Self::ContextLength
            | Self::BadRequest
            | Self::TooManySteps
            | Self::Loop
            | Self::Internal => false,
        }
    }
}
