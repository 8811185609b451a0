//! The event stream of a thread.

use std::sync::Arc;
use std::time::Duration;

use super::test_server::{Front, Reader, TestServer, Threads, message, user};
use crate::domain::{ErrorKind, Intent, ThreadState};
use crate::ports::ThreadView;
use crate::uimessage::{Part, Role, RunStatus, TextPart, UiMessage};

const THREAD: &str = "web:chat:c1";
const IDLE: &str = "event: state\ndata: {\"threadId\":\"web:chat:c1\",\"state\":\"idle\",\"queued\":0,\"waiting\":[],\"pendingApprovals\":0}\n\n";
const RUNNING: &str = "event: state\ndata: {\"threadId\":\"web:chat:c1\",\"state\":\"running\",\"queued\":0,\"waiting\":[],\"pendingApprovals\":0}\n\n";

fn growing(id: &str, words: &str) -> UiMessage {
    let parts = vec![Part::StepStart, Part::Text(TextPart::streaming(words))];
    message(THREAD, id, Role::Assistant, Some(RunStatus::Running), parts)
}

async fn watch(stage: &TestServer, threads: &mut Threads, view: ThreadView) -> (Reader, Front) {
    let watching = stage.get("/api/threads/web%3Achat%3Ac1/events");
    let (response, front) = tokio::join!(watching, threads.is_watched(view));
    assert_eq!(response.headers().get("content-type").unwrap(), "text/event-stream");
    assert_eq!(front.thread.as_str(), THREAD);
    (Reader::new(response), front)
}

#[tokio::test]
async fn a_watcher_begins_with_the_state_and_hears_what_follows() {
    let (stage, mut threads) = TestServer::new();
    let (mut reader, front) = watch(&stage, &mut threads, ThreadView::default()).await;
    assert_eq!(reader.next().await.unwrap(), IDLE);

    front.messages.send(Arc::new(user(THREAD, "m1", "hi"))).unwrap();
    let event = reader.next().await.unwrap();
    assert!(event.starts_with("event: message\ndata: {\"id\":\"m1\",\"role\":\"user\""), "{event}");

    front.live(&growing("a1", "he"));
    let expected = concat!(
        "event: chunk\ndata: {\"messageId\":\"a1\",\"chunk\":{\"type\":\"start-step\"}}\n\n",
        "event: chunk\ndata: {\"messageId\":\"a1\",\"chunk\":{\"type\":\"text-start\",\"id\":\"0\"}}\n\n",
        "event: chunk\ndata: {\"messageId\":\"a1\",\"chunk\":{\"type\":\"text-delta\",\"id\":\"0\",\"delta\":\"he\"}}\n\n",
    );
    let events = reader.next().await.unwrap();
    assert!(events.starts_with(RUNNING), "{events}");
    assert!(
        events.contains("\"chunk\":{\"type\":\"start\",\"messageId\":\"a1\"") && events.ends_with(expected),
        "{events}"
    );

    front.live(&growing("a1", "hello"));
    let delta = "event: chunk\ndata: {\"messageId\":\"a1\",\"chunk\":{\"type\":\"text-delta\",\"id\":\"0\",\"delta\":\"llo\"}}\n\n";
    assert_eq!(reader.next().await.unwrap(), delta);

    front.notices.send(Intent::Typing).unwrap();
    front.notices.send(Intent::Progress { text: "reading".to_owned(), call_id: None }).unwrap();
    assert_eq!(
        reader.next().await.unwrap(),
        "event: notice\ndata: {\"kind\":\"progress\",\"text\":\"reading\"}\n\n"
    );
    let error = Intent::Error { kind: ErrorKind::Rate, text: "slow".to_owned(), retryable: true };
    front.notices.send(error).unwrap();
    assert_eq!(
        reader.next().await.unwrap(),
        "event: notice\ndata: {\"kind\":\"error\",\"text\":\"slow\"}\n\n"
    );

    let done = message(THREAD, "a1", Role::Assistant, Some(RunStatus::Done), vec![Part::text("hello")]);
    front.messages.send(Arc::new(done)).unwrap();
    front.view.send_replace(ThreadView::default());
    assert!(
        reader.next().await.unwrap().starts_with("event: message\ndata: {\"id\":\"a1\""),
        "the record comes first"
    );
    assert_eq!(reader.next().await.unwrap(), IDLE);
}

#[tokio::test]
async fn a_watcher_in_the_middle_of_a_turn_hears_it_from_its_beginning() {
    let (stage, mut threads) = TestServer::new();
    let view = ThreadView {
        state: ThreadState::Running,
        live: Some(Arc::new(growing("a1", "hello"))),
        queued: 2,
        waiting: vec!["m2".parse().unwrap(), "m3".parse().unwrap()],
        pending_approvals: 0,
    };
    let (mut reader, _front) = watch(&stage, &mut threads, view).await;
    let events = reader.next().await.unwrap();
    let names: Vec<&str> = events.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(names, ["state", "chunk", "chunk", "chunk", "chunk"]);
    assert!(
        events.contains("\"queued\":2,\"waiting\":[\"m2\",\"m3\"]") && events.contains("\"delta\":\"hello\""),
        "{events}"
    );
}

#[tokio::test]
async fn another_message_or_one_begun_anew_is_told_from_its_beginning() {
    let (stage, mut threads) = TestServer::new();
    let (mut reader, front) = watch(&stage, &mut threads, ThreadView::default()).await;
    reader.next().await.unwrap();
    front.live(&growing("a1", "hello"));
    reader.next().await.unwrap();
    for anew in [growing("a1", "no"), growing("a2", "further")] {
        front.live(&anew);
        let events = reader.next().await.unwrap();
        let start = format!(
            "event: chunk\ndata: {{\"messageId\":\"{0}\",\"chunk\":{{\"type\":\"start\",\"messageId\":\"{0}\"",
            anew.id
        );
        assert!(events.starts_with(&start), "{events}");
    }
}

#[tokio::test]
async fn whoever_missed_messages_is_told_to_reload() {
    let (stage, mut threads) = TestServer::new();
    let (mut reader, front) = watch(&stage, &mut threads, ThreadView::default()).await;
    for index in 0..9 {
        front.messages.send(Arc::new(user(THREAD, &format!("m{index}"), "x"))).unwrap();
    }
    assert_eq!(reader.next().await.unwrap(), "event: reload\ndata: {}\n\n");
    assert!(reader.next().await.unwrap().contains("\"id\":\"m5\""), "and then hears on");
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_goes_to_sleep_is_watched_again() {
    let (stage, mut threads) = TestServer::new();
    let (mut reader, front) = watch(&stage, &mut threads, ThreadView::default()).await;
    assert_eq!(reader.next().await.unwrap(), IDLE);
    drop(front);
    let (events, front) = tokio::join!(reader.next(), threads.is_watched(ThreadView::default()));
    assert_eq!(events.unwrap(), "event: reload\ndata: {}\n\n");
    front.live(&growing("a1", "hi"));
    assert!(reader.next().await.unwrap().starts_with(RUNNING));
}

#[tokio::test(start_paused = true)]
async fn a_quiet_thread_is_kept_alive_and_ends_with_the_daemon() {
    let (stage, mut threads) = TestServer::new();
    let (mut reader, _front) = watch(&stage, &mut threads, ThreadView::default()).await;
    reader.next().await.unwrap();
    let began = tokio::time::Instant::now();
    assert_eq!(reader.next().await.unwrap(), ": keep-alive\n\n");
    assert_eq!(began.elapsed(), Duration::from_secs(15));
    stage.stop.cancel();
    assert_eq!(reader.next().await, None);
}
