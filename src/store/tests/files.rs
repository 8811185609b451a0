//! Attachments: complete or not at all.

use super::for_every_store;
use super::support::{TestStore, at, thread};
use crate::domain::StoredFile;
use crate::ports::{AuditEvent, AuditLine, AuditQuery};
use crate::store::State;

for_every_store!(
    a_file_is_there_whole_after_a_restart,
    a_file_comes_piece_by_piece_and_only_when_it_is_finished,
    files_belong_to_their_thread,
    an_output_that_is_needed_has_a_name_of_its_own,
    lines_are_read_back_in_order_without_secrets,
    the_newest_lines_that_are_wanted_are_found,
);

async fn content(state: &State, file: &StoredFile) -> Option<Vec<u8>> {
    let found = state.files.open(file.thread(), file.name()).await.unwrap()?;
    let length = found.length;
    let bytes = found.bytes().await.unwrap();
    assert_eq!(length, bytes.len() as u64);
    Some(bytes)
}

async fn a_file_is_there_whole_after_a_restart(store: TestStore) {
    let state = store.open();
    let file = StoredFile::new(thread("a"), "7-", "报告 1.pdf");
    assert_eq!(content(&state, &file).await, None);
    state.files.keep(&file, b"old".to_vec()).await.unwrap();
    state.files.keep(&file, b"new words".to_vec()).await.unwrap();
    let state = store.reopen(state).await;
    assert_eq!(content(&state, &file).await.as_deref(), Some(&b"new words"[..]));
    state.threads.close().await;
}

async fn a_file_comes_piece_by_piece_and_only_when_it_is_finished(store: TestStore) {
    let state = store.open();
    let file = StoredFile::new(thread("a"), "", "a.txt");
    let mut writer = state.files.create(&file).await.unwrap();
    writer.write(b"half").await.unwrap();
    assert_eq!(content(&state, &file).await, None);
    drop(writer);
    assert_eq!(content(&state, &file).await, None, "nothing is left of what broke off");
    let mut writer = state.files.create(&file).await.unwrap();
    for piece in [&b"one "[..], b"two"] {
        writer.write(piece).await.unwrap();
    }
    writer.finish().await.unwrap();
    assert_eq!(content(&state, &file).await.as_deref(), Some(&b"one two"[..]));
    state.threads.close().await;
}

async fn files_belong_to_their_thread(store: TestStore) {
    let state = store.open();
    state.files.keep(&StoredFile::new(thread("a"), "", "a.txt"), b"a".to_vec()).await.unwrap();
    assert_eq!(content(&state, &StoredFile::new(thread("b"), "", "a.txt")).await, None);
    for name in ["", ".", "..", "../web%3Achat%3Aa/a.txt"] {
        assert!(state.files.open(&thread("b"), name).await.unwrap().is_none(), "{name:?}");
    }
    state.threads.close().await;
}

async fn an_output_that_is_needed_has_a_name_of_its_own(store: TestStore) {
    let state = store.open();
    let call = "../call 1".parse().unwrap();
    let mut names = Vec::new();
    for needed in [true, false, true] {
        let mut output = state.outputs.begin(&call);
        output.write("words").await;
        names.extend(output.close(needed).await);
    }
    assert_eq!(names.len(), 2);
    assert_ne!(names.first(), names.last());
    assert_eq!(state.outputs.begin(&call).close(true).await, None, "nothing was said");
    state.threads.close().await;
}

fn line(event: AuditEvent, minute: u64, reason: &str) -> AuditLine {
    AuditLine {
        thread: Some(thread("a")),
        reason: Some(reason.to_owned()),
        ..AuditLine::new(event, at(minute))
    }
}

async fn reasons(state: &State, query: AuditQuery) -> Vec<String> {
    let trail = state.audit.read(query).await.unwrap();
    assert_eq!(trail.unreadable, 0);
    trail.lines.iter().map(|line| line.facts["reason"].as_str().unwrap().to_owned()).collect()
}

async fn lines_are_read_back_in_order_without_secrets(store: TestStore) {
    let state = store.open();
    state.audit.redact_with(Box::new(|text| text.replace("hunter2", "[redacted]")));
    for (minute, reason) in [(0, "one"), (1, "the key is hunter2"), (24 * 60, "next day")] {
        state.audit.record(line(AuditEvent::Decision, minute, reason));
    }
    let state = store.reopen(state).await;
    let all = AuditQuery { limit: 10, ..AuditQuery::default() };
    assert_eq!(reasons(&state, all).await, ["one", "the key is [redacted]", "next day"]);
    state.threads.close().await;
}

async fn the_newest_lines_that_are_wanted_are_found(store: TestStore) {
    let state = store.open();
    for minute in 0..4 {
        state.audit.record(line(AuditEvent::GrantUsed, minute, &format!("used {minute}")));
        state.audit.record(line(AuditEvent::Verdict, minute, "judged"));
    }
    state.audit.flush().await;
    let grants = AuditQuery { event: Some("grant".to_owned()), limit: 2, ..AuditQuery::default() };
    assert_eq!(reasons(&state, grants.clone()).await, ["used 2", "used 3"]);
    let since = AuditQuery { since: Some(at(3)), limit: 9, ..grants.clone() };
    assert_eq!(reasons(&state, since).await, ["used 3"]);
    let elsewhere = AuditQuery { thread: Some("web:chat:b".to_owned()), ..grants };
    assert_eq!(reasons(&state, elsewhere).await, [""; 0]);
    state.threads.close().await;
}
