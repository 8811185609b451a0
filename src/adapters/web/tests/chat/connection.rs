//! How long a stream lasts, and who may resume it.

use super::super::test_server::{Reader, TestServer, message, outcome, text};
use super::stream::{THREAD, answer, begin, lines, says};
use crate::domain::ThreadState;
use crate::ports::ThreadView;
use crate::uimessage::{Part, Role, RunStatus, TextPart};

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_kept_alive_by_comments() {
    let (stage, mut threads) = TestServer::new();
    let (response, _front, _) = begin(&stage, &mut threads, says("hi")).await;
    let mut reader = Reader::new(response);
    let (bytes, (_, reply)) = tokio::join!(reader.next(), threads.is_awaited());
    assert_eq!(bytes.as_deref(), Some(": keep-alive\n\n"));
    assert_eq!(reader.next().await.as_deref(), Some(": keep-alive\n\n"));
    reply.send(outcome(RunStatus::Done, Vec::new())).unwrap();
    assert!(reader.rest().await.ends_with("data: [DONE]\n\n"), "the wait for the end survives the comments");
}

#[tokio::test]
async fn a_client_that_comes_back_hears_all_from_the_beginning() {
    let (stage, mut threads) = TestServer::new();
    let earlier = answer(RunStatus::Continued, vec![Part::StepStart, Part::text("one")]);
    stage.store.put(earlier.clone());
    let live = |words: &str| {
        let text = Part::Text(TextPart::streaming(words));
        message(THREAD, "a2", Role::Assistant, Some(RunStatus::Running), vec![Part::StepStart, text])
    };
    let view = ThreadView {
        state: ThreadState::Running,
        live: Some(std::sync::Arc::new(live("tw"))),
        ..ThreadView::default()
    };
    let (response, front) = tokio::join!(stage.get("/api/chat/c1/stream"), threads.is_watched(view));
    assert_eq!(response.headers().get("x-vercel-ai-ui-message-stream").unwrap(), "v1");
    let mut reader = Reader::new(response);
    let (bytes, (message, reply)) = tokio::join!(reader.next(), threads.is_awaited());
    assert_eq!(message.as_str(), "a2");
    let bytes = bytes.unwrap();
    assert!(bytes.contains("\"delta\":\"one\"") && bytes.ends_with("\"delta\":\"tw\"}\n\n"), "{bytes}");
    front.live(&live("two"));
    assert!(reader.next().await.unwrap().contains("\"delta\":\"o\""));
    reply.send(outcome(RunStatus::Done, vec![earlier, live("two")])).unwrap();
    let rest = reader.rest().await;
    assert!(rest.starts_with("data: {\"type\":\"text-end\"") && rest.ends_with("data: [DONE]\n\n"), "{rest}");
}

#[tokio::test]
async fn there_is_nothing_to_come_back_to_when_nothing_runs() {
    let (stage, mut threads) = TestServer::new();
    let (response, _front) =
        tokio::join!(stage.get("/api/chat/c1/stream"), threads.is_watched(ThreadView::default()));
    assert_eq!(text(response).await, (http::StatusCode::NO_CONTENT, String::new()));
}

#[tokio::test]
async fn a_daemon_that_stops_says_so_in_the_stream() {
    let (stage, mut threads) = TestServer::new();
    let (response, front, _) = begin(&stage, &mut threads, says("hi")).await;
    front.live(&answer(RunStatus::Running, vec![Part::StepStart, Part::Text(TextPart::streaming("ha"))]));
    let mut reader = Reader::new(response);
    let (_, (_, reply)) = tokio::join!(reader.next(), threads.is_awaited());
    stage.stop.cancel();
    drop(reply);
    let expected = lines(
        r#"data: {"type":"text-end","id":"0"}
        data: {"type":"finish-step"}
        data: {"type":"error","errorText":"the daemon is stopping: the answer goes on after its restart"}
        data: [DONE]"#,
    );
    assert_eq!(reader.rest().await, expected);
}

#[tokio::test]
async fn streams_are_bounded_in_number() {
    let (stage, mut threads) = TestServer::new();
    let all = u32::try_from(stage.web.streams.available_permits()).unwrap();
    let held = stage.web.streams.clone().try_acquire_many_owned(all).unwrap();
    assert_eq!(stage.post("/api/chat", says("hi")).await.status(), 503);
    assert!(threads.nobody_came(), "a message that cannot be streamed is not taken");
    drop(held);
    let all = u32::try_from(stage.web.watchers.available_permits()).unwrap();
    let _watching = stage.web.watchers.clone().try_acquire_many_owned(all).unwrap();
    assert_eq!(stage.get("/api/threads/web:chat:c1/events").await.status(), 503);
    let (response, _front, _) = begin(&stage, &mut threads, says("hi")).await;
    let before = stage.web.streams.available_permits();
    drop(response);
    assert_eq!(
        stage.web.streams.available_permits(),
        before + 1,
        "a client that leaves gives its place back"
    );
}

#[tokio::test]
async fn a_thread_that_does_not_answer_is_not_taken_for_a_stop() {
    let (stage, mut threads) = TestServer::new();
    let (refused, ()) = tokio::join!(stage.post("/api/chat", says("hi")), threads.says_nothing());
    assert_eq!(refused.status(), 429);
    stage.stop.cancel();
    let (refused, ()) = tokio::join!(stage.post("/api/chat", says("hi")), threads.says_nothing());
    assert_eq!(refused.status(), 503);
}
