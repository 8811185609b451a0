//! A request that cannot be served: `{"error": {"code", "message", "hint"?, "line"?}}`. The code is for programs, the
//! message one plain sentence that clients show as it is, the hint what to do, the line where in the text that was sent.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::BadId;
use crate::ports::{StoreError, StoreErrorKind};

/// Why a request was refused.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    /// The kind of problem, where the status alone does not tell.
    pub(super) code: Option<&'static str>,
    pub(super) text: String,
    pub(super) hint: Option<Box<str>>,
    /// The line of the text that was sent, counted from 1.
    pub(super) line: Option<u64>,
    /// Seconds after which it may work.
    pub(super) retry_after: Option<u64>,
    /// Which credential is wanted, for `WWW-Authenticate`.
    pub(super) challenge: Option<Box<HeaderValue>>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self {
            status,
            code: None,
            text: text.into(),
            hint: None,
            line: None,
            retry_after: None,
            challenge: None,
        }
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

    /// The same problem, of a kind of its own.
    #[must_use]
    pub(super) const fn coded(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// The same problem, with what to do about it.
    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into().into_boxed_str());
        self
    }

    /// The same problem, in this line of the text that was sent.
    #[must_use]
    pub(super) const fn in_line(mut self, line: Option<u64>) -> Self {
        self.line = line;
        self
    }

    #[must_use]
    pub(super) fn wanting(mut self, challenge: HeaderValue) -> Self {
        self.challenge = Some(challenge.into());
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
            let text = format!("{name} is not valid and is ignored: repair or delete it");
            return Self::new(StatusCode::INTERNAL_SERVER_ERROR, text);
        }
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the thread cannot be read: the daemon's log says why")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let code = self.code.unwrap_or_else(|| code_of(self.status));
        let error = ProblemDetails { code, message: self.text, hint: self.hint, line: self.line };
        // Texts and a number always serialize.
        let body = serde_json::to_string(&ProblemBody { error }).unwrap_or_default();
        let mut response = (self.status, Body::from(format!("{body}\n"))).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(challenge) = self.challenge {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, *challenge);
        }
        // The rest of the body is not read, so the connection cannot be reused: the client must know that.
        if matches!(self.status, StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// The body of every response that is an error.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(super) struct ProblemBody {
    error: ProblemDetails,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ProblemDetails {
    /// The kind of problem, for programs.
    code: &'static str,
    /// One sentence, for people.
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<Box<str>>,
    /// The line of the text that was sent, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
}

/// The code of a problem whose status says it all.
fn code_of(status: StatusCode) -> &'static str {
    match status {
        StatusCode::BAD_REQUEST => "bad-request",
        StatusCode::UNAUTHORIZED => "unauthorized",
        StatusCode::FORBIDDEN => "forbidden",
        StatusCode::NOT_FOUND => "not-found",
        StatusCode::METHOD_NOT_ALLOWED => "method-not-allowed",
        StatusCode::REQUEST_TIMEOUT => "timeout",
        StatusCode::CONFLICT => "conflict",
        StatusCode::PAYLOAD_TOO_LARGE => "body-too-large",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported-media-type",
        StatusCode::TOO_MANY_REQUESTS => "too-many-requests",
        StatusCode::SERVICE_UNAVAILABLE => "unavailable",
        StatusCode::INSUFFICIENT_STORAGE => "storage-full",
        status if status.is_server_error() => "internal",
        _ => "refused",
    }
}
