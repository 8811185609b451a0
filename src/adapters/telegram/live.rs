//! The one message of a thread that grows while its turn runs. Noted on the disk, so that after a crash the answer is
//! put on it and it does not stay behind as half an answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::domain::{CorrelationId, DeliveryId, ThreadId};
use crate::ports::Notebook;

/// How many threads are remembered before those without such a message are let go.
const MOST: usize = 4096;

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

/// The growing messages of all threads.
#[derive(Debug)]
pub(super) struct Lives {
    notes: Arc<dyn Notebook>,
    known: Mutex<HashMap<ThreadId, Option<Live>>>,
}

impl Lives {
    /// What these notes know.
    pub(super) fn new(notes: Arc<dyn Notebook>) -> Self {
        Self { notes, known: Mutex::default() }
    }

    /// The message of a thread. The disk is asked once.
    pub(super) async fn get(&self, thread: &ThreadId) -> Option<Live> {
        if let Some(known) = self.locked(|known| known.get(thread).cloned()) {
            return known;
        }
        let note = self.notes.get(&name(thread)).await.ok().flatten();
        let live = note.and_then(|note| serde_json::from_value::<Live>(note).ok());
        self.remember(thread, live.clone());
        live
    }

    /// Notes the message of a thread in the place of the one before.
    pub(super) async fn put(&self, thread: &ThreadId, live: Live) {
        self.remember(thread, Some(live.clone()));
        let note = serde_json::to_value(live).unwrap_or_default();
        if let Err(error) = self.notes.put(&name(thread), note).await {
            tracing::debug!(%thread, %error, "a growing message could not be noted");
        }
    }

    /// Forgets the message of a thread.
    pub(super) async fn remove(&self, thread: &ThreadId) {
        self.remember(thread, None);
        if let Err(error) = self.notes.remove(&name(thread)).await {
            tracing::debug!(%thread, %error, "a growing message could not be forgotten");
        }
    }

    fn remember(&self, thread: &ThreadId, live: Option<Live>) {
        self.locked(|known| {
            if known.len() >= MOST {
                // What is let go is on the disk.
                known.retain(|_, live| live.as_ref().is_some_and(|live| live.done.is_none()));
            }
            known.insert(thread.clone(), live);
        });
    }

    fn locked<T>(&self, work: impl FnOnce(&mut HashMap<ThreadId, Option<Live>>) -> T) -> T {
        work(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn name(thread: &ThreadId) -> String {
    format!("live:{thread}")
}
