//! The backlog: accepted events that take long to submit, such as a message with files to download, and the messages
//! behind it.
//!
//! An event is stored before the platform gets its acknowledgement, and stays stored until it is submitted; the next
//! process submits what a process left. Submitting twice is harmless, because the threads dedupe by key.

use std::collections::{HashSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::chat_queue::{ChatQueues, Position, Speed};
use crate::adapters::Backoff;
use crate::ports::{BoxFuture, KeyValueStore, StoreError};

/// The key space of the backlog in the adapter's key-value store.
const SHELF: &str = "inbox";
/// Most events in the backlog; further ones are refused, and the platform must send them again.
const MOST: usize = 4096;
/// The back-off between retries of an event.
const AGAIN: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(15),
    stable_after: Duration::ZERO,
};

/// The outcome of an accepted event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Submitted, or without effect.
    Done,
    /// Failed; has to be retried.
    Again(String),
}

/// Resolves an accepted event, waits for its position and submits it.
pub trait Finish: Send + Sync + 'static {
    /// May be called again for the same event, also by another process.
    fn finish<'a>(&'a self, event: &'a Value, place: &'a mut Position) -> BoxFuture<'a, Finished>;
}

/// Why an event was not accepted. The platform must not get an acknowledgement.
#[derive(Debug, thiserror::Error)]
pub enum Unaccepted {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{MOST} messages wait already")]
    Full,
}

/// A stored event.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    order: u64,
    key: String,
    chat: String,
    event: Value,
}

#[derive(Debug)]
struct Job {
    key: String,
    event: Value,
    place: Position,
}

/// A handle of the backlog. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Backlog {
    shelf: Arc<dyn KeyValueStore>,
    lines: ChatQueues,
    /// The keys of the stored events.
    keys: Arc<Mutex<HashSet<String>>>,
    jobs: mpsc::Sender<Job>,
}

/// The backlog's task, to be run by its owner.
#[derive(Debug)]
pub struct BacklogTask {
    backlog: Backlog,
    inbox: mpsc::Receiver<Job>,
    left: VecDeque<Job>,
}

impl Backlog {
    /// A backlog in a key space of these notes, and the task to run.
    pub fn new(notes: &dyn KeyValueStore) -> (Self, BacklogTask) {
        let (jobs, inbox) = mpsc::channel(2 * MOST);
        let (lines, keys) = (ChatQueues::default(), Arc::default());
        let backlog = Self { shelf: notes.shelf(SHELF), lines, keys, jobs };
        (backlog.clone(), BacklogTask { backlog, inbox, left: VecDeque::new() })
    }

    /// Takes the next position in the queue of a chat.
    pub fn enter(&self, chat: &str, speed: Speed) -> Position {
        self.lines.enter(chat, speed)
    }

    /// Accepts an event under a unique key: afterwards it will be submitted in order, also after a crash. The same key
    /// means the same event.
    pub async fn accept(&self, key: &str, event: Value, place: Position) -> Result<(), Unaccepted> {
        {
            let keys = self.keys();
            if keys.contains(key) {
                return Ok(());
            }
            if keys.len() >= MOST {
                return Err(Unaccepted::Full);
            }
        }
        let (key, chat) = (key.to_owned(), place.chat().to_owned());
        // Ordered by position and not by the time of storing: an earlier event may have taken longer to get here.
        let note = Note { order: place.number(), key: key.clone(), chat, event };
        self.shelf.keep(&name_of(&key), serde_json::to_value(&note).unwrap_or_default()).await?;
        // No await from here on: a future that is dropped before has accepted nothing.
        if self.keys().insert(key.clone()) {
            // The channel has room for every known key and those just being removed.
            drop(self.jobs.try_send(Job { key, event: note.event, place }));
        }
        Ok(())
    }

    /// Removes a submitted event.
    async fn forget(&self, key: &str) {
        if let Err(error) = self.shelf.remove(&name_of(key)).await {
            // It will be submitted once more, and deduplicated.
            tracing::warn!(%error, "backlog entry not removed");
        }
        self.keys().remove(key);
    }

    fn keys(&self) -> MutexGuard<'_, HashSet<String>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BacklogTask {
    /// Loads the stored events of this or an earlier process. Must finish before a new event is received, so that the
    /// earlier ones come first.
    pub async fn take_up(&mut self) -> Result<(), StoreError> {
        let notes = self.backlog.shelf.all().await?;
        self.left.clear();
        while self.inbox.try_recv().is_ok() {}
        let read = |(name, note): (String, Value)| {
            let told = |error: &serde_json::Error| tracing::error!(name, %error, "stored event not readable");
            serde_json::from_value(note).inspect_err(told).ok()
        };
        let mut notes: Vec<Note> = notes.into_iter().filter_map(read).collect();
        notes.sort_by_key(|note| note.order);
        *self.backlog.keys() = notes.iter().map(|note| note.key.clone()).collect();
        self.backlog.lines.number_above(notes.last().map_or(0, |note| note.order));
        if !notes.is_empty() {
            tracing::info!(count = notes.len(), "submitting stored events");
        }
        for Note { key, chat, event, .. } in notes {
            let place = self.backlog.enter(&chat, Speed::Slow);
            self.left.push_back(Job { key, event, place });
        }
        Ok(())
    }

    /// Submits accepted events until stopped or dropped. It can be run again.
    pub async fn run(&mut self, finish: Arc<dyn Finish>, stop: CancellationToken) {
        let mut work = JoinSet::new();
        loop {
            let job = match self.left.pop_front() {
                Some(job) => Some(job),
                None => tokio::select! {
                    () = stop.cancelled() => break,
                    Some(_) = work.join_next() => None,
                    job = self.inbox.recv() => job,
                },
            };
            if let Some(job) = job {
                work.spawn(see_through(job, self.backlog.clone(), finish.clone()));
            }
        }
        // Unfinished events are stored.
        work.shutdown().await;
    }
}

async fn see_through(mut job: Job, backlog: Backlog, finish: Arc<dyn Finish>) {
    let mut tries: u32 = 0;
    loop {
        let finished = AssertUnwindSafe(finish.finish(&job.event, &mut job.place)).catch_unwind().await;
        match finished {
            Ok(Finished::Done) => break,
            Ok(Finished::Again(why)) => {
                tries = tries.saturating_add(1);
                tracing::warn!(why, tries, "stored event not submitted, retrying");
                tokio::time::sleep(AGAIN.delay(tries, 0.0)).await;
            }
            Err(_) => {
                // A panic on this event would repeat forever.
                tracing::error!(key = job.key, "stored event dropped after a panic");
                break;
            }
        }
    }
    // The position is released only afterwards: a later message must not count as quick while this one can be
    // redelivered.
    backlog.forget(&job.key).await;
}

/// A name of bounded length for any key.
fn name_of(key: &str) -> String {
    digest(&SHA256, key.as_bytes()).as_ref().iter().take(20).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "backlog_tests.rs"]
mod tests;
