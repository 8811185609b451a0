//! Accepted and refused requests.

use serde_json::{Value, json};

use super::super::test_server::{TestServer, refusal, text, user};
use super::stream::{THREAD, begin, says};
use crate::domain::IngressKind;
use crate::ports::{Acceptance, ThreadView};

#[tokio::test]
async fn the_response_has_the_headers_of_the_protocol() {
    let (stage, mut threads) = TestServer::new();
    let (response, front, event) = begin(&stage, &mut threads, says("hi")).await;
    assert_eq!(response.status(), 200);
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache"),
        ("x-vercel-ai-ui-message-stream", "v1"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(response.headers().get(name).unwrap(), value, "{name}");
    }
    assert!(!response.headers().contains_key("content-encoding"));
    assert_eq!(front.thread.as_str(), THREAD);
    assert_eq!((event.message.as_str(), event.author.id.as_str()), ("m1", "web:user:operator"));
    assert_eq!(event.author.name.as_deref(), Some("Ada"));
    assert!(
        matches!(event.kind, IngressKind::Said(said) if said.text == "hi"),
        "only the last message counts"
    );
}

#[tokio::test]
async fn triggers_become_events() {
    let parts = |words: &str| json!([{ "type": "text", "text": words }]);
    let send = |id: &str, words: &str, named: Option<&str>| {
        let mut body = json!({ "id": "c1", "trigger": "submit-message",
            "messages": [{ "id": id, "role": "user", "parts": parts(words) }] });
        if let Some(named) = named {
            body["messageId"] = json!(named);
        }
        body
    };
    let regenerate =
        json!({ "id": "c1", "trigger": "regenerate-message", "messageId": "a1", "messages": [] });
    let said = |words: &str| crate::domain::Said { text: words.to_owned(), ..Default::default() };
    for (body, expected) in [
        (send("new", "hi", None), IngressKind::Said(said("hi"))),
        (send("m1", "changed", Some("m1")), IngressKind::Revised(said("changed"))),
        (send("m1", "hi", Some("m1")), IngressKind::Said(said("hi"))),
        (send("m9", "hi", Some("m9")), IngressKind::Said(said("hi"))),
        (regenerate, IngressKind::Regenerate(Some("a1".parse().unwrap()))),
        (json!({ "id": "c1", "trigger": "regenerate-message" }), IngressKind::Regenerate(None)),
    ] {
        let (stage, mut threads) = TestServer::new();
        stage.store.put(user(THREAD, "m1", "hi"));
        let (_, _, event) = begin(&stage, &mut threads, body.clone()).await;
        assert_eq!(event.kind, expected, "{body}");
    }
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_before_the_first_byte() {
    let with = |message: Value| json!({ "id": "c1", "messages": [message] });
    let file = |url: &str| json!({ "id": "m", "role": "user", "parts": [{ "type": "file", "mediaType": "image/png", "url": url }] });
    for (body, status, words) in [
        (json!({ "id": "c1", "messages": [] }), 400, "must not be empty"),
        (json!({ "id": "", "messages": [file("data:,")] }), 400, "id must not be empty"),
        (json!({ "id": "c1", "trigger": "else" }), 400, "unknown variant"),
        (with(json!({ "id": "m", "role": "user", "parts": [] })), 400, "empty"),
        (
            with(json!({ "id": "", "role": "user", "parts": [{ "type": "text", "text": "x" }] })),
            400,
            "the last message's id must not be empty",
        ),
        (with(json!({ "id": "m", "role": "assistant", "parts": [] })), 409, "not the user's"),
        (with(json!("x")), 400, "cannot be read"),
        (with(file("file:///etc/passwd")), 400, "url"),
        (with(file("http://127.0.0.1/")), 400, "url"),
    ] {
        let (stage, mut threads) = TestServer::new();
        let (got, reason) = text(stage.post("/api/chat", body.clone()).await).await;
        assert!(got == status && reason.contains(words), "{body}: {got} {reason}");
        assert!(threads.nobody_came());
    }
    let (stage, mut threads) = TestServer::new();
    let (response, ()) = tokio::join!(stage.post("/api/chat", says("hi")), async {
        let _front = threads.is_watched(ThreadView::default()).await;
        threads.takes(Acceptance::Refused("only the last answer can be written anew".to_owned())).await;
    });
    assert_eq!(
        refusal(response).await,
        (http::StatusCode::CONFLICT, "only the last answer can be written anew".to_owned())
    );
}

#[tokio::test]
async fn files_come_along() {
    let (stage, mut threads) = TestServer::new();
    let body = json!({ "id": "c1", "messages": [{ "id": "m1", "role": "user", "parts": [
        { "type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA==", "filename": "a.png" },
        { "type": "text", "text": "/stop" },
    ]}]});
    let (_, _, event) = begin(&stage, &mut threads, body).await;
    let IngressKind::Said(said) = event.kind else { panic!("a file is no command") };
    assert_eq!((said.text.as_str(), said.files.len()), ("/stop", 1));
    assert_eq!(said.files[0].name.as_deref(), Some("a.png"));
}

#[tokio::test]
async fn a_photo_may_be_larger_than_words() {
    let message = |text: &str, url: String| {
        json!({ "id": "c1", "messages": [{ "id": "m1", "role": "user", "parts": [
            { "type": "text", "text": text },
            { "type": "file", "mediaType": "image/jpeg", "url": url },
        ] }] })
    };
    let photo = |size: usize| format!("data:image/jpeg;base64,{}", "A".repeat(size));
    let (stage, mut threads) = TestServer::new();
    let (_response, _front, event) = begin(&stage, &mut threads, message("look", photo(2 << 20))).await;
    assert!(matches!(event.kind, IngressKind::Said(said) if said.files.len() == 1));
    for body in [message("look", photo(9 << 20)), message(&"x".repeat((1 << 20) + 1), photo(9))] {
        assert_eq!(stage.post("/api/chat", body).await.status(), 413);
    }
    let (status, words) = text(stage.post("/api/chat", message("look", photo(17 << 20))).await).await;
    assert!(status == 413 && words.contains("send only its newest message"), "{words}");
}
