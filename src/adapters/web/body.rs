//! Request bodies: JSON, with a size limit and a deadline.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;

use super::problem::Problem;

/// Most bytes of a body, unless its route sets another limit.
pub(super) const MAX_BODY: usize = 1024 * 1024;

/// Deadline of reading a body.
const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            let text = "the body must be JSON: send `content-type: application/json`";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
        }
        let reading = tokio::time::timeout(DEADLINE, Bytes::from_request(request, state)).await;
        let bytes = reading
            .map_err(|_| Problem::new(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive"))?
            .map_err(|rejection| match rejection.status() {
                status @ StatusCode::PAYLOAD_TOO_LARGE => Problem::new(status, "the body is too large"),
                status => Problem::new(status, rejection.body_text()),
            })?;
        // Serde would also accept an array with the fields of the struct in the order of declaration.
        if bytes.trim_ascii_start().first() == Some(&b'[') {
            return Err(Problem::bad("the body must be a JSON object").coded("bad-json"));
        }
        let parsed = serde_json::from_slice(&bytes);
        Ok(Self(
            parsed.map_err(|error| {
                Problem::bad(format!("the body cannot be read: {error}")).coded("bad-json")
            })?,
        ))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}
