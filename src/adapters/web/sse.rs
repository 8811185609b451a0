//! Server-sent events: how they look, how many streams there may be, and how one is kept alive.

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

/// How many answers may be streamed at once.
pub(super) const MAX_STREAMS: usize = 512;

/// How many may watch threads at once.
pub(super) const MAX_WATCHERS: usize = 512;

/// After this long without a word a comment is sent, so that nobody in between takes the line for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The word that ends a UI message stream.
pub(super) const DONE: &str = "data: [DONE]\n\n";

/// Where the events of a stream come from.
pub(super) trait Source: Send + 'static {
    /// The next events, as they stand on the wire; nothing means the end. The future is dropped whenever the
    /// line was silent for too long, and asked for again: nothing may be lost by that.
    fn next(&mut self) -> impl Future<Output = Option<String>> + Send;
}

/// One event without a name.
pub(super) fn data(json: &impl Serialize) -> String {
    // Whatever we send is made of strings, numbers and maps with string keys, which cannot fail.
    format!("data: {}\n\n", serde_json::to_string(json).unwrap_or_default())
}

/// One event with a name.
pub(super) fn event(name: &str, json: &impl Serialize) -> String {
    format!("event: {name}\n{}", data(json))
}

/// A place among the open streams.
pub(super) fn place(streams: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Problem> {
    Arc::clone(streams).try_acquire_owned().map_err(|_| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many streams are open: close some").after(10)
    })
}

/// The response that tells what comes from `source`. A client that goes away drops it, and that is all.
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
