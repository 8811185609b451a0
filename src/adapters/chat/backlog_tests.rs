//! The backlog: each event is accepted once and submitted once, in order, also across crashes.

use std::path::Path;

use serde_json::json;
use tokio::sync::watch;

use super::*;
use crate::store::FileNotes;

/// Records submitted events; a slow one waits for the gate.
struct RecordingHandler {
    done: watch::Sender<Vec<String>>,
    open: watch::Receiver<bool>,
}

impl Finish for RecordingHandler {
    fn finish<'a>(&'a self, event: &'a Value, place: &'a mut Position) -> BoxFuture<'a, Finished> {
        Box::pin(async move {
            let words = event.as_str().unwrap_or_default().to_owned();
            assert_ne!(words, "broken", "on purpose");
            if words.starts_with("slow") {
                self.open.clone().wait_for(|open| *open).await.unwrap();
            }
            place.reach().await;
            self.done.send_modify(|done| done.push(words));
            Finished::Done
        })
    }
}

/// A running backlog in a folder.
struct Office {
    backlog: Backlog,
    done: watch::Receiver<Vec<String>>,
    gate: watch::Sender<bool>,
    _work: JoinSet<BacklogTask>,
}

impl Office {
    async fn open(dir: &Path) -> Self {
        let (backlog, mut task) = Backlog::new(&FileNotes::new(dir, &"fake".parse().unwrap()));
        task.take_up().await.unwrap();
        let (done, watched) = watch::channel(Vec::new());
        let (gate, open) = watch::channel(false);
        let mut work = JoinSet::new();
        work.spawn(async move {
            task.run(Arc::new(RecordingHandler { done, open }), CancellationToken::new()).await;
            task
        });
        Self { backlog, done: watched, gate, _work: work }
    }

    async fn accept(&self, chat: &str, words: &str) {
        let place = self.backlog.enter(chat, Speed::Slow);
        self.backlog.accept(words, json!(words), place).await.unwrap();
    }

    async fn until(&mut self, count: usize) -> Vec<String> {
        let waited = self.done.wait_for(|done| done.len() >= count);
        tokio::time::timeout(Duration::from_secs(20), waited).await.unwrap().unwrap().clone()
    }
}

fn on_disk(dir: &Path) -> usize {
    std::fs::read_dir(dir.join("state/fake/inbox")).map_or(0, Iterator::count)
}

#[tokio::test]
async fn a_chat_keeps_its_order_and_holds_up_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let mut office = Office::open(dir.path()).await;
    for (chat, words) in [("a", "slow one"), ("a", "two"), ("b", "three"), ("a", "two")] {
        office.accept(chat, words).await;
    }
    assert_eq!(office.until(1).await, ["three"]);
    assert_eq!(
        office.backlog.enter("a", Speed::Quick).speed(),
        Speed::Slow,
        "whatever comes now comes behind"
    );
    office.gate.send_replace(true);
    assert_eq!(office.until(3).await, ["three", "slow one", "two"]);
}

#[tokio::test]
async fn what_is_left_is_taken_up_in_order_and_nothing_stays() {
    let dir = tempfile::tempdir().unwrap();
    let office = Office::open(dir.path()).await;
    for words in ["slow 1", "2", "3"] {
        office.accept("a", words).await;
    }
    drop(office);
    assert_eq!(on_disk(dir.path()), 3, "accepted is on the disk");
    let mut office = Office::open(dir.path()).await;
    office.accept("a", "4").await;
    office.accept("a", "2").await;
    office.gate.send_replace(true);
    assert_eq!(office.until(4).await, ["slow 1", "2", "3", "4"]);
    let gone = async {
        while on_disk(dir.path()) > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
}

#[tokio::test]
async fn whoever_stood_first_is_taken_up_first_however_late_they_were_written_down() {
    let dir = tempfile::tempdir().unwrap();
    for words in ["1", "3"] {
        let office = Office::open(dir.path()).await;
        let (first, second) =
            (office.backlog.enter("a", Speed::Slow), office.backlog.enter("a", Speed::Slow));
        let (mine, next) = (format!("slow {words}"), format!("slow {words} and a half"));
        office.backlog.accept(&next, json!(next), second).await.unwrap();
        office.backlog.accept(&mine, json!(mine), first).await.unwrap();
    }
    let mut office = Office::open(dir.path()).await;
    office.gate.send_replace(true);
    let expected = ["slow 1", "slow 1 and a half", "slow 3", "slow 3 and a half"];
    assert_eq!(office.until(4).await, expected);
}

#[tokio::test]
async fn what_breaks_is_passed_over_and_the_next_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut office = Office::open(dir.path()).await;
    office.accept("a", "broken").await;
    office.accept("a", "whole").await;
    assert_eq!(office.until(1).await, ["whole"]);
}

#[tokio::test]
async fn a_task_that_was_stopped_takes_up_what_it_left() {
    let dir = tempfile::tempdir().unwrap();
    let (backlog, mut task) = Backlog::new(&FileNotes::new(dir.path(), &"fake".parse().unwrap()));
    let (done, mut watched) = watch::channel(Vec::new());
    let (gate, open) = watch::channel(false);
    let desk = Arc::new(RecordingHandler { done, open });
    let stop = CancellationToken::new();
    for words in ["slow 1", "2"] {
        backlog.accept(words, json!(words), backlog.enter("a", Speed::Slow)).await.unwrap();
    }
    stop.cancel();
    task.run(desk.clone(), stop).await;
    task.take_up().await.unwrap();
    gate.send_replace(true);
    let mut work = JoinSet::new();
    work.spawn(async move { task.run(desk, CancellationToken::new()).await });
    assert_eq!(*watched.wait_for(|done| done.len() == 2).await.unwrap(), ["slow 1", "2"]);
}
