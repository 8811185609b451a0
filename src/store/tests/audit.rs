//! The audit trail.

use super::for_every_store;
use super::support::{TestStore, at, thread};
use crate::ports::{AuditEvent, AuditLine, AuditQuery};

for_every_store!(lines_are_read_back_in_order_without_secrets, the_newest_lines_that_are_wanted_are_found);

fn line(event: AuditEvent, minute: u64, reason: &str) -> AuditLine {
    AuditLine {
        thread: Some(thread("a")),
        reason: Some(reason.to_owned()),
        ..AuditLine::new(event, at(minute))
    }
}

async fn reasons(state: &crate::store::State, query: AuditQuery) -> Vec<String> {
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
