//! An error response: a status and one plain sentence, which clients show as it is.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::domain::BadId;
use crate::ports::{StoreError, StoreErrorKind};

/// Why a request was refused.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    pub(super) text: String,
    /// Seconds for `Retry-After`.
    pub(super) retry_after: Option<u64>,
    /// The expected credential, for `WWW-Authenticate`.
    pub(super) challenge: Option<HeaderValue>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), retry_after: None, challenge: None }
    }

    pub(super) fn bad(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    pub(super) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no such {what}"))
    }

    pub(super) fn stopping() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the daemon is stopping: try again in a moment").after(5)
    }

    /// An invalid id in a field of the request.
    pub(super) fn of_id(field: &str, raw: &str, bad: &BadId) -> Self {
        if raw.is_empty() {
            return Self::bad(format!("{field} must not be empty"));
        }
        Self::bad(format!("{field}: {bad}"))
    }

    #[must_use]
    pub(super) fn wanting(mut self, challenge: HeaderValue) -> Self {
        self.challenge = Some(challenge);
        self
    }

    #[must_use]
    pub(super) const fn after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }
}

impl From<BadId> for Problem {
    fn from(bad: BadId) -> Self {
        Self::bad(bad.to_string())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        // The path concerns only the operator, so it is logged and not sent.
        tracing::error!(error = &error as &dyn std::error::Error, "state not readable");
        if error.kind() == StoreErrorKind::Invalid {
            let name = error.subject().rsplit('/').next().unwrap_or_default();
            let text = format!("{name} cannot be understood and counts for nothing: mend it, or remove it");
            return Self::new(StatusCode::INTERNAL_SERVER_ERROR, text);
        }
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the thread cannot be read: the daemon's log says why")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.text + "\n").into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(challenge) = self.challenge {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        // The rest of the body is not read, so the connection cannot be reused: the client must know that.
        if matches!(self.status, StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
