//! What was accepted and takes a while before it can be handed in: a message whose files have to be fetched, and those
//! that were said behind it.
//!
//! Each is on the disk before the platform is told that it was received, and stays there until it is handed in; what
//! a process leaves, the next one takes up. Taking up twice does no harm, for the threads know what they have.

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

/// The shelf of the adapter's notebook that they are on.
const SHELF: &str = "inbox";
/// How many there may be at once; the platform has to bring what comes beyond that again.
const MOST: usize = 4096;
/// How long something that could not be handed in is left alone.
const AGAIN: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(15),
    stable_after: Duration::ZERO,
};

/// What became of something that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// It is handed in, or there is nothing to be handed in.
    Done,
    /// It could not be, and has to be tried again.
    Again(String),
}

/// Makes what was accepted ready, waits for its place and hands it in.
pub trait Finish: Send + Sync + 'static {
    /// Does so. May be called again for the same, also by another process.
    fn finish<'a>(&'a self, event: &'a Value, place: &'a mut Position) -> BoxFuture<'a, Finished>;
}

/// Why something was not accepted. The platform must not be told that it was received.
#[derive(Debug, thiserror::Error)]
pub enum Unaccepted {
    /// The disk did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Too much waits already.
    #[error("{MOST} messages wait already")]
    Full,
}

/// What is on the disk.
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

/// The way into the backlog. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Backlog {
    shelf: Arc<dyn KeyValueStore>,
    lines: ChatQueues,
    /// What is on the disk and on its way.
    keys: Arc<Mutex<HashSet<String>>>,
    jobs: mpsc::Sender<Job>,
}

/// The backlog itself, to be run by whoever owns it.
#[derive(Debug)]
pub struct BacklogTask {
    backlog: Backlog,
    inbox: mpsc::Receiver<Job>,
    left: VecDeque<Job>,
}

impl Backlog {
    /// A backlog on a shelf of these notes, and the task that must be run for it.
    pub fn new(notes: &dyn KeyValueStore) -> (Self, BacklogTask) {
        let (jobs, inbox) = mpsc::channel(2 * MOST);
        let (lines, keys) = (ChatQueues::default(), Arc::default());
        let backlog = Self { shelf: notes.shelf(SHELF), lines, keys, jobs };
        (backlog.clone(), BacklogTask { backlog, inbox, left: VecDeque::new() })
    }

    /// Takes the next place in the line of a chat.
    pub fn enter(&self, chat: &str, speed: Speed) -> Position {
        self.lines.enter(chat, speed)
    }

    /// Accepts an event under a key of its own: once this is through, it will be handed in at its place, whatever
    /// dies. The same key again is the same event.
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
        // By its place and not by when it was written down: one that came earlier may have taken longer to get here.
        let note = Note { order: place.number(), key: key.clone(), chat, event };
        self.shelf.keep(&name_of(&key), serde_json::to_value(&note).unwrap_or_default()).await?;
        // From here to the end nothing waits: who is dropped before has accepted nothing.
        if self.keys().insert(key.clone()) {
            // There is room for all that may be known, and those who are just leaving.
            drop(self.jobs.try_send(Job { key, event: note.event, place }));
        }
        Ok(())
    }

    /// It is handed in.
    async fn forget(&self, key: &str) {
        if let Err(error) = self.shelf.remove(&name_of(key)).await {
            // It will be handed in once more, and recognised.
            tracing::warn!(%error, "what was handed in could not be taken off the backlog");
        }
        self.keys().remove(key);
    }

    fn keys(&self) -> MutexGuard<'_, HashSet<String>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BacklogTask {
    /// Takes up what was left, here or by a process that died. Must be through before anything new is heard, so
    /// that what was said earlier stands first in line.
    pub async fn take_up(&mut self) -> Result<(), StoreError> {
        let notes = self.backlog.shelf.all().await?;
        self.left.clear();
        while self.inbox.try_recv().is_ok() {}
        let read = |(name, note): (String, Value)| {
            let told = |error: &serde_json::Error| tracing::error!(name, %error, "an accepted message makes no sense");
            serde_json::from_value(note).inspect_err(told).ok()
        };
        let mut notes: Vec<Note> = notes.into_iter().filter_map(read).collect();
        notes.sort_by_key(|note| note.order);
        *self.backlog.keys() = notes.iter().map(|note| note.key.clone()).collect();
        self.backlog.lines.number_above(notes.last().map_or(0, |note| note.order));
        if !notes.is_empty() {
            tracing::info!(count = notes.len(), "messages that were accepted earlier are handed in now");
        }
        for Note { key, chat, event, .. } in notes {
            let place = self.backlog.enter(&chat, Speed::Slow);
            self.left.push_back(Job { key, event, place });
        }
        Ok(())
    }

    /// Hands in what was accepted until told to stop, or until this is dropped. It can be run again.
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
        // What is not through is on the disk.
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
                tracing::warn!(why, tries, "what was accepted could not be handed in and is tried again");
                tokio::time::sleep(AGAIN.delay(tries, 0.0)).await;
            }
            Err(_) => {
                // What breaks on it would break on it forever.
                tracing::error!(key = job.key, "what was accepted cannot be handed in and is passed over");
                break;
            }
        }
    }
    // It leaves the line only then: what comes behind must not be told to be quick while this can still come again.
    backlog.forget(&job.key).await;
}

/// A name of bounded length, whatever the key.
fn name_of(key: &str) -> String {
    digest(&SHA256, key.as_bytes()).as_ref().iter().take(20).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "backlog_tests.rs"]
mod tests;
