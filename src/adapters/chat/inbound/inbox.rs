//! The durable inbox: accepted events that are not submitted yet, because a file has to be downloaded, a thread cannot be
//! written, or an earlier message of the chat waits.
//!
//! An event is stored before the platform gets its acknowledgement, and stays stored until it is submitted; the next
//! process submits what a process left. Submitting twice is harmless, because the threads dedupe by key.
//!
//! The inbox is bounded, and no chat can fill it: a chat may use as much as is still free, so one alone gets half and two
//! get a third each; the first event of a chat has reserved space.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::albums::Albums;
use super::{ChatQueues, Inbound, Position, Speed};
use crate::adapters::Backoff;
use crate::domain::{Addressed, Said, short_digest};
use crate::ports::{BoxFuture, Durability, KeyValueStore, StoreError};

/// Most stored events, and the part of them that is reserved for the first event of each chat.
const MOST: usize = 1100;
const RESERVED: usize = 100;
/// The back-off between retries of an event.
const AGAIN: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(15),
    stable_after: Duration::ZERO,
};

/// An accepted event, with what was resolved before and after it was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedEvent {
    pub inbound: Inbound,
    #[serde(flatten)]
    pub addressed: Addressed,
    /// The content, once its files are fetched and a step has a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// The steps whose results are in the content, or that failed for good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enriched: Vec<String>,
    /// The keys of the other parts of an album that this event includes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
}

impl QueuedEvent {
    pub const fn new(inbound: Inbound, addressed: Addressed) -> Self {
        Self { inbound, addressed, said: None, enriched: Vec::new(), merged: Vec::new() }
    }
}

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
    fn finish<'a>(
        &'a self,
        event: &'a mut QueuedEvent,
        place: &'a mut Position,
        entry: &'a InboxEntry,
    ) -> BoxFuture<'a, Finished>;
}

/// Why an event was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum Unaccepted {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("too many messages of the chat wait already")]
    Full,
}

/// The stored form of an event.
#[derive(Debug, Serialize, Deserialize)]
struct Stored<E> {
    order: u64,
    key: String,
    chat: String,
    event: E,
}

/// The place of an event in the inbox.
#[derive(Clone, Debug)]
pub struct InboxEntry {
    inbox: Inbox,
    order: u64,
    pub(super) key: String,
    chat: String,
}

impl InboxEntry {
    /// Replaces the stored event durably.
    ///
    /// # Errors
    /// When it cannot be written; the earlier form is still there.
    pub async fn store(&self, event: &QueuedEvent) -> Result<(), StoreError> {
        let stored = Stored { order: self.order, key: self.key.clone(), chat: self.chat.clone(), event };
        let value = serde_json::to_value(stored).unwrap_or_default();
        self.inbox.store.put(&name_of(&self.key), value, Durability::Synced).await
    }
}

/// An accepted event that waits for its submission.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) entry: InboxEntry,
    pub(super) event: QueuedEvent,
    pub(super) place: Position,
}

/// A handle of the inbox. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Inbox {
    store: Arc<dyn KeyValueStore>,
    queues: ChatQueues,
    held: Arc<Mutex<HeldEvents>>,
    jobs: mpsc::Sender<Job>,
}

/// The events by key, and the number of events of each share.
#[derive(Debug, Default)]
struct HeldEvents {
    keys: HashMap<String, HeldKey>,
    shares: HashMap<String, usize>,
}

#[derive(Debug)]
struct HeldKey {
    share: String,
    /// Whether the event is stored, or still being stored.
    stored: bool,
}

impl HeldEvents {
    fn has_room(&self, share: &str) -> bool {
        let (all, own) = (self.keys.len(), self.shares.get(share).copied().unwrap_or_default());
        let free = (MOST - RESERVED).saturating_sub(all);
        all < MOST && (own == 0 || own < free)
    }

    /// Reserves space for an event.
    fn reserve(&mut self, key: &str, chat: &str) {
        let share = share_of(chat).to_owned();
        *self.shares.entry(share.clone()).or_default() += 1;
        self.keys.insert(key.to_owned(), HeldKey { share, stored: false });
    }

    /// Marks an event as stored; false where it was already.
    fn mark_stored(&mut self, key: &str, chat: &str) -> bool {
        if !self.keys.contains_key(key) {
            self.reserve(key, chat);
        }
        self.keys.get_mut(key).is_some_and(|held| !std::mem::replace(&mut held.stored, true))
    }

    fn remove(&mut self, key: &str) {
        let Some(HeldKey { share, .. }) = self.keys.remove(key) else { return };
        if let Some(count) = self.shares.get_mut(&share) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.shares.remove(&share);
            }
        }
    }
}

/// Events that wait for no other have queues of their own and share one share.
const ALONE: &str = "alone ";

/// The queue of an event that waits for no other.
pub(super) fn alone(key: &str) -> String {
    format!("{ALONE}{key}")
}

fn share_of(chat: &str) -> &str {
    if chat.starts_with(ALONE) { ALONE } else { chat }
}

/// The inbox's task, to be run by its owner.
#[derive(Debug)]
pub struct InboxTask {
    inbox: Inbox,
    jobs: mpsc::Receiver<Job>,
    left: VecDeque<Job>,
}

impl Inbox {
    /// An inbox in a nested store of this name, and the task to run.
    pub fn new(notes: &dyn KeyValueStore, name: &str) -> (Self, InboxTask) {
        let (sender, jobs) = mpsc::channel(2 * MOST);
        let (queues, held) = (ChatQueues::default(), Arc::default());
        let inbox = Self { store: notes.nested(name), queues, held, jobs: sender };
        (inbox.clone(), InboxTask { inbox, jobs, left: VecDeque::new() })
    }

    /// The order of the chats, which those share that store nothing.
    pub(super) fn queues(&self) -> ChatQueues {
        self.queues.clone()
    }

    /// Takes the next position in the queue of a chat.
    pub fn enter(&self, chat: &str, speed: Speed) -> Position {
        self.queues.enter(chat, speed)
    }

    /// Accepts an event under its unique key: afterwards it will be submitted in order, also after a crash. The same key
    /// means the same event.
    ///
    /// # Errors
    /// When it is not stored; the position comes back.
    pub async fn accept(&self, event: QueuedEvent, place: Position) -> Result<(), (Unaccepted, Position)> {
        let key = event.inbound.key().to_owned();
        let mut reservation = ReservedSpace { inbox: self, key: None };
        {
            let mut held = self.held();
            match held.keys.get(&key).map(|held| held.stored) {
                Some(true) => return Ok(()),
                // Another redelivery is being stored.
                Some(false) => {}
                None if !held.has_room(share_of(place.chat())) => return Err((Unaccepted::Full, place)),
                None => {
                    held.reserve(&key, place.chat());
                    reservation.key = Some(key.clone());
                }
            }
        }
        // Ordered by position and not by the time of storing: an earlier event may have taken longer to get here.
        let (order, chat) = (place.number(), place.chat().to_owned());
        let entry = InboxEntry { inbox: self.clone(), order, key, chat };
        if let Err(error) = entry.store(&event).await {
            return Err((error.into(), place));
        }
        // No await from here on: a future that is dropped before has accepted nothing.
        reservation.key = None;
        place.stored();
        if self.held().mark_stored(&entry.key, &entry.chat) {
            // The channel has room for every known key and those just being removed.
            drop(self.jobs.try_send(Job { entry, event, place }));
        }
        Ok(())
    }

    /// Removes a submitted event.
    async fn forget(&self, key: &str) {
        if let Err(error) = self.store.remove(&name_of(key)).await {
            // It will be submitted once more, and deduplicated.
            tracing::warn!(%error, "inbox entry not removed");
        }
        self.held().remove(key);
    }

    /// Removes an entry of an earlier version.
    pub(super) async fn forget_name(&self, name: &str) -> Result<(), StoreError> {
        self.store.remove(name).await
    }

    fn held(&self) -> MutexGuard<'_, HeldEvents> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The space of an event while it is being stored.
struct ReservedSpace<'a> {
    inbox: &'a Inbox,
    key: Option<String>,
}

impl Drop for ReservedSpace<'_> {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.inbox.held().remove(key);
        }
    }
}

impl InboxTask {
    /// Loads the stored events of this or an earlier process; `convert` parses those of an earlier version. Returns the
    /// entries that are no events of an inbox, by name, oldest first. Must finish before a new event is received, so
    /// that the earlier ones come first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn take_up(
        &mut self,
        convert: impl Fn(&Value) -> Option<QueuedEvent>,
    ) -> Result<Vec<(String, Value)>, StoreError> {
        let entries = self.inbox.store.all().await?;
        self.left.clear();
        while self.jobs.try_recv().is_ok() {}
        let (mut events, mut others) = (Vec::new(), Vec::new());
        for (name, value) in entries {
            let Ok(stored) = Stored::<Value>::deserialize(&value) else {
                others.push((name, value));
                continue;
            };
            let event = QueuedEvent::deserialize(&stored.event).ok().or_else(|| convert(&stored.event));
            match event {
                Some(event) => events.push((stored, event)),
                None => tracing::error!(name, "stored event not readable"),
            }
        }
        events.sort_by_key(|(stored, _)| stored.order);
        others.sort_by_key(|(name, _)| name.parse::<u64>().unwrap_or(u64::MAX));
        self.inbox.queues.number_above(events.last().map_or(0, |(stored, _)| stored.order));
        *self.inbox.held() = HeldEvents::default();
        if !events.is_empty() {
            tracing::info!(count = events.len(), "submitting stored events");
        }
        for (Stored { order, key, chat, .. }, event) in events {
            self.inbox.held().mark_stored(&key, &chat);
            let place = self.inbox.enter(&chat, Speed::Slow);
            place.stored();
            let entry = InboxEntry { inbox: self.inbox.clone(), order, key, chat };
            self.left.push_back(Job { entry, event, place });
        }
        Ok(others)
    }

    /// Submits accepted events until stopped or dropped. It can be run again.
    pub async fn run(&mut self, finish: Arc<dyn Finish>, stop: CancellationToken) {
        let (mut work, mut albums) = (JoinSet::new(), Albums::default());
        loop {
            let job = match self.left.pop_front() {
                Some(job) => Some(job),
                None => tokio::select! {
                    () = stop.cancelled() => break,
                    Some(_) = work.join_next() => None,
                    job = self.jobs.recv() => job,
                    () = albums.next_due() => None,
                },
            };
            let now = Instant::now();
            for (job, parts) in albums.put(job, now) {
                work.spawn(submit_until_done(job, parts, finish.clone()));
            }
        }
        // Unfinished events are stored.
        work.shutdown().await;
    }
}

/// Submits an event. `parts` are the keys of the other events that it includes.
async fn submit_until_done(mut job: Job, parts: Vec<String>, finish: Arc<dyn Finish>) {
    let mut tries: u32 = 0;
    loop {
        let finishing = finish.finish(&mut job.event, &mut job.place, &job.entry);
        match AssertUnwindSafe(finishing).catch_unwind().await {
            Ok(Finished::Done) => break,
            Ok(Finished::Again(why)) => {
                tries = tries.saturating_add(1);
                tracing::warn!(why, tries, "stored event not submitted, retrying");
                tokio::time::sleep(AGAIN.delay(tries, 0.0)).await;
            }
            Err(_) => {
                // A panic on this event would repeat forever.
                tracing::error!(key = job.entry.key, "stored event dropped after a panic");
                break;
            }
        }
    }
    // The position is released only afterwards: a later message must not count as quick while this one can be
    // redelivered.
    for key in parts {
        job.entry.inbox.forget(&key).await;
    }
    job.entry.inbox.forget(&job.entry.key).await;
}

/// A name of bounded length for any key.
fn name_of(key: &str) -> String {
    short_digest(key.as_bytes(), 20)
}

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod tests;
