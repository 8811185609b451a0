//! A requested stream, with the thread played by the test.

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};

use super::super::test_server::{Front, Reader, TestServer, Threads, message};
use crate::domain::IngressEvent;
use crate::ports::{RunOutcome, ThreadView};
use crate::uimessage::{Part, Role, RunStatus, UiMessage};

pub(super) const THREAD: &str = "web:chat:c1";

pub(super) const START: &str = r#"data: {"type":"start","messageId":"a1","messageMetadata":{"platform":"web","threadId":"web:chat:c1","timestamp":1767225600000,"correlationId":"run_1","status":"running"}}"#;

pub(super) fn answer(status: RunStatus, parts: Vec<Part>) -> UiMessage {
    message(THREAD, "a1", Role::Assistant, Some(status), parts)
}

pub(super) fn says(words: &str) -> Value {
    json!({ "id": "c1", "trigger": "submit-message", "messages": [
        { "id": "old", "role": "user", "parts": [{ "type": "text", "text": "forged" }] },
        { "id": "m1", "role": "user", "metadata": { "authorId": "web:user:evil" },
          "parts": [{ "type": "text", "text": words }] },
    ]})
}

pub(super) async fn begin(
    stage: &TestServer,
    threads: &mut Threads,
    body: Value,
) -> (Response<Body>, Front, IngressEvent) {
    let (response, (front, event)) = tokio::join!(stage.post("/api/chat", body), async {
        let front = threads.is_watched(ThreadView::default()).await;
        let event = threads.accepts().await;
        (front, event)
    });
    (response, front, event)
}

/// Plays a run through states to its end and returns what a client reads.
pub(super) async fn golden(states: &[UiMessage], end: RunOutcome) -> String {
    let (stage, mut threads) = TestServer::new();
    let (response, front, _) = begin(&stage, &mut threads, says("hi")).await;
    let mut reader = Reader::new(response);
    let mut all = String::new();
    let mut waiting = None;
    for state in states {
        front.live(state);
        let (bytes, reply) = tokio::join!(reader.next(), async {
            match waiting.take() {
                None => threads.is_awaited().await.1,
                Some(reply) => reply,
            }
        });
        all.push_str(&bytes.unwrap());
        waiting = Some(reply);
    }
    let (rest, ()) = tokio::join!(reader.rest(), async {
        let reply = match waiting {
            None => threads.is_awaited().await.1,
            Some(reply) => reply,
        };
        reply.send(end).unwrap();
    });
    all + &rest
}

pub(super) fn lines(text: &str) -> String {
    text.trim().lines().map(|line| format!("{}\n\n", line.trim())).collect::<String>().replace("START", START)
}
