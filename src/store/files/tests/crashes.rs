//! The process ends at any moment: after the next start each commit is complete or absent, no confirmed one is lost,
//! and the order is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::support::*;
use crate::domain::ThreadId;
use crate::ports::{Commit, Durability, OutboxLine, ThreadStore, Work};
use crate::store::files::outbox::Outbox;
use crate::store::{Reader, ThreadFiles};

/// The state of a directory.
#[derive(Clone, Debug, Default, PartialEq)]
struct Facts {
    /// The thread files, byte for byte.
    files: BTreeMap<ThreadId, String>,
    /// The ids of undelivered entries.
    undelivered: BTreeMap<ThreadId, Vec<String>>,
    open: BTreeSet<ThreadId>,
}

/// The expected state after each number of commits.
fn expected(commits: &[Commit]) -> Vec<Facts> {
    let mut facts = Facts::default();
    let mut outboxes: BTreeMap<ThreadId, Vec<OutboxLine>> = BTreeMap::new();
    let mut all = vec![facts.clone()];
    for commit in commits {
        if !commit.messages.is_empty() {
            facts.files.entry(commit.thread.clone()).or_default().push_str(&lines(&commit.messages));
        }
        let outbox = outboxes.entry(commit.thread.clone()).or_default();
        outbox.extend(commit.outbox.iter().cloned());
        let undelivered = Outbox::fold(outbox.clone()).undelivered;
        let undelivered: Vec<_> = undelivered.iter().map(|entry| entry.id.as_str().to_owned()).collect();
        facts.undelivered.insert(commit.thread.clone(), undelivered);
        match commit.work {
            Work::Open => facts.open.insert(commit.thread.clone()),
            Work::Settled => facts.open.remove(&commit.thread),
        };
        all.push(facts.clone());
    }
    for facts in &mut all {
        facts.undelivered.retain(|_, ids| !ids.is_empty());
    }
    all
}

/// Starts the store and reads its state.
fn found(dir: &Path) -> Facts {
    let store = open(dir);
    let reader = Reader::read_only(dir);
    let mut facts = Facts { open: store.unfinished().into_iter().collect(), ..Facts::default() };
    for name in THREADS {
        let thread = thread(name);
        let record = reader.load(&thread).unwrap();
        let ids: Vec<_> = record.undelivered.iter().map(|entry| entry.id.as_str().to_owned()).collect();
        if !ids.is_empty() {
            facts.undelivered.insert(thread.clone(), ids);
        }
        // An empty file equals a missing one: it was created and never written.
        let file = std::fs::read_to_string(store.layout().thread(&thread)).unwrap_or_default();
        if !file.is_empty() {
            facts.files.insert(thread, file);
        }
    }
    facts
}

const THREADS: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
struct Step {
    thread: usize,
    messages: Vec<u8>,
    outbox: Vec<(bool, usize)>,
    synced: bool,
    open: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let messages = prop::collection::vec(0u8..6, 0..3);
    let outbox = prop::collection::vec((any::<bool>(), 0usize..4), 0..3);
    let step = (0..THREADS.len(), messages, outbox, any::<bool>(), any::<bool>());
    step.prop_map(|(thread, messages, outbox, synced, open)| Step { thread, messages, outbox, synced, open })
}

/// Ids repeat, so that messages are rewritten; every line differs.
fn commits(steps: &[Step]) -> Vec<Commit> {
    let make = |(n, step): (usize, &Step)| {
        let thread = thread(THREADS[step.thread]);
        let say =
            |id: &u8| message(&thread, &format!("u{id}"), "run", 1, &format!("step {n} {}", "词".repeat(n)));
        let outbox = step.outbox.iter().map(|(receive, at)| {
            // Settled deliveries are never added again: their ids are unique.
            if *receive { receipt(n.saturating_sub(*at) * 10) } else { put(&thread, n * 10 + at) }
        });
        Commit {
            messages: step.messages.iter().map(say).collect(),
            outbox: outbox.collect(),
            durability: if step.synced { Durability::Synced } else { Durability::Written },
            work: if step.open { Work::Open } else { Work::Settled },
            thread: thread.clone(),
        }
    };
    steps.iter().enumerate().map(make).collect()
}

/// Writes one commit after the other until one fails; returns how many were confirmed.
fn write_until_refused(store: &ThreadFiles, commits: &[Commit]) -> usize {
    block_on(async {
        for (n, commit) in commits.iter().enumerate() {
            if store.commit(commit.clone()).await.is_err() {
                return n;
            }
        }
        commits.len()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_process_that_dies_at_any_operation_leaves_whole_commits(
        steps in prop::collection::vec(step(), 1..14),
    ) {
        let commits = commits(&steps);
        let expected = expected(&commits);
        let mut death = 0;
        loop {
            let dir = scratch();
            let disk = FakeDisk::with(DiskFault::DeadAfter(death));
            // A crash may also happen during the start.
            let answered = match ThreadFiles::open_on(Arc::clone(&disk) as _, dir.path(), TIGHT) {
                Ok(store) => write_until_refused(&store, &commits),
                Err(_) => 0,
            };
            let facts = found(dir.path());
            let whole = expected.get(answered..=(answered + 1).min(commits.len())).unwrap();
            prop_assert!(whole.contains(&facts), "death after {death}, {answered} answered: {facts:#?}");
            prop_assert_eq!(&found(dir.path()), &facts, "a second start changes nothing");
            if disk.operations() <= death {
                break;
            }
            death += 1;
        }
    }

    #[test]
    fn commits_that_are_written_together_are_still_whole_and_in_order(
        steps in prop::collection::vec(step(), 1..14),
        deaths in prop::collection::vec(0usize..60, 12),
    ) {
        let commits = commits(&steps);
        let expected = expected(&commits);
        for death in deaths {
            let dir = scratch();
            let disk = FakeDisk::with(DiskFault::DeadAfter(death));
            let mut answered = 0;
            if let Ok(store) = ThreadFiles::open_on(disk, dir.path(), TIGHT) {
                let handed: Vec<_> = commits.iter().map(|commit| store.commit(commit.clone())).collect();
                for (n, commit) in handed.into_iter().enumerate() {
                    if block_on(commit).is_ok() {
                        prop_assert_eq!(n, answered, "none is answered behind one that failed");
                        answered += 1;
                    }
                }
            }
            let facts = found(dir.path());
            let whole = expected.get(answered..).unwrap();
            prop_assert!(whole.contains(&facts), "death after {death}, {answered} answered: {facts:#?}");
        }
    }

    #[test]
    fn a_loss_of_power_takes_no_synced_commit(
        steps in prop::collection::vec(step(), 1..14),
        choices in prop::collection::vec(0u64..1000, 40),
    ) {
        let commits: Vec<Commit> = commits(&steps)
            .into_iter()
            .map(|commit| Commit { durability: Durability::Synced, ..commit })
            .collect();
        let expected = expected(&commits);
        for upto in 0..=commits.len() {
            let dir = scratch();
            let disk = FakeDisk::with(DiskFault::None);
            let store = ThreadFiles::open_on(Arc::clone(&disk) as _, dir.path(), TIGHT).unwrap();
            prop_assert_eq!(write_until_refused(&store, &commits[..upto]), upto);
            drop(store);
            let mut choices = choices.iter().cycle();
            disk.lose_power(dir.path(), |sure, there| {
                sure + choices.next().unwrap() * (there - sure) / 999
            });
            prop_assert_eq!(&found(dir.path()), &expected[upto]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn a_journal_cut_at_every_byte_gives_a_prefix_of_the_commits(
        steps in prop::collection::vec(step(), 2..4),
        applied in 0u64..1000,
    ) {
        let commits = commits(&steps);
        let expected = expected(&commits);
        let dir = scratch();
        // One journal, never closed: it has every commit.
        let store = ThreadFiles::open_on(FakeDisk::with(DiskFault::None), dir.path(), Default::default()).unwrap();
        prop_assert_eq!(write_until_refused(&store, &commits), commits.len());
        let layout = store.layout().clone();
        drop(store);
        let journal = std::fs::read(layout.journal(1)).unwrap();
        let mut largest = 0;
        for cut in 0..=journal.len() {
            let crashed = scratch();
            let other = crate::store::Layout::new(crashed.path());
            other.create().unwrap();
            overwrite(&other.journal(1), &journal[..cut]);
            let journaled = crate::store::files::journal::Contents::read(&other.journal(1)).unwrap();
            let whole = journaled.records.len().saturating_sub(1);
            // Data files may have any part of what the journal has, never more.
            for (thread, content) in &expected[whole].files {
                let part = content.len() * usize::try_from(applied).unwrap() / 999;
                overwrite(&other.thread(thread), &content.as_bytes()[..part]);
            }
            prop_assert_eq!(&found(crashed.path()), &expected[whole], "cut at {}", cut);
            prop_assert!(whole >= largest);
            largest = whole;
        }
        prop_assert_eq!(largest, commits.len());
    }
}

#[test]
fn a_process_that_dies_while_it_takes_a_refused_commit_back_leaves_it_whole_or_absent() {
    let a = thread("a");
    let write = |n| Commit {
        outbox: vec![put(&a, n)],
        durability: Durability::Synced,
        ..commit(&a, vec![said(&a, &format!("u{n}"))])
    };
    let commits = [write(1), write(2)];
    let expected = expected(&commits);
    for full in ["journal", "threads", "outbox"] {
        for death in 0.. {
            let dir = scratch();
            block_on(open(dir.path()).commit(commits[0].clone())).unwrap();
            let disk = FakeDisk::with(DiskFault::FullForThenDead(full, death));
            if let Ok(store) = ThreadFiles::open_on(Arc::clone(&disk) as _, dir.path(), TIGHT) {
                assert_eq!(write_until_refused(&store, &commits[1..]), 0);
            }
            let facts = found(dir.path());
            assert!(expected[1..].contains(&facts), "no room for {full}, death after {death}: {facts:#?}");
            if disk.operations() <= death {
                break;
            }
        }
    }
}

#[test]
fn bytes_that_are_not_the_journals_give_way_to_its_lines() {
    let a = thread("a");
    let two = [said(&a, "u1"), said(&a, "u2")];
    let whole = lines(&two).into_bytes();
    let first = lines(&two[..1]).len();
    for from in [first, first + 10, whole.len() - 1] {
        let dir = scratch();
        let store = open(dir.path());
        let path = store.layout().thread(&a);
        assert_eq!(write_until_refused(&store, &two.clone().map(|message| commit(&a, vec![message]))), 2);
        drop(store);
        // As some file systems leave a file after a power loss: the length without the bytes.
        let zeroed = [&whole[..from], &vec![0; whole.len() - from]].concat();
        overwrite(&path, &zeroed);
        drop(open(dir.path()));
        assert_eq!(std::fs::read(&path).unwrap(), whole, "zeroes from {from} on");
    }
}

#[test]
fn a_journal_begun_in_vain_is_not_believed() {
    let dir = scratch();
    let a = thread("a");
    let store = open(dir.path());
    let work = Commit { work: Work::Open, ..commit(&a, vec![said(&a, "u1")]) };
    assert_eq!(write_until_refused(&store, &[work]), 1);
    let layout = store.layout().clone();
    drop(store);
    let stale = crate::store::files::journal::Record::Checkpoint { open: vec![thread("b")] };
    overwrite(&layout.journal(2), &stale.encode().unwrap());
    for _ in 0..2 {
        assert_eq!(open(dir.path()).unfinished(), std::slice::from_ref(&a));
    }
}

#[test]
fn open_work_outlives_the_journal_it_was_told_in() {
    let dir = scratch();
    let (a, b) = (thread("a"), thread("b"));
    block_on(async {
        let store = open(dir.path());
        store.commit(Commit { work: Work::Open, ..commit(&a, vec![said(&a, "u1")]) }).await.unwrap();
        for n in 0..60 {
            store.commit(commit(&b, vec![said(&b, &format!("u{n}"))])).await.unwrap();
        }
        assert!(
            !store.layout().journal(1).exists() || store.layout().journal(2).exists(),
            "it has turned over"
        );
    });
    let store = open(dir.path());
    assert_eq!(store.unfinished(), [a]);
}

#[test]
fn a_start_does_not_look_at_finished_threads() {
    let dir = scratch();
    let a = thread("a");
    block_on(async {
        let store = open(dir.path());
        store.commit(commit(&a, vec![said(&a, "u1")])).await.unwrap();
        store.close().await;
    });
    let disk = FakeDisk::with(DiskFault::None);
    let store = ThreadFiles::open_on(Arc::clone(&disk) as _, dir.path(), TIGHT).unwrap();
    drop(store);
    // The journal is opened and directories are synced: no thread file is opened.
    assert!(disk.operations() <= 5, "{}", disk.operations());
}

#[test]
fn a_thread_file_shorter_than_the_journal_remembers_gets_the_lines_once() {
    let dir = scratch();
    let a = thread("a");
    let store = open(dir.path());
    let path = store.layout().thread(&a);
    block_on(async {
        store.commit(commit(&a, vec![message(&a, "u1", "run", 1, &"x".repeat(2000))])).await.unwrap();
        // The first journal was replaced: only the following commits are in the journal.
        store.commit(commit(&a, vec![said(&a, "u2")])).await.unwrap();
        store.commit(commit(&a, vec![said(&a, "u3")])).await.unwrap();
    });
    let journals = store.layout().journals();
    drop(store);
    assert_eq!(std::fs::read_dir(journals).unwrap().count(), 1);
    overwrite(&path, (lines(&[said(&a, "u0")]) + "torn").as_bytes());
    for _ in 0..2 {
        drop(open(dir.path()));
        let three = [said(&a, "u0"), said(&a, "u2"), said(&a, "u3")];
        assert_eq!(std::fs::read_to_string(&path).unwrap(), lines(&three));
    }
}

#[tokio::test]
async fn a_deletion_that_was_cut_off_is_completed_by_the_next_start() {
    let dir = scratch();
    let (a, b) = (thread("a"), thread("b"));
    let store = open(dir.path());
    for name in ["u1", "u2"] {
        store.commit(commit(&a, vec![said(&a, name)])).await.unwrap();
        store.commit(commit(&b, vec![said(&b, name)])).await.unwrap();
    }
    let before = std::fs::read(store.layout().thread(&a)).unwrap();
    store.delete(&a).await.unwrap();
    store.commit(commit(&b, vec![said(&b, "u3")])).await.unwrap();
    let file = store.layout().thread(&a);
    // The process ends without closing the journal, and the file had not been removed yet.
    drop(store);
    std::io::Write::write_all(&mut std::fs::File::create(&file).unwrap(), &before).unwrap();
    let store = open(dir.path());
    assert!(!file.exists(), "the journal knows that it was deleted");
    assert_eq!(store.page(&b, None, 9).await.unwrap().len(), 3, "nothing else is touched");
    // Later writes stay, also where older journals differ.
    store.commit(commit(&a, vec![said(&a, "u9")])).await.unwrap();
    drop(store);
    let store = open(dir.path());
    let kept = store.page(&a, None, 9).await.unwrap();
    assert_eq!(kept.iter().map(|message| message.id.as_str()).collect::<Vec<_>>(), ["u9"]);
}
