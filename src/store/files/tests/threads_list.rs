//! The list of threads and its catalog.

use super::support::*;
use crate::domain::{ThreadId, ThreadState, Timestamp};
use crate::ports::{Commit, ThreadStore, ThreadSummary, Work};
use crate::store::Reader;

fn summary(thread: &ThreadId, title: &str, at: i64, count: u64) -> ThreadSummary {
    ThreadSummary {
        thread_id: thread.clone(),
        state: ThreadState::Idle,
        title: title.into(),
        updated_at: Timestamp::from_millis(at),
        message_count: count,
        pending_approvals: 0,
    }
}

#[test]
fn threads_are_listed_newest_first_with_title_count_and_state() {
    let dir = scratch();
    let (a, b) = (thread("a"), thread("b"));
    let listed = block_on(async {
        let store = open(dir.path());
        assert_eq!(store.list().await.unwrap(), []);
        let first = message(&a, "u1", "r1", 10, "hello\nthere");
        store.commit(commit(&a, vec![first, message(&a, "a1", "r1", 11, "hi")])).await.unwrap();
        store.commit(commit(&b, vec![message(&b, "u1", "r1", 20, "second")])).await.unwrap();
        assert_eq!(
            store.list().await.unwrap(),
            [summary(&b, "second", 20, 1), summary(&a, "hello there", 11, 2)]
        );
        let again = Commit { work: Work::Open, ..commit(&a, vec![message(&a, "u2", "r2", 30, "more")]) };
        store.commit(again).await.unwrap();
        store.commit(commit(&b, vec![message(&b, "u1", "r1", 21, "second, said anew")])).await.unwrap();
        let listed = store.list().await.unwrap();
        let running = ThreadSummary { state: ThreadState::Running, ..summary(&a, "hello there", 30, 3) };
        assert_eq!(listed, [running, summary(&b, "second", 21, 1)]);
        assert_eq!(Reader::read_only(dir.path()).list().unwrap(), listed);
        store.close().await;
        listed
    });
    block_on(async {
        assert_eq!(open(dir.path()).list().await.unwrap(), listed);
    });
}

#[test]
fn a_catalog_that_is_missing_damaged_or_outdated_gives_the_same_list() {
    let dir = scratch();
    let (a, b, c) = (thread("a"), thread("b"), thread("c"));
    let catalog = dir.path().join("state/catalog.jsonl");
    let expected = block_on(async {
        let store = open(dir.path());
        for (at, thread) in [(1, &a), (2, &b), (3, &c)] {
            store.commit(commit(thread, vec![message(thread, "u1", "r", at, "hello")])).await.unwrap();
        }
        store.list().await.unwrap();
        let outdated = std::fs::read(&catalog).unwrap();
        store.commit(commit(&a, vec![message(&a, "u2", "r", 9, "later")])).await.unwrap();
        let expected = store.list().await.unwrap();
        assert_eq!(
            expected,
            [summary(&a, "hello", 9, 2), summary(&c, "hello", 3, 1), summary(&b, "hello", 2, 1)]
        );
        store.close().await;
        overwrite(&catalog, &outdated);
        expected
    });
    let list = || Reader::read_only(dir.path()).list().unwrap();
    assert_eq!(list(), expected, "outdated");
    let damaged = std::fs::read_to_string(&catalog).unwrap().replace("title", "tilte") + "{\"torn";
    overwrite(&catalog, damaged.as_bytes());
    assert_eq!(list(), expected, "damaged");
    std::fs::remove_file(&catalog).unwrap();
    assert_eq!(list(), expected, "missing");
    assert!(!catalog.exists(), "reading writes nothing");
    block_on(async {
        let store = open(dir.path());
        assert_eq!(store.list().await.unwrap(), expected);
        assert!(catalog.exists());
        std::fs::remove_file(store.layout().thread(&c)).unwrap();
    });
    assert_eq!(list(), [expected[0].clone(), expected[2].clone()], "a removed thread is not listed");
}

#[test]
fn a_catalog_with_many_outdated_lines_is_written_anew() {
    let dir = scratch();
    let a = thread("a");
    block_on(async {
        let store = open(dir.path());
        for n in 0..600 {
            store.commit(commit(&a, vec![said(&a, &format!("u{n}"))])).await.unwrap();
            assert_eq!(store.list().await.unwrap()[0].message_count, n + 1);
        }
    });
    let lines = std::fs::read_to_string(dir.path().join("state/catalog.jsonl")).unwrap().lines().count();
    assert!(lines < 300, "{lines}");
}

#[test]
fn reading_a_directory_that_is_no_project_finds_nothing_and_makes_nothing() {
    let dir = scratch();
    let reader = Reader::read_only(&dir.path().join(".ship"));
    assert_eq!(reader.list().unwrap(), []);
    assert_eq!(reader.load(&thread("a")).unwrap().tail, []);
    assert!(!reader.has(&thread("a")));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
