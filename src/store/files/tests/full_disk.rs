//! A full disk, a failing disk, a size limit: the commit is refused, nothing of it stays, and the next may succeed.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::Arc;

use super::support::*;
use crate::ports::{Commit, Durability, StoreError, StoreErrorKind, ThreadStore, Work};
use crate::store::files::writer::Bounds;
use crate::store::{ThreadFiles, survive_file_size_limits};

/// Two successful commits around one that fails; then a restart as after a crash.
fn fail_in_between(trouble: DiskFault, check: impl Fn(&StoreError)) {
    let dir = scratch();
    let a = thread("a");
    let write = |id: &str, index| Commit {
        outbox: vec![put(&a, index)],
        durability: Durability::Synced,
        work: Work::Open,
        ..commit(&a, vec![said(&a, id)])
    };
    block_on(async {
        let disk = FakeDisk::with(DiskFault::None);
        let store = ThreadFiles::open_on(Arc::clone(&disk) as _, dir.path(), TIGHT).unwrap();
        store.commit(write("u1", 1)).await.unwrap();
        disk.make(trouble);
        let path = store.layout().thread(&a);
        let before = std::fs::read(&path).unwrap();
        for _ in 0..3 {
            check(&store.commit(write("u2", 2)).await.unwrap_err());
            assert_eq!(std::fs::read(&path).unwrap(), before);
        }
        assert_eq!(store.load(&a).await.unwrap().tail, [said(&a, "u1")]);
        disk.make(DiskFault::None);
        store.commit(write("u3", 3)).await.unwrap();
        assert_eq!(store.stats().failures(), 3);
    });
    block_on(async {
        let record = open(dir.path()).load(&a).await.unwrap();
        assert_eq!(record.tail, [said(&a, "u1"), said(&a, "u3")]);
        let undelivered: Vec<_> = record.undelivered.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(undelivered, ["m#1", "m#3"]);
    });
}

#[test]
fn without_room_for_the_journal_a_commit_is_refused_and_the_next_succeeds() {
    fail_in_between(DiskFault::FullFor("journal"), |error| assert_eq!(error.kind(), StoreErrorKind::Full));
}

#[test]
fn without_room_for_the_thread_file_a_commit_is_refused_and_the_next_succeeds() {
    fail_in_between(DiskFault::FullFor("threads"), |error| assert_eq!(error.kind(), StoreErrorKind::Full));
}

#[test]
fn without_room_for_the_outbox_the_messages_do_not_stay_either() {
    fail_in_between(DiskFault::FullFor("outbox"), |error| assert_eq!(error.kind(), StoreErrorKind::Full));
}

#[test]
fn a_disk_that_cannot_be_waited_for_refuses_the_commit() {
    fail_in_between(DiskFault::SyncFails, |error| assert_eq!(error.kind(), StoreErrorKind::Unavailable));
}

#[test]
fn a_commit_without_room_takes_no_other_with_it() {
    let dir = scratch();
    let (a, b) = (thread("without-room"), thread("b"));
    block_on(async {
        let disk = FakeDisk::with(DiskFault::FullFor("without-room"));
        let store = ThreadFiles::open_on(disk, dir.path(), TIGHT).unwrap();
        let mut handed = Vec::new();
        for n in 0..20 {
            let thread = if n % 2 == 0 { &a } else { &b };
            handed.push(store.commit(commit(thread, vec![said(thread, &format!("u{n}"))])));
        }
        for (n, commit) in handed.into_iter().enumerate() {
            assert_eq!(commit.await.is_ok(), n % 2 == 1, "{n}");
        }
        assert_eq!(store.load(&a).await.unwrap().tail, []);
        assert_eq!(store.load(&b).await.unwrap().tail.len(), 10);
    });
}

#[test]
fn a_journal_at_the_size_limit_gives_way_to_a_new_one_and_a_thread_at_it_is_told() {
    const LIMIT: u64 = 256 * 1024;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    if limit != Some(LIMIT) {
        // The limit applies to a whole process: this test runs again in a process of its own.
        let name = std::thread::current().name().unwrap().to_owned();
        let mut shell = std::process::Command::new("/bin/sh");
        let script = format!("ulimit -f {} && exec \"$0\" --exact \"$1\" --test-threads=1", LIMIT / 512);
        shell.arg0("sh").args(["-c", &script]).arg(std::env::current_exe().unwrap()).arg(name);
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let dir = scratch();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(fill_up(dir.path()));
}

async fn fill_up(dir: &Path) {
    survive_file_size_limits().unwrap();
    let (a, b) = (thread("a"), thread("b"));
    let store = ThreadFiles::open_on(Arc::new(FakeDisk::default()), dir, Bounds::default()).unwrap();
    let large = |id: String| message(&a, &id, "run", 1, &"x".repeat(50_000));
    let mut written = 0;
    let refusal = loop {
        match store.commit(commit(&a, vec![large(format!("u{written}"))])).await {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refusal.kind(), StoreErrorKind::Full, "{refusal}");
    assert_eq!(written, 5, "as many as fit into one file");
    assert_eq!(store.load(&a).await.unwrap().tail.len(), written);
    for n in 0..10 {
        let text = message(&b, &format!("u{n}"), "run", 1, &"x".repeat(20_000));
        store.commit(commit(&b, vec![text])).await.unwrap();
    }
    store.close().await;
}
