//! The kinds of errors that people are told about. Two kinds differ where people would react differently.

use serde::{Deserialize, Serialize};

/// Why a turn failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The model server refused the API key.
    Auth,
    /// The account is out of quota or credit.
    Quota,
    /// Rate limited, also after retries.
    Rate,
    /// The conversation does not fit into the model's context window.
    ContextLength,
    /// The model server could not be reached, or the connection broke.
    Network,
    /// The model did not answer in time.
    Timeout,
    /// The model server failed.
    Server,
    /// The server refused the request as invalid.
    BadRequest,
    /// The server's answer could not be parsed.
    BadResponse,
    /// The turn reached its limit of steps.
    TooManySteps,
    /// The model repeated the same call.
    Loop,
    /// State could not be written.
    Storage,
    /// An internal error.
    Internal,
}

impl ErrorKind {
    /// Whether an unchanged retry may help.
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
