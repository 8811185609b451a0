//! The one message of a thread that grows while its turn runs. Noted on the disk, so that after a crash the answer is
//! put on it and it does not stay behind as half an answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::domain::{CorrelationId, DeliveryId, ThreadId};
use crate::ports::KeyValueStore;

/// How many threads are remembered before those without such a message are let go.
const MOST: usize = 4096;
/// How many messages of a thread are remembered that have to be taken away.
const MOST_LEFT: usize = 16;

/// A message that grows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Live {
    /// The turn it belongs to.
    pub(super) correlation: CorrelationId,
    /// Its number in the chat.
    pub(super) message: i64,
    /// The delivery that was put on it; from then on it is that delivery's and does not grow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) done: Option<DeliveryId>,
}

impl Live {
    /// Whether this delivery may be put on it. The same delivery may be again: a crash can come before its receipt.
    pub(super) fn takes(&self, delivery: &DeliveryId) -> bool {
        self.done.as_ref().is_none_or(|done| done == delivery)
    }
}

/// What is noted of a thread.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Slot {
    /// The message that grows, or has grown into an answer.
    #[serde(flatten)]
    live: Option<Live>,
    /// Messages that could not be taken away when they should have been.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left: Vec<i64>,
}

/// The growing messages of all threads.
#[derive(Debug)]
pub(super) struct Lives {
    notes: Arc<dyn KeyValueStore>,
    known: Mutex<HashMap<ThreadId, Slot>>,
    /// One writes at a time: what is written last is what is so.
    writing: Semaphore,
}

impl Lives {
    /// What these notes know.
    pub(super) fn new(notes: Arc<dyn KeyValueStore>) -> Self {
        Self { notes, known: Mutex::default(), writing: Semaphore::new(1) }
    }

    /// The message of a thread. The disk is asked once.
    pub(super) async fn get(&self, thread: &ThreadId) -> Option<Live> {
        self.slot(thread).await.live
    }

    /// Notes the message of a thread in the place of the one before.
    pub(super) async fn put(&self, thread: &ThreadId, live: Live) {
        self.slot(thread).await;
        self.note(thread, live);
        self.save(thread).await;
    }

    /// The same in memory alone, for whoever saves it at once.
    pub(super) fn note(&self, thread: &ThreadId, live: Live) {
        self.change(thread, |slot| slot.live = Some(live));
    }

    /// Forgets the message of a thread.
    pub(super) async fn remove(&self, thread: &ThreadId) {
        self.slot(thread).await;
        self.change(thread, |slot| slot.live = None);
        self.save(thread).await;
    }

    /// A message should be gone and is not: it grows no more, and is taken away later.
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

    /// What has to be taken away still.
    pub(super) async fn left(&self, thread: &ThreadId) -> Vec<i64> {
        self.slot(thread).await.left
    }

    /// What had to be taken away is gone.
    pub(super) async fn gone(&self, thread: &ThreadId, message: i64) {
        self.change(thread, |slot| slot.left.retain(|left| *left != message));
        self.save(thread).await;
    }

    /// Writes down what is so now.
    pub(super) async fn save(&self, thread: &ThreadId) {
        let _alone = self.writing.acquire().await;
        let slot = self.locked(|known| known.get(thread).cloned().unwrap_or_default());
        let saved = if slot.live.is_none() && slot.left.is_empty() {
            self.notes.remove(&name(thread)).await
        } else {
            self.notes.put(&name(thread), serde_json::to_value(slot).unwrap_or_default()).await
        };
        if let Err(error) = saved {
            tracing::debug!(%thread, %error, "a growing message could not be noted");
        }
    }

    async fn slot(&self, thread: &ThreadId) -> Slot {
        if let Some(known) = self.locked(|known| known.get(thread).cloned()) {
            return known;
        }
        let note = self.notes.get(&name(thread)).await.ok().flatten();
        let noted = note.and_then(|note| serde_json::from_value::<Slot>(note).ok()).unwrap_or_default();
        self.locked(|known| {
            if known.len() >= MOST {
                // What is let go is on the disk.
                known.retain(|_, slot| slot.live.as_ref().is_some_and(|live| live.done.is_none()));
            }
            // Whoever was quicker has put it there already.
            known.entry(thread.clone()).or_insert(noted).clone()
        })
    }

    fn change(&self, thread: &ThreadId, change: impl FnOnce(&mut Slot)) {
        self.locked(|known| change(known.entry(thread.clone()).or_default()));
    }

    fn locked<T>(&self, work: impl FnOnce(&mut HashMap<ThreadId, Slot>) -> T) -> T {
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

    /// The messages as the next daemon finds them.
    fn lives(dir: &std::path::Path) -> Lives {
        Lives::new(Arc::new(FileNotes::new(dir, &"telegram".parse().unwrap())))
    }

    #[tokio::test]
    async fn a_growing_message_and_those_that_have_to_go_are_found_by_the_next_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let thread: ThreadId = "telegram:chat:7".parse().unwrap();
        let live = Live { correlation: "run_1".parse().unwrap(), message: 5, done: None };
        lives(dir.path()).put(&thread, live.clone()).await;
        assert_eq!(lives(dir.path()).get(&thread).await, Some(live.clone()));
        lives(dir.path()).leave(&thread, 4).await;
        assert_eq!(lives(dir.path()).get(&thread).await, Some(live));
        lives(dir.path()).leave(&thread, 5).await;
        assert_eq!(lives(dir.path()).get(&thread).await, None);
        assert_eq!(lives(dir.path()).left(&thread).await, [4, 5]);
        for message in [4, 5] {
            let lives = lives(dir.path());
            assert!(lives.left(&thread).await.contains(&message));
            lives.gone(&thread, message).await;
        }
        assert_eq!(lives(dir.path()).left(&thread).await, Vec::<i64>::new());
        let kept = FileNotes::new(dir.path(), &"telegram".parse().unwrap());
        assert_eq!(kept.get(&name(&thread)).await.unwrap(), None, "nothing is kept about nothing");
    }
}
