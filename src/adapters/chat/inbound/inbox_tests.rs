//! The inbox: each event is accepted once and submitted once, in order, also across crashes.

use std::path::Path;

use tokio::sync::watch;

use super::*;
use crate::store::FileNotes;

/// Records submitted events; a slow one waits for the gate.
struct RecordingHandler {
    done: watch::Sender<Vec<String>>,
    open: watch::Receiver<bool>,
}

impl Finish for RecordingHandler {
    fn finish<'a>(
        &'a self,
        event: &'a mut QueuedEvent,
        place: &'a mut Position,
        _: &'a InboxEntry,
    ) -> BoxFuture<'a, Finished> {
        Box::pin(async move {
            let words = event.inbound.key().to_owned();
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

fn event(words: &str) -> QueuedEvent {
    QueuedEvent::new(Inbound::Platform { key: words.to_owned(), event: Value::Null }, Addressed::ANSWER)
}

/// A running inbox in a folder.
struct Office {
    inbox: Inbox,
    done: watch::Receiver<Vec<String>>,
    gate: watch::Sender<bool>,
    _work: JoinSet<InboxTask>,
}

impl Office {
    async fn open(dir: &Path) -> Self {
        let (inbox, mut task) = Inbox::new(&FileNotes::new(dir, &"fake".parse().unwrap()), "inbox");
        task.take_up(|_| None).await.unwrap();
        let (done, watched) = watch::channel(Vec::new());
        let (gate, open) = watch::channel(false);
        let mut work = JoinSet::new();
        work.spawn(async move {
            task.run(Arc::new(RecordingHandler { done, open }), CancellationToken::new()).await;
            task
        });
        Self { inbox, done: watched, gate, _work: work }
    }

    async fn accept(&self, chat: &str, words: &str) {
        let place = self.inbox.enter(chat, Speed::Slow);
        self.inbox.accept(event(words), place).await.unwrap();
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
    assert_eq!(office.inbox.enter("a", Speed::Quick).speed(), Speed::Slow, "whatever comes now comes behind");
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
        let (first, second) = (office.inbox.enter("a", Speed::Slow), office.inbox.enter("a", Speed::Slow));
        let (mine, next) = (format!("slow {words}"), format!("slow {words} and a half"));
        office.inbox.accept(event(&next), second).await.unwrap();
        office.inbox.accept(event(&mine), first).await.unwrap();
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
    let (inbox, mut task) = Inbox::new(&FileNotes::new(dir.path(), &"fake".parse().unwrap()), "inbox");
    let (done, mut watched) = watch::channel(Vec::new());
    let (gate, open) = watch::channel(false);
    let desk = Arc::new(RecordingHandler { done, open });
    let stop = CancellationToken::new();
    for words in ["slow 1", "2"] {
        inbox.accept(event(words), inbox.enter("a", Speed::Slow)).await.unwrap();
    }
    stop.cancel();
    task.run(desk.clone(), stop).await;
    task.take_up(|_| None).await.unwrap();
    gate.send_replace(true);
    let mut work = JoinSet::new();
    work.spawn(async move { task.run(desk, CancellationToken::new()).await });
    assert_eq!(*watched.wait_for(|done| done.len() == 2).await.unwrap(), ["slow 1", "2"]);
}

#[tokio::test]
async fn no_chat_takes_all_the_room_and_the_first_of_another_always_finds_some() {
    let dir = tempfile::tempdir().unwrap();
    let (inbox, _task) = Inbox::new(&FileNotes::new(dir.path(), &"fake".parse().unwrap()), "inbox");
    let fill = async |chat: &str, count: usize| {
        let mut full = 0;
        for number in 0..count {
            let place = inbox.enter(chat, Speed::Slow);
            let accepted = inbox.accept(event(&format!("{chat} {number}")), place).await;
            full += usize::from(matches!(accepted, Err((Unaccepted::Full, _))));
        }
        full
    };
    assert_eq!(fill("a", 501).await, 1, "half of the room is one's own");
    for number in 0..50 {
        assert_eq!(fill(&alone(&number.to_string()), 1).await, 0, "a press");
    }
    assert_eq!(fill("b", 300).await, 75, "a third of what was left");
    assert_eq!(fill("c", 2).await, 0);
    assert_eq!(fill("a", 1).await, 0, "the same key is the same event");
}

#[tokio::test]
async fn entries_of_an_earlier_version_are_converted_or_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let notes = FileNotes::new(dir.path(), &"fake".parse().unwrap());
    let store = notes.nested("inbox");
    let old = serde_json::json!({ "order": 3, "key": "k", "chat": "a", "event": { "old": true } });
    store.put("one", old, Durability::Synced).await.unwrap();
    for number in [10, 9] {
        store
            .put(&number.to_string(), serde_json::json!({ "update_id": number }), Durability::Synced)
            .await
            .unwrap();
    }
    let (_inbox, mut task) = Inbox::new(&notes, "inbox");
    let convert = |stored: &Value| stored["old"].as_bool().map(|_| event("k"));
    let others = task.take_up(convert).await.unwrap();
    let names: Vec<&str> = others.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["9", "10"]);
    assert_eq!(task.left.front().map(|job| job.event.clone()), Some(event("k")));
}
