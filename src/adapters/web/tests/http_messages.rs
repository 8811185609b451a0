//! Requests and messages to send, and readers of the responses.

use std::sync::Arc;

use axum::body::{Body, BodyDataStream};
use axum::http::{Request as HttpRequest, Response, StatusCode};
use futures_util::StreamExt as _;
use serde_json::Value;

use super::test_server::{NOW, TOKEN};
use crate::domain::ThreadId;
use crate::ports::RunOutcome;
use crate::uimessage::{Metadata, Part, Role, RunStatus, TextPart, UiMessage};

/// A body that is read chunk by chunk.
pub(super) struct Reader(BodyDataStream);

impl Reader {
    pub(super) fn new(response: Response<Body>) -> Self {
        Self(response.into_body().into_data_stream())
    }

    /// The next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<String> {
        let bytes = self.0.next().await?.unwrap();
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }

    pub(super) async fn rest(&mut self) -> String {
        let mut all = String::new();
        while let Some(bytes) = self.next().await {
            all.push_str(&bytes);
        }
        all
    }
}

pub(super) fn request(method: &str, path: &str) -> http::request::Builder {
    HttpRequest::builder()
        .method(method)
        .uri(path)
        .header("host", "127.0.0.1:7717")
        .header("authorization", format!("Bearer {TOKEN}"))
}

pub(super) fn get(path: &str) -> HttpRequest<Body> {
    request("GET", path).body(Body::empty()).unwrap()
}

pub(super) fn post(path: &str, body: Value) -> HttpRequest<Body> {
    let builder = request("POST", path).header("content-type", "application/json");
    builder.body(Body::from(body.to_string())).unwrap()
}

pub(super) async fn text(response: Response<Body>) -> (StatusCode, String) {
    let status = response.status();
    (status, Reader::new(response).rest().await)
}

/// The message of a refusal, which must have the shape of all refusals.
pub(super) async fn refusal(response: Response<Body>) -> (StatusCode, String) {
    assert_eq!(response.headers().get("content-type").unwrap(), "application/json");
    let (status, body) = json(response).await;
    assert!(body["error"]["code"].as_str().is_some_and(|code| !code.is_empty()), "{body}");
    (status, body["error"]["message"].as_str().unwrap().to_owned())
}

pub(super) async fn json(response: Response<Body>) -> (StatusCode, Value) {
    let (status, body) = text(response).await;
    (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
}

/// A message of the run `run_1` in `thread`.
pub(super) fn message(
    thread: &str,
    id: &str,
    role: Role,
    status: Option<RunStatus>,
    parts: Vec<Part>,
) -> UiMessage {
    let thread: ThreadId = thread.parse().unwrap();
    let metadata = Metadata {
        platform: thread.platform().as_str().to_owned(),
        thread_id: thread,
        author_id: None,
        author_name: None,
        message_id: None,
        timestamp: NOW,
        correlation_id: "run_1".parse().unwrap(),
        status,
        command: false,
        context: false,
        checkpoint: false,
        extra: serde_json::Map::new(),
    };
    UiMessage { id: id.parse().unwrap(), role, metadata, parts }
}

pub(super) fn user(thread: &str, id: &str, words: &str) -> UiMessage {
    message(thread, id, Role::User, None, vec![Part::Text(TextPart::plain(words))])
}

pub(super) fn outcome(status: RunStatus, messages: Vec<UiMessage>) -> RunOutcome {
    RunOutcome {
        approvals: Vec::new(),
        status: Some(status),
        messages: messages.into_iter().map(Arc::new).collect(),
        error: None,
        correlation: Some("run_1".parse().unwrap()),
    }
}
