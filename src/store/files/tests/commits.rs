//! Writing and reading back, order, group commit, torn tails, outboxes, the lock.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::support::*;
use crate::ports::{Commit, Durability, OutboxLine, StoreErrorKind, ThreadStore, Work};
use crate::store::files::writer::Bounds;
use crate::store::{Lock, OpenError, ThreadFiles};

#[test]
fn a_commit_is_there_after_a_restart_with_messages_outbox_and_open_work() {
    let dir = scratch();
    let (a, b) = (thread("a"), thread("b"));
    block_on(async {
        let store = open(dir.path());
        let open_work = Commit {
            outbox: vec![put(&a, 1), put(&a, 2), receipt(1)],
            durability: Durability::Synced,
            work: Work::Open,
            ..commit(&a, vec![said(&a, "u1"), said(&a, "a1")])
        };
        store.commit(open_work).await.unwrap();
        store.commit(commit(&b, vec![said(&b, "u1")])).await.unwrap();
        store.close().await;
        assert_eq!(store.commit(commit(&b, vec![])).await.unwrap_err().kind(), StoreErrorKind::Closed);
    });
    block_on(async {
        let store = open(dir.path());
        assert_eq!(store.unfinished(), std::slice::from_ref(&a));
        let record = store.load(&a).await.unwrap();
        assert_eq!(record.tail, [said(&a, "u1"), said(&a, "a1")]);
        assert_eq!(record.undelivered.len(), 1);
        assert!(!record.has_more);
        assert_eq!(store.load(&thread("unknown")).await.unwrap().tail, []);
        store.commit(commit(&a, vec![])).await.unwrap();
        store.close().await;
    });
    assert_eq!(open(dir.path()).unfinished(), []);
}

#[test]
fn a_closed_store_leaves_one_small_journal_and_the_plain_lines() {
    let dir = scratch();
    let a = thread("a");
    let messages: Vec<_> = (0..50).map(|n| said(&a, &format!("u{n}"))).collect();
    block_on(async {
        let store = open(dir.path());
        for message in &messages {
            store.commit(commit(&a, vec![message.clone()])).await.unwrap();
        }
        store.close().await;
        let journals: Vec<_> = std::fs::read_dir(store.layout().journals()).unwrap().collect();
        assert_eq!(journals.len(), 1);
        assert!(journals[0].as_ref().unwrap().metadata().unwrap().len() < 100);
        assert_eq!(std::fs::read_to_string(store.layout().thread(&a)).unwrap(), lines(&messages));
    });
}

#[test]
fn fifty_threads_commit_at_once_and_share_the_waits_for_the_disk() {
    let dir = scratch();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let store = Arc::new(open(dir.path()));
        let mut actors = tokio::task::JoinSet::new();
        for n in 0..50 {
            let store = Arc::clone(&store);
            actors.spawn(async move {
                let thread = thread(&format!("t{n}"));
                for m in 0..20 {
                    let durability = if m % 2 == 0 { Durability::Synced } else { Durability::Written };
                    let messages = vec![said(&thread, &format!("u{m}"))];
                    store.commit(Commit { durability, ..commit(&thread, messages) }).await.unwrap();
                    assert_eq!(store.load(&thread).await.unwrap().tail.len(), m + 1);
                }
            });
        }
        while let Some(done) = actors.join_next().await {
            done.unwrap();
        }
        assert_eq!(store.stats().commits(), 1000);
        assert!(store.stats().batches() <= 1000);
        store.close().await;
        for n in 0..50 {
            let thread = thread(&format!("t{n}"));
            let expected: Vec<_> = (0..20).map(|m| said(&thread, &format!("u{m}"))).collect();
            assert_eq!(std::fs::read_to_string(store.layout().thread(&thread)).unwrap(), lines(&expected));
        }
    });
}

#[test]
fn commits_are_written_in_the_order_of_the_calls_even_when_nobody_waits() {
    let dir = scratch();
    let a = thread("a");
    let messages: Vec<_> = (0..300).map(|n| said(&a, &format!("u{n}"))).collect();
    block_on(async {
        let store = open(dir.path());
        for message in &messages {
            drop(store.commit(commit(&a, vec![message.clone()])));
        }
        store.close().await;
        assert!(store.stats().batches() < 300, "waiting commits are written together");
        assert_eq!(std::fs::read_to_string(store.layout().thread(&a)).unwrap(), lines(&messages));
    });
}

#[test]
fn a_thread_file_cut_at_every_byte_loads_and_can_be_appended_to() {
    let a = thread("a");
    let messages = vec![said(&a, "u1"), message(&a, "a1", "run", 2, "多字节\u{2028}"), said(&a, "u2")];
    let whole = lines(&messages).into_bytes();
    let dir = scratch();
    let path = open(dir.path()).layout().thread(&a);
    for cut in 0..=whole.len() {
        overwrite(&path, &whole[..cut]);
        let kept = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
        let mut expected = messages[..kept].to_vec();
        block_on(async {
            let store = open(dir.path());
            assert_eq!(store.load(&a).await.unwrap().tail, expected, "cut at {cut}");
            store.commit(commit(&a, vec![said(&a, "u3")])).await.unwrap();
            expected.push(said(&a, "u3"));
            assert_eq!(store.load(&a).await.unwrap().tail, expected, "cut at {cut}");
            store.close().await;
        });
        assert_eq!(std::fs::read_to_string(&path).unwrap(), lines(&expected), "cut at {cut}");
    }
}

#[test]
fn a_file_that_changes_under_our_feet_is_appended_to_as_it_is() {
    let dir = scratch();
    let a = thread("a");
    block_on(async {
        let store = open(dir.path());
        let path = store.layout().thread(&a);
        store.commit(commit(&a, vec![said(&a, "u1")])).await.unwrap();
        let by_hand = lines(&[said(&a, "u2")]) + "torn";
        std::fs::File::options().append(true).open(&path).unwrap().write_all(by_hand.as_bytes()).unwrap();
        store.commit(commit(&a, vec![said(&a, "u3")])).await.unwrap();
        let three = [said(&a, "u1"), said(&a, "u2"), said(&a, "u3")];
        assert_eq!(std::fs::read_to_string(&path).unwrap(), lines(&three));
        std::fs::remove_file(&path).unwrap();
        store.commit(commit(&a, vec![said(&a, "u4")])).await.unwrap();
        assert_eq!(store.load(&a).await.unwrap().tail, [said(&a, "u4")]);
    });
    // As after a crash: the journal still has all of it, and the file stays unchanged.
    let store = open(dir.path());
    assert_eq!(std::fs::read_to_string(store.layout().thread(&a)).unwrap(), lines(&[said(&a, "u4")]));
}

#[test]
fn an_outbox_of_settled_deliveries_does_not_grow_without_end() {
    let dir = scratch();
    let a = thread("a");
    let outbox = |lines| Commit { outbox: lines, ..commit(&a, vec![]) };
    block_on(async {
        let store = open(dir.path());
        for index in 0..100 {
            store.commit(outbox(vec![put(&a, index)])).await.unwrap();
            if index != 42 {
                store.commit(outbox(vec![receipt(index)])).await.unwrap();
            }
        }
        store.close().await;
        let path = dir.path().join("state/outbox").join(format!("{}.jsonl", a.file_name()));
        assert!(std::fs::metadata(path).unwrap().len() < 3 * TIGHT.outbox);
    });
    block_on(async {
        let undelivered = open(dir.path()).load(&a).await.unwrap().undelivered;
        assert_eq!(undelivered.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["m#42"]);
    });
}

#[test]
fn a_second_store_is_refused_while_reading_goes_on() {
    let dir = scratch();
    let store = open(dir.path());
    let Err(OpenError::Held { holder, .. }) = ThreadFiles::open(dir.path()) else { panic!("two daemons") };
    assert_eq!(holder.pid, Some(std::process::id()));
    assert_eq!(Lock::holder(store.layout()), Some(holder));
    drop(store);
    ThreadFiles::open(dir.path()).unwrap();
}

#[test]
fn a_store_answers_until_it_is_closed_but_not_while_its_disk_hangs() {
    let (dir, disk, a) = (scratch(), Arc::new(FakeDisk::default()), thread("a"));
    let store = ThreadFiles::open_on(disk.clone(), dir.path(), TIGHT).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let answers = || {
        let briefly = std::time::Duration::from_millis(300);
        runtime.block_on(async { tokio::time::timeout(briefly, store.answers()).await })
    };
    assert!(runtime.block_on(store.answers()));
    let written = disk.hangs_during(|| {
        let written = store.commit(commit(&a, vec![said(&a, "u1")]));
        // The first query may be answered before the writer thread blocks on the disk.
        assert!((0..3).any(|_| answers().is_err()), "it answers though it cannot write");
        written
    });
    runtime.block_on(written).unwrap();
    assert!(runtime.block_on(store.answers()), "the disk goes on, and so does the store");
    runtime.block_on(store.close());
    assert!(!runtime.block_on(store.answers()));
}

/// A copy of a directory, as the next process finds it after `kill -9`.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_receipt_that_comes_during_a_sync_survives_the_process_before_the_sync_ends() {
    let (dir, disk) = (scratch(), Arc::new(FakeDisk::default()));
    let store = ThreadFiles::open_on(disk.clone(), dir.path(), Bounds::default()).unwrap();
    let (a, b) = (thread("a"), thread("b"));
    let outbox = |lines: Vec<OutboxLine>, durability| Commit {
        outbox: lines,
        durability,
        work: Work::Open,
        ..commit(&a, Vec::new())
    };
    block_on(store.commit(outbox(vec![put(&a, 0), put(&a, 1)], Durability::Synced))).unwrap();
    let done = disk.syncs_hang_during(|| {
        let before = disk.operations();
        let synced =
            store.commit(Commit { durability: Durability::Synced, ..commit(&b, vec![said(&b, "u1")]) });
        // The append to the journal; the sync behind it hangs.
        wait_until(|| disk.operations() > before);
        let received = store.commit(outbox(vec![receipt(0)], Durability::Written));
        wait_until(|| {
            let killed = scratch();
            copy(dir.path(), killed.path());
            let left = block_on(open(killed.path()).load(&a)).unwrap().undelivered;
            left.len() == 1 && left[0].id.as_str() == "m#1"
        });
        // A message waits for the next sync, and what its thread commits after it does not overtake it.
        let message = store.commit(commit(&a, vec![said(&a, "u2")]));
        let overtaking = store.commit(outbox(vec![receipt(1)], Durability::Written));
        [synced, received, message, overtaking]
    });
    done.into_iter().for_each(|commit| block_on(commit).unwrap());
    let record = block_on(store.load(&a)).unwrap();
    assert_eq!((record.undelivered.len(), record.tail.len()), (0, 1));
    drop(store);
    let record = block_on(open(dir.path()).load(&a)).unwrap();
    assert_eq!((record.undelivered.len(), record.tail.len()), (0, 1), "the same after a restart");
}

fn wait_until(so: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !so() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "it does not happen");
        std::thread::yield_now();
    }
}
