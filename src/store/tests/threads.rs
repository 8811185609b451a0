//! Threads: messages, deliveries and receipts.

use serde_json::json;

use super::for_every_store;
use super::support::{TestStore, at, attempted, commit, dead, entry, failed, message, receipt, thread};
use crate::domain::{ThreadId, ThreadState};
use crate::ports::{Commit, Durability, StoreErrorKind, ThreadFilter, ThreadQuery, Work};
use crate::uimessage::UiMessage;

for_every_store!(
    what_was_committed_is_there_after_a_restart,
    the_last_line_of_an_id_wins_and_keeps_its_place,
    pages_go_backwards_and_nothing_stands_before_an_unknown_message,
    a_run_is_found_by_any_of_its_messages,
    a_delivery_waits_until_it_has_a_receipt_or_was_given_up,
    an_attempt_without_a_result_is_known_to_the_next_daemon,
    only_threads_with_work_left_are_unfinished,
    threads_are_listed_newest_first_with_their_title,
    the_list_is_given_in_pages,
    a_closed_store_refuses_commits,
    commits_of_one_caller_keep_their_order,
    a_deleted_thread_is_gone_also_after_a_restart,
    a_thread_is_taken_up_with_its_checkpoints_and_what_stands_behind_them,
);

fn ids(messages: &[UiMessage]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

async fn what_was_committed_is_there_after_a_restart(store: TestStore) {
    let (a, state) = (thread("a"), store.open());
    assert!(!state.threads.exists(&a).await.unwrap());
    assert!(state.threads.load(&a).await.unwrap().tail.is_empty(), "an unknown thread is an empty one");
    let said = message(&a, "u1", "run", "hello");
    state.threads.commit(commit(&a, vec![said.clone()])).await.unwrap();
    let tail = state.threads.load(&a).await.unwrap().tail;
    assert_eq!(tail, std::slice::from_ref(&said), "a read sees what was answered");
    let state = store.reopen(state).await;
    assert_eq!(state.threads.load(&a).await.unwrap().tail, [said]);
    assert!(state.threads.exists(&a).await.unwrap());
    assert!(state.threads.contains(&a, &"u1".parse().unwrap()).await.unwrap());
    assert!(!state.threads.contains(&a, &"u2".parse().unwrap()).await.unwrap());
    assert!(!state.threads.contains(&thread("b"), &"u1".parse().unwrap()).await.unwrap());
    state.threads.close().await;
}

async fn the_last_line_of_an_id_wins_and_keeps_its_place(store: TestStore) {
    let (a, state) = (thread("a"), store.open());
    let lines = [("a1", "half"), ("u2", "more"), ("a1", "whole")];
    for (id, text) in lines {
        state.threads.commit(commit(&a, vec![message(&a, id, "run", text)])).await.unwrap();
    }
    let tail = state.threads.load(&a).await.unwrap().tail;
    assert_eq!(ids(&tail), ["a1", "u2"]);
    assert_eq!(tail[0].text(), "whole");
    state.threads.close().await;
}

async fn pages_go_backwards_and_nothing_stands_before_an_unknown_message(store: TestStore) {
    let (a, state) = (thread("a"), store.open());
    let all = ["u1", "u2", "u3", "u4", "u5"].map(|id| message(&a, id, "run", id));
    state.threads.commit(commit(&a, all.to_vec())).await.unwrap();
    let page = async |before: Option<&str>, limit| {
        let before = before.map(|id| id.parse().unwrap());
        let page = state.threads.page(&a, before.as_ref(), limit).await.unwrap();
        ids(&page).join(" ")
    };
    assert_eq!(page(None, 2).await, "u4 u5");
    assert_eq!(page(Some("u4"), 2).await, "u2 u3");
    assert_eq!(page(Some("u2"), 9).await, "u1");
    assert_eq!(page(Some("u1"), 9).await, "");
    assert_eq!(page(Some("gone"), 9).await, "");
    assert_eq!(page(None, 0).await, "");
    state.threads.close().await;
}

async fn a_run_is_found_by_any_of_its_messages(store: TestStore) {
    let (a, state) = (thread("a"), store.open());
    let all = [("u1", "one"), ("u2", "two"), ("a1", "one"), ("a2", "two")];
    let all = all.map(|(id, run)| message(&a, id, run, "words"));
    state.threads.commit(commit(&a, all.to_vec())).await.unwrap();
    for id in ["u2", "a2"] {
        let run = state.threads.run_of(&a, &id.parse().unwrap()).await.unwrap();
        assert_eq!(ids(&run), ["u2", "a2"]);
    }
    assert!(state.threads.run_of(&a, &"gone".parse().unwrap()).await.unwrap().is_empty());
    state.threads.close().await;
}

async fn a_delivery_waits_until_it_has_a_receipt_or_was_given_up(store: TestStore) {
    let (a, state) = (thread("a"), store.open());
    let outbox = vec![entry(&a, 0), entry(&a, 1), entry(&a, 2), receipt(1)];
    state.threads.commit(Commit { outbox, work: Work::Open, ..commit(&a, Vec::new()) }).await.unwrap();
    let state = store.reopen(state).await;
    let waiting = async |state: &crate::store::State| {
        let record = state.threads.load(&a).await.unwrap();
        (record.undelivered.len(), record.undelivered.first().map(|entry| entry.at), record.dead)
    };
    assert_eq!(waiting(&state).await, (2, Some(at(0)), 0));
    let outbox = vec![receipt(0), dead(2)];
    state.threads.commit(Commit { outbox, ..commit(&a, Vec::new()) }).await.unwrap();
    let state = store.reopen(state).await;
    assert_eq!(waiting(&state).await, (0, None, 1));
    state.threads.close().await;
}

async fn an_attempt_without_a_result_is_known_to_the_next_daemon(store: TestStore) {
    let (a, state) = (thread("a"), store.open());
    let outbox = vec![entry(&a, 0), attempted(0), entry(&a, 1), entry(&a, 2)];
    state.threads.commit(Commit { outbox, work: Work::Open, ..commit(&a, Vec::new()) }).await.unwrap();
    let cut_off = async |state: &crate::store::State| {
        let record = state.threads.load(&a).await.unwrap();
        record.cut_off.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>()
    };
    let mut state = store.reopen(state).await;
    assert_eq!(cut_off(&state).await, ["m#0"]);
    for (lines, expected) in [
        (vec![receipt(0), attempted(1)], vec!["m#1"]),
        (vec![failed(1)], vec![]),
        (vec![attempted(1)], vec!["m#1"]),
        (vec![dead(1), attempted(2)], vec!["m#2"]),
        (vec![receipt(2)], vec![]),
    ] {
        let durability = Durability::Written;
        let written = Commit { outbox: lines, durability, work: Work::Open, ..commit(&a, Vec::new()) };
        state.threads.commit(written).await.unwrap();
        state = store.reopen(state).await;
        assert_eq!(cut_off(&state).await, expected);
    }
    state.threads.close().await;
}

async fn only_threads_with_work_left_are_unfinished(store: TestStore) {
    let (a, b, state) = (thread("a"), thread("b"), store.open());
    assert!(state.threads.unfinished().is_empty());
    for thread in [&a, &b] {
        let said = vec![message(thread, "u1", "run", "hello")];
        state.threads.commit(Commit { work: Work::Open, ..commit(thread, said) }).await.unwrap();
    }
    state.threads.commit(commit(&b, vec![message(&b, "a1", "run", "hi")])).await.unwrap();
    let state = store.reopen(state).await;
    assert_eq!(state.threads.unfinished(), [a]);
    state.threads.close().await;
}

async fn threads_are_listed_newest_first_with_their_title(store: TestStore) {
    let state = store.open();
    for (name, id, minutes, text) in
        [("old", "u1", 1, "first words"), ("new", "u1", 3, "later words"), ("new", "a1", 3, "answer")]
    {
        let mut message = message(&thread(name), id, "run", text);
        message.metadata.timestamp = at(minutes);
        let work = if id == "a1" { Work::Open } else { Work::Settled };
        state.threads.commit(Commit { work, ..commit(&thread(name), vec![message]) }).await.unwrap();
    }
    let list = state.threads.list(ThreadQuery::newest(9)).await.unwrap().threads;
    let shown: Vec<_> = list
        .iter()
        .map(|one| (one.thread_id.clone(), one.title.as_str(), one.message_count, one.state))
        .collect();
    let expected = [
        (thread("new"), "later words", 2, ThreadState::Running),
        (thread("old"), "first words", 1, ThreadState::Idle),
    ];
    assert_eq!(shown, expected);
    state.threads.close().await;
}

async fn the_list_is_given_in_pages(store: TestStore) {
    let state = store.open();
    for n in 0..5 {
        let name = thread(&n.to_string());
        let mut message = message(&name, "u1", "run", "words");
        message.metadata.timestamp = at(n);
        state.threads.commit(commit(&name, vec![message])).await.unwrap();
    }
    let (mut names, mut before) = (Vec::new(), None);
    loop {
        let page = state.threads.list(ThreadQuery { before, ..ThreadQuery::newest(2) }).await.unwrap();
        names.push(page.threads.iter().map(|one| one.thread_id.clone()).collect::<Vec<_>>());
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(names, [vec![thread("4"), thread("3")], vec![thread("2"), thread("1")], vec![thread("0")]]);
    let only = ThreadQuery { filter: ThreadFilter::Only([thread("1")].into()), ..ThreadQuery::newest(9) };
    assert_eq!(state.threads.list(only).await.unwrap().threads.len(), 1);
    let other = ThreadQuery { platform: Some("qq".parse().unwrap()), ..ThreadQuery::newest(9) };
    assert_eq!(state.threads.list(other).await.unwrap().threads, []);
    let between = ThreadQuery { since: Some(at(1)), until: Some(at(3)), ..ThreadQuery::newest(9) };
    let found = state.threads.list(between).await.unwrap().threads;
    let found: Vec<_> = found.into_iter().map(|one| one.thread_id).collect();
    assert_eq!(found, [thread("2"), thread("1")], "from the first time on, before the second");
    state.threads.close().await;
}

async fn a_closed_store_refuses_commits(store: TestStore) {
    let (a, state) = (thread("a"), store.open());
    assert!(state.threads.answers().await);
    state.threads.close().await;
    let refused = state.threads.commit(commit(&a, vec![message(&a, "u1", "run", "late")])).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Closed);
    drop(state);
    let state = store.open();
    assert!(state.threads.load(&a).await.unwrap().tail.is_empty());
    state.threads.close().await;
}

async fn commits_of_one_caller_keep_their_order(store: TestStore) {
    let (a, state) = (thread("a"), store.open());
    let commits: Vec<_> = (0..20)
        .map(|number| state.threads.commit(commit(&a, vec![message(&a, &format!("u{number}"), "run", "x")])))
        .collect();
    for written in futures_util::future::join_all(commits).await {
        written.unwrap();
    }
    let expected: Vec<String> = (0..20).map(|number| format!("u{number}")).collect();
    assert_eq!(ids(&state.threads.load(&a).await.unwrap().tail), expected);
    state.threads.close().await;
}

/// A line that sums up everything through a message.
fn checkpoint(a: &ThreadId, id: &str, number: u32, through: &str, prev: Option<&str>) -> UiMessage {
    let mut line = serde_json::to_value(message(a, id, id, "")).unwrap();
    line["role"] = json!("assistant");
    line["metadata"]["checkpoint"] = json!(true);
    let mut data = json!({
        "version": 1, "number": number, "from": "u1", "through": through, "reason": "idle", "messages": 2,
        "observations": [], "open": [], "flushed": [], "tokensBefore": 9, "tokensAfter": 3, "by": "rules",
    });
    if let Some(prev) = prev {
        data["prev"] = json!(prev);
    }
    line["parts"] = json!([{ "type": "data-checkpoint", "data": data }]);
    serde_json::from_value(line).unwrap()
}

async fn a_thread_is_taken_up_with_its_checkpoints_and_what_stands_behind_them(store: TestStore) {
    let (a, state) = (thread("a"), store.open());
    let said = |id: &str| message(&a, id, id, id);
    let lines = vec![said("u1"), said("u2"), said("u3"), checkpoint(&a, "k1", 1, "u1", None), said("u4")];
    state.threads.commit(commit(&a, lines)).await.unwrap();
    let later = vec![
        checkpoint(&a, "k2", 2, "u3", Some("k1")),
        checkpoint(&a, "again", 2, "u4", Some("k1")),
        said("u5"),
    ];
    state.threads.commit(commit(&a, later)).await.unwrap();
    let state = store.reopen(state).await;
    let record = state.threads.load(&a).await.unwrap();
    assert_eq!(ids(&record.checkpoints), ["k1", "k2"]);
    assert_eq!(
        record.checkpoints[1].checkpoint().unwrap().through.as_str(),
        "u3",
        "the first of a number counts"
    );
    assert_eq!(ids(&record.tail), ["k1", "u4", "k2", "again", "u5"]);
    assert!(record.has_more);
    let lost = vec![checkpoint(&a, "k3", 3, "gone", Some("k2"))];
    state.threads.commit(commit(&a, lost)).await.unwrap();
    let record = state.threads.load(&a).await.unwrap();
    assert_eq!(ids(&record.checkpoints), ["k1", "k2"], "one that covers an unknown message is passed over");
    assert_eq!(ids(&record.tail), ["k1", "u4", "k2", "again", "u5", "k3"]);
    state.threads.close().await;
}

async fn a_deleted_thread_is_gone_also_after_a_restart(store: TestStore) {
    let (a, b, state) = (thread("a"), thread("b"), store.open());
    for thread in [&a, &b] {
        state.threads.commit(commit(thread, vec![message(thread, "u1", "run", "hello")])).await.unwrap();
    }
    assert_eq!(state.threads.list(ThreadQuery::newest(9)).await.unwrap().threads.len(), 2);
    state.threads.delete(&a).await.unwrap();
    state.threads.delete(&a).await.unwrap();
    assert!(!state.threads.exists(&a).await.unwrap());
    let listed = state.threads.list(ThreadQuery::newest(9)).await.unwrap().threads;
    assert_eq!(listed.iter().map(|summary| &summary.thread_id).collect::<Vec<_>>(), [&b]);
    let state = store.reopen(state).await;
    assert!(state.threads.load(&a).await.unwrap().tail.is_empty());
    assert_eq!(state.threads.load(&b).await.unwrap().tail.len(), 1);
    // Its name can be used again, and has nothing of before.
    state.threads.commit(commit(&a, vec![message(&a, "u2", "run", "again")])).await.unwrap();
    let state = store.reopen(state).await;
    assert_eq!(ids(&state.threads.load(&a).await.unwrap().tail), ["u2"]);
    state.threads.close().await;
}
