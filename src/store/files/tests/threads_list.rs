//! The list of threads and its catalog.

use super::support::*;
use crate::domain::{ThreadId, ThreadState, Timestamp};
use crate::ports::{
    Commit, ListPosition, ThreadFilter, ThreadPage, ThreadQuery, ThreadStore, ThreadSummary, Work,
};
use crate::store::{Reader, ThreadFiles};

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

/// Every thread there is.
async fn all(store: &ThreadFiles) -> Vec<ThreadSummary> {
    let page = store.list(ThreadQuery::newest(usize::MAX)).await.unwrap();
    assert_eq!(page.next, None);
    page.threads
}

#[test]
fn threads_are_listed_newest_first_with_title_count_and_state() {
    let dir = scratch();
    let (a, b) = (thread("a"), thread("b"));
    let listed = block_on(async {
        let store = open(dir.path());
        assert_eq!(all(&store).await, []);
        let first = message(&a, "u1", "r1", 10, "hello\nthere");
        store.commit(commit(&a, vec![first, message(&a, "a1", "r1", 11, "hi")])).await.unwrap();
        store.commit(commit(&b, vec![message(&b, "u1", "r1", 20, "second")])).await.unwrap();
        assert_eq!(all(&store).await, [summary(&b, "second", 20, 1), summary(&a, "hello there", 11, 2)]);
        let again = Commit { work: Work::Open, ..commit(&a, vec![message(&a, "u2", "r2", 30, "more")]) };
        store.commit(again).await.unwrap();
        store.commit(commit(&b, vec![message(&b, "u1", "r1", 21, "second, said anew")])).await.unwrap();
        let listed = all(&store).await;
        let running = ThreadSummary { state: ThreadState::Running, ..summary(&a, "hello there", 30, 3) };
        assert_eq!(listed, [running, summary(&b, "second", 21, 1)]);
        assert_eq!(Reader::read_only(dir.path()).list().unwrap(), listed);
        store.close().await;
        listed
    });
    block_on(async {
        assert_eq!(all(&open(dir.path())).await, listed);
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
        all(&store).await;
        let outdated = std::fs::read(&catalog).unwrap();
        store.commit(commit(&a, vec![message(&a, "u2", "r", 9, "later")])).await.unwrap();
        let expected = all(&store).await;
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
        assert_eq!(all(&store).await, expected);
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
            assert_eq!(all(&store).await[0].message_count, n + 1);
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

fn ids(page: &ThreadPage) -> Vec<&str> {
    page.threads.iter().map(|thread| thread.thread_id.as_str()).collect()
}

#[test]
fn a_page_goes_on_where_the_last_one_ended_also_among_threads_of_one_moment() {
    let dir = scratch();
    block_on(async {
        let store = open(dir.path());
        for n in 0..25 {
            let thread = thread(&format!("t{n:02}"));
            // Five threads of each moment.
            store.commit(commit(&thread, vec![message(&thread, "u1", "r", n / 5, "hello")])).await.unwrap();
        }
        let whole = all(&store).await;
        assert_eq!(whole.len(), 25);
        let (mut paged, mut before) = (Vec::new(), None);
        loop {
            let page = store.list(ThreadQuery { before, ..ThreadQuery::newest(7) }).await.unwrap();
            assert!(page.threads.len() <= 7);
            paged.extend(page.threads);
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(paged, whole);
        let third = ListPosition::Thread(whole[2].thread_id.clone());
        let page = store.list(ThreadQuery { before: Some(third), ..ThreadQuery::newest(2) }).await.unwrap();
        assert_eq!(page.threads, whole[3..5]);
        let time = ListPosition::Time(Timestamp::from_millis(4), None);
        let page = store.list(ThreadQuery { before: Some(time), ..ThreadQuery::newest(2) }).await.unwrap();
        assert_eq!(page.threads, whole[5..7], "those of the named moment are left out");
        let nobody = ListPosition::Thread(thread("nobody"));
        let page = store.list(ThreadQuery { before: Some(nobody), ..ThreadQuery::newest(2) }).await.unwrap();
        assert_eq!(page, ThreadPage::default());
    });
}

#[test]
fn a_page_holds_only_the_platform_and_the_threads_that_were_asked_for() {
    let dir = scratch();
    block_on(async {
        let store = open(dir.path());
        let names = ["web:chat:a", "qq:chat:a", "web:chat:b", "qq:chat:b"];
        for (at, name) in (1..).zip(names) {
            let thread: ThreadId = name.parse().unwrap();
            store.commit(commit(&thread, vec![message(&thread, "u1", "r", at, "hello")])).await.unwrap();
        }
        let of = |platform: Option<&str>, filter| ThreadQuery {
            platform: platform.map(|platform| platform.parse().unwrap()),
            filter,
            ..ThreadQuery::newest(9)
        };
        let some = || [names[0], names[3]].map(|name| name.parse().unwrap()).into();
        for (query, expected) in [
            (of(Some("qq"), ThreadFilter::All), vec![names[3], names[1]]),
            (of(Some("telegram"), ThreadFilter::All), vec![]),
            (of(None, ThreadFilter::Only(some())), vec![names[3], names[0]]),
            (of(Some("web"), ThreadFilter::Except(some())), vec![names[2]]),
        ] {
            assert_eq!(ids(&store.list(query).await.unwrap()), expected);
        }
    });
}

/// Makes thread files without a daemon: as many as a person brings from elsewhere.
fn make_threads(dir: &std::path::Path, count: i64) {
    let layout = crate::store::Layout::new(dir);
    std::fs::create_dir_all(layout.threads()).unwrap();
    for n in 0..count {
        let thread = thread(&n.to_string());
        let mut said = vec![message(&thread, "u1", &format!("r{n}"), n, &format!("question {n}"))];
        // One in a thousand was left in the middle of its answer.
        if n % 1000 == 999 {
            said.push(running(message(&thread, "a1", &format!("r{n}"), n, "half")));
        } else {
            let mut answer = message(&thread, "a1", &format!("r{n}"), n, "whole");
            answer.metadata.status = Some(crate::uimessage::RunStatus::Done);
            said.push(answer);
        }
        overwrite(&layout.thread(&thread), lines(&said).as_bytes());
    }
}

#[test]
fn five_thousand_threads_without_an_index_are_paged_at_once_and_listed_in_the_background() {
    const COUNT: i64 = 5_000;
    let dir = scratch();
    make_threads(dir.path(), COUNT);
    block_on(async {
        let store = open(dir.path());
        // The first page needs no summary of the others.
        let page = store.list(ThreadQuery::newest(50)).await.unwrap();
        assert_eq!(page.threads.len(), 50);
        assert!(page.threads.iter().all(|thread| thread.title.starts_with("question ")));
        assert!(page.next.is_some());
        // Once every summary is made, the order is that of the messages.
        let expected: Vec<String> = (0..COUNT).rev().map(|n| format!("web:chat:{n}")).collect();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        loop {
            let whole = store.list(ThreadQuery::newest(usize::MAX)).await.unwrap();
            if ids(&whole) == expected {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "the list was not made");
            tokio::task::yield_now().await;
        }
        store.close().await;
    });
    assert_eq!(Reader::read_only(dir.path()).list().unwrap().len(), 5_000);
}

#[test]
fn threads_left_unfinished_among_many_without_a_journal_are_found_in_the_background() {
    let dir = scratch();
    make_threads(dir.path(), 3_000);
    let expected: Vec<ThreadId> = ["999", "1999", "2999"].map(thread).into();
    let marker = crate::store::Layout::new(dir.path()).scan_marker();
    let stopped_before_the_end = open(dir.path());
    drop(stopped_before_the_end);
    for start in 0..2 {
        block_on(async {
            let store = open(dir.path());
            let mut found = store.found_unfinished().await;
            found.extend(store.unfinished());
            for thread in &expected {
                assert!(found.contains(thread), "start {start}: {thread} is missing");
            }
            store.close().await;
        });
        assert!(!marker.exists(), "the journal tells of them now");
    }
}
