//! The streamed message of a thread: it is edited while its turn runs. Stored, so that after a crash the answer
//! replaces it and it does not remain as a partial answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::domain::{CorrelationId, DeliveryId, ThreadId};
use crate::ports::{Durability, KeyValueStore};

/// How many threads are cached before those without a streamed message are dropped.
const MOST: usize = 4096;
/// Most messages of a thread that wait for deletion.
const MOST_LEFT: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StreamedMessage {
    pub(super) correlation: CorrelationId,
    pub(super) message: i64,
    /// The delivery that replaced its text; from then on it belongs to that delivery and is not streamed into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) done: Option<DeliveryId>,
}

impl StreamedMessage {
    /// Whether this delivery may be written to it. The same delivery may be written again: a crash can come before its
    /// receipt.
    pub(super) fn takes(&self, delivery: &DeliveryId) -> bool {
        self.done.as_ref().is_none_or(|done| done == delivery)
    }
}

/// The stored state of a thread.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ThreadMessages {
    /// The streamed message, or the answer that it became.
    #[serde(flatten)]
    live: Option<StreamedMessage>,
    /// Messages whose deletion failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left: Vec<i64>,
}

/// The streamed messages of all threads.
#[derive(Debug)]
pub(super) struct StreamedMessages {
    notes: Arc<dyn KeyValueStore>,
    known: Mutex<HashMap<ThreadId, ThreadMessages>>,
    /// One write at a time, so that the last write is the current state.
    writing: Semaphore,
}

impl StreamedMessages {
    pub(super) fn new(notes: Arc<dyn KeyValueStore>) -> Self {
        Self { notes, known: Mutex::default(), writing: Semaphore::new(1) }
    }

    /// The message of a thread. The store is read once.
    pub(super) async fn get(&self, thread: &ThreadId) -> Option<StreamedMessage> {
        self.slot(thread).await.live
    }

    /// Stores the message of a thread, replacing the one before.
    pub(super) async fn put(&self, thread: &ThreadId, live: StreamedMessage) {
        self.slot(thread).await;
        self.note(thread, live);
        self.save(thread).await;
    }

    /// The same in memory only; the caller saves it afterwards.
    pub(super) fn note(&self, thread: &ThreadId, live: StreamedMessage) {
        self.change(thread, |slot| slot.live = Some(live));
    }

    /// Drops the message of a thread.
    pub(super) async fn remove(&self, thread: &ThreadId) {
        self.slot(thread).await;
        self.change(thread, |slot| slot.live = None);
        self.save(thread).await;
    }

    /// Records a failed deletion: the message is not streamed into any more, and deleted later.
    pub(super) async fn leave(&self, thread: &ThreadId, message: i64) {
        self.slot(thread).await;
        self.change(thread, |slot| {
            slot.live = slot.live.take().filter(|live| live.message != message);
            if !slot.left.contains(&message) && slot.left.len() < MOST_LEFT {
                slot.left.push(message);
            }
        });
        self.save(thread).await;
    }

    /// The messages that wait for deletion.
    pub(super) async fn left(&self, thread: &ThreadId) -> Vec<i64> {
        self.slot(thread).await.left
    }

    /// A message was deleted.
    pub(super) async fn gone(&self, thread: &ThreadId, message: i64) {
        self.change(thread, |slot| slot.left.retain(|left| *left != message));
        self.save(thread).await;
    }

    /// Stores the current state.
    pub(super) async fn save(&self, thread: &ThreadId) {
        let _alone = self.writing.acquire().await;
        let slot = self.locked(|known| known.get(thread).cloned().unwrap_or_default());
        let saved = if slot.live.is_none() && slot.left.is_empty() {
            self.notes.remove(&name(thread)).await
        } else {
            {
                let note = serde_json::to_value(slot).unwrap_or_default();
                self.notes.put(&name(thread), note, Durability::Written).await
            }
        };
        if let Err(error) = saved {
            tracing::debug!(%thread, %error, "streamed message not stored");
        }
    }

    async fn slot(&self, thread: &ThreadId) -> ThreadMessages {
        if let Some(known) = self.locked(|known| known.get(thread).cloned()) {
            return known;
        }
        let note = self.notes.get(&name(thread)).await.ok().flatten();
        let noted =
            note.and_then(|note| serde_json::from_value::<ThreadMessages>(note).ok()).unwrap_or_default();
        self.locked(|known| {
            if known.len() >= MOST {
                // Dropped entries are in the store.
                known.retain(|_, slot| slot.live.as_ref().is_some_and(|live| live.done.is_none()));
            }
            // A concurrent caller may have inserted it already.
            known.entry(thread.clone()).or_insert(noted).clone()
        })
    }

    fn change(&self, thread: &ThreadId, change: impl FnOnce(&mut ThreadMessages)) {
        self.locked(|known| change(known.entry(thread.clone()).or_default()));
    }

    fn locked<T>(&self, work: impl FnOnce(&mut HashMap<ThreadId, ThreadMessages>) -> T) -> T {
        work(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn name(thread: &ThreadId) -> String {
    format!("live:{thread}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::FileNotes;

    /// The messages as the next process finds them.
    fn streamed(dir: &std::path::Path) -> StreamedMessages {
        StreamedMessages::new(Arc::new(FileNotes::new(dir, &"telegram".parse().unwrap())))
    }

    #[tokio::test]
    async fn a_growing_message_and_those_that_have_to_go_are_found_by_the_next_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let thread: ThreadId = "telegram:chat:7".parse().unwrap();
        let live = StreamedMessage { correlation: "run_1".parse().unwrap(), message: 5, done: None };
        streamed(dir.path()).put(&thread, live.clone()).await;
        assert_eq!(streamed(dir.path()).get(&thread).await, Some(live.clone()));
        streamed(dir.path()).leave(&thread, 4).await;
        assert_eq!(streamed(dir.path()).get(&thread).await, Some(live));
        streamed(dir.path()).leave(&thread, 5).await;
        assert_eq!(streamed(dir.path()).get(&thread).await, None);
        assert_eq!(streamed(dir.path()).left(&thread).await, [4, 5]);
        for message in [4, 5] {
            let streamed = streamed(dir.path());
            assert!(streamed.left(&thread).await.contains(&message));
            streamed.gone(&thread, message).await;
        }
        assert_eq!(streamed(dir.path()).left(&thread).await, Vec::<i64>::new());
        let kept = FileNotes::new(dir.path(), &"telegram".parse().unwrap());
        assert_eq!(kept.get(&name(&thread)).await.unwrap(), None, "nothing is kept about nothing");
    }
}
