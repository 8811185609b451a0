//! `/api/events`: one stream for all threads.

use std::time::Duration;

use serde_json::{Value, json};

use super::test_server::{Reader, TestServer, Threads, user};
use crate::domain::ThreadState;
use crate::ports::{Change, ThreadView};

/// The named events of a piece of the stream.
fn events(text: &str) -> Vec<(String, Value)> {
    let of = |block: &str| {
        let (name, data) = block.split_once('\n').unwrap();
        let name = name.strip_prefix("event: ").unwrap().to_owned();
        (name, serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap())
    };
    text.split("\n\n").filter(|block| !block.is_empty() && !block.starts_with(':')).map(of).collect()
}

fn names(text: &str) -> Vec<String> {
    events(text).into_iter().map(|(name, _)| name).collect()
}

async fn open(stage: &TestServer, threads: &mut Threads) -> (Reader, Value) {
    let mut reader = Reader::new(stage.get("/api/events").await);
    let (first, ()) = tokio::join!(reader.next(), threads.tells_views(Vec::new()));
    let mut events = events(&first.unwrap());
    assert_eq!(events.len(), 1);
    let (name, snapshot) = events.remove(0);
    assert_eq!(name, "snapshot");
    (reader, snapshot)
}

fn changed(stage: &TestServer, thread: &str, state: ThreadState) {
    let thread = thread.parse().unwrap();
    stage.web.parts.changes.announce(Change::Thread { thread, state, pending_approvals: 0 });
}

#[tokio::test(start_paused = true)]
async fn a_connection_begins_with_everything_a_page_shows() {
    let (stage, mut threads) = TestServer::new();
    for n in 0..60 {
        stage.store.put(user(&format!("web:chat:{n:02}"), "u1", "hello"));
    }
    let (_reader, snapshot) = open(&stage, &mut threads).await;
    assert_eq!(snapshot["threads"].as_array().unwrap().len(), 50);
    assert_eq!(snapshot["threads"][0]["title"], "hello");
    assert!(snapshot["nextBefore"].is_string());
    assert_eq!(snapshot["info"]["name"], "my-agent");
    assert_eq!((&snapshot["pendingApprovals"], &snapshot["asking"]), (&json!(0), &json!(0)));
}

#[tokio::test(start_paused = true)]
async fn many_changes_of_a_thread_are_told_once_with_its_newest_state() {
    let (stage, mut threads) = TestServer::new();
    stage.store.put(user("web:chat:1", "u1", "hello"));
    stage.store.put(user("web:chat:2", "u1", "others"));
    let (mut reader, _) = open(&stage, &mut threads).await;
    for state in
        [ThreadState::Running, ThreadState::AwaitingApproval, ThreadState::Idle, ThreadState::Running]
    {
        changed(&stage, "web:chat:1", state);
    }
    let told = events(&reader.next().await.unwrap());
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].0.as_str(), &told[0].1["threadId"]), ("thread", &json!("web:chat:1")));
    assert_eq!((&told[0].1["state"], &told[0].1["title"]), (&json!("running"), &json!("hello")));
    stage.web.parts.changes.announce(Change::Instructions);
    assert_eq!(names(&reader.next().await.unwrap()), ["instructions"]);
}

#[tokio::test(start_paused = true)]
async fn what_changes_without_a_word_is_noticed() {
    let (stage, mut threads) = TestServer::new();
    let (mut reader, _) = open(&stage, &mut threads).await;
    stage.web.parts.healths.expect("telegram".parse().unwrap(), None);
    let told = events(&reader.next().await.unwrap());
    assert_eq!(told[0].0, "info");
    assert_eq!(told[0].1["adapters"][0]["name"], "telegram");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_too_slow_begins_anew_and_nothing_piles_up_for_it() {
    let (stage, mut threads) = TestServer::new();
    stage.store.put(user("web:chat:1", "u1", "hello"));
    let (mut reader, _) = open(&stage, &mut threads).await;
    for _ in 0..5_000 {
        changed(&stage, "web:chat:1", ThreadState::Running);
    }
    let (told, ()) = tokio::join!(reader.next(), threads.tells_views(Vec::new()));
    assert_eq!(names(&told.unwrap()), ["resync", "snapshot"]);
}

#[tokio::test(start_paused = true)]
async fn the_open_thread_is_told_in_full_on_the_same_connection() {
    let (stage, mut threads) = TestServer::new();
    let (response, front) =
        tokio::join!(stage.get("/api/events?thread=web:chat:1"), threads.is_watched(ThreadView::default()));
    let mut reader = Reader::new(response);
    let (first, ()) = tokio::join!(reader.next(), threads.tells_views(Vec::new()));
    assert_eq!(names(&first.unwrap()), ["snapshot"]);
    assert_eq!(names(&reader.next().await.unwrap()), ["state"]);
    front.messages.send(user("web:chat:1", "u1", "hello").into()).unwrap();
    let told = events(&reader.next().await.unwrap());
    assert_eq!((told[0].0.as_str(), &told[0].1["id"]), ("message", &json!("u1")));
    stage.stop.cancel();
    assert_eq!(reader.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_daemon_keeps_the_connection_alive() {
    let (stage, mut threads) = TestServer::new();
    let (mut reader, _) = open(&stage, &mut threads).await;
    let began = tokio::time::Instant::now();
    assert_eq!(reader.next().await.unwrap(), ": keep-alive\n\n");
    assert_eq!(began.elapsed(), Duration::from_secs(15));
}
