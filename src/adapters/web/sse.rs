//! Server-sent events: their format, the limit of open streams, and keep-alive.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;

/// Most answers streamed at once.
pub(super) const MAX_STREAMS: usize = 512;

/// Most event streams at once.
pub(super) const MAX_WATCHERS: usize = 512;

/// Silence after which a comment is sent, so that no proxy closes the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The last event of a UI message stream.
pub(super) const DONE: &str = "data: [DONE]\n\n";

/// The source of a stream's events.
pub(super) trait Source: Send + 'static {
    /// The next events in wire format; `None` is the end. Must be cancel-safe: the future is dropped for each
    /// keep-alive and called again.
    fn next(&mut self) -> impl Future<Output = Option<String>> + Send;
}

/// An event without a name.
pub(super) fn data(json: &impl Serialize) -> String {
    // The values consist of strings, numbers and maps with string keys, which always serialize.
    format!("data: {}\n\n", serde_json::to_string(json).unwrap_or_default())
}

/// An event with a name.
pub(super) fn event(name: &str, json: &impl Serialize) -> String {
    format!("event: {name}\n{}", data(json))
}

/// A permit for an open stream.
pub(super) fn place(streams: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Problem> {
    Arc::clone(streams).try_acquire_owned().map_err(|_| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many streams are open: close some").after(10)
    })
}

/// The response that streams `source`. A client that disconnects drops it.
pub(super) fn response(source: impl Source, place: OwnedSemaphorePermit) -> Response {
    let events = stream::unfold((source, place), |(mut source, place)| async move {
        let events = match tokio::time::timeout(KEEP_ALIVE, source.next()).await {
            Ok(Some(events)) => Bytes::from(events),
            Ok(None) => return None,
            Err(_) => Bytes::from_static(b": keep-alive\n\n"),
        };
        Some((Ok::<_, Infallible>(events), (source, place)))
    });
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    (headers, Body::from_stream(events)).into_response()
}
