//! The message of a thread that is edited while its turn runs. Stored, so that after a crash the answer replaces it and it
//! does not remain as a partial answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::domain::{CorrelationId, DeliveryId, ThreadId};
use crate::ports::{Durability, KeyValueStore, StoreError};

/// How many threads are cached before those without a growing message are dropped.
const MOST: usize = 4096;
/// Most messages of a thread that wait for deletion.
const MOST_LEFT: usize = 16;

/// The message that shows a running turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveMessage {
    pub correlation: CorrelationId,
    /// The platform's id of it; `None` while that is not known.
    #[serde(default, deserialize_with = "id", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the platform shows in the message, where that has an id of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    /// When the card was made, in milliseconds since the epoch.
    #[serde(default)]
    pub made: i64,
    /// The delivery that replaced its text, or an empty text where it stays as it is: from then on nothing else is written
    /// to it.
    #[serde(default, alias = "ended", skip_serializing_if = "Option::is_none")]
    pub done: Option<String>,
}

impl LiveMessage {
    pub const fn new(correlation: CorrelationId, message: String) -> Self {
        Self { correlation, message: Some(message), card: None, made: 0, done: None }
    }
}

/// A message id; earlier versions stored numbers.
pub(super) fn id<'de, D: Deserializer<'de>>(given: D) -> Result<Option<String>, D::Error> {
    Ok(text_of(Value::deserialize(given)?))
}

fn ids<'de, D: Deserializer<'de>>(given: D) -> Result<Vec<String>, D::Error> {
    Ok(Vec::<Value>::deserialize(given)?.into_iter().filter_map(text_of).collect())
}

fn text_of(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The stored state of a thread.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ThreadMessages {
    /// The growing message, or the answer that it became.
    #[serde(flatten)]
    live: Option<LiveMessage>,
    /// Messages whose deletion failed.
    #[serde(default, deserialize_with = "ids", skip_serializing_if = "Vec::is_empty")]
    left: Vec<String>,
}

/// The growing messages of all threads.
#[derive(Debug)]
pub struct LiveMessages {
    notes: Arc<dyn KeyValueStore>,
    /// Before the thread in the name of a note.
    prefix: &'static str,
    known: Mutex<HashMap<ThreadId, ThreadMessages>>,
    /// One write at a time, so that the last write is the current state.
    writing: Semaphore,
}

impl LiveMessages {
    pub fn new(notes: Arc<dyn KeyValueStore>, prefix: &'static str) -> Self {
        Self { notes, prefix, known: Mutex::default(), writing: Semaphore::new(1) }
    }

    /// The message of a thread. The store is read once.
    pub async fn get(&self, thread: &ThreadId) -> Option<LiveMessage> {
        self.messages(thread).await.live
    }

    /// The message that still grows, of this turn or of another one.
    pub async fn growing(&self, thread: &ThreadId) -> Option<LiveMessage> {
        self.get(thread).await.filter(|live| live.done.is_none())
    }

    /// The message of a turn that this delivery may be written to. The same delivery may be written again: a crash can come
    /// before its receipt.
    pub async fn of_delivery(
        &self,
        thread: &ThreadId,
        run: &CorrelationId,
        delivery: &DeliveryId,
    ) -> Option<LiveMessage> {
        let free = |live: &LiveMessage| live.done.as_deref().is_none_or(|done| done == delivery.as_str());
        self.get(thread).await.filter(|live| live.correlation == *run && free(live))
    }

    /// Stores the message of a thread, replacing the one before.
    ///
    /// # Errors
    /// When it cannot be written; in memory it is replaced all the same.
    pub async fn put(
        &self,
        thread: &ThreadId,
        live: LiveMessage,
        durability: Durability,
    ) -> Result<(), StoreError> {
        self.change(thread, durability, |known| known.live = Some(live)).await
    }

    /// Drops a message that is not in the chat any more.
    pub async fn remove(&self, thread: &ThreadId, live: &LiveMessage) {
        let remove = |known: &mut ThreadMessages| {
            known.live = known.live.take().filter(|other| other.message != live.message);
        };
        self.change_in_passing(thread, remove).await;
    }

    /// Records a failed deletion: the message does not grow any more, and is deleted later.
    pub async fn leave(&self, thread: &ThreadId, message: &str) {
        let leave = |known: &mut ThreadMessages| {
            known.live = known.live.take().filter(|live| live.message.as_deref() != Some(message));
            if !known.left.iter().any(|left| left == message) && known.left.len() < MOST_LEFT {
                known.left.push(message.to_owned());
            }
        };
        self.change_in_passing(thread, leave).await;
    }

    /// The messages that wait for deletion.
    pub async fn left(&self, thread: &ThreadId) -> Vec<String> {
        self.messages(thread).await.left
    }

    /// A message was deleted.
    pub async fn gone(&self, thread: &ThreadId, message: &str) {
        self.change_in_passing(thread, |known| known.left.retain(|left| left != message)).await;
    }

    async fn change_in_passing(&self, thread: &ThreadId, change: impl FnOnce(&mut ThreadMessages)) {
        if let Err(error) = self.change(thread, Durability::Written, change).await {
            tracing::debug!(%thread, %error, "growing message not stored");
        }
    }

    async fn change(
        &self,
        thread: &ThreadId,
        durability: Durability,
        change: impl FnOnce(&mut ThreadMessages),
    ) -> Result<(), StoreError> {
        self.messages(thread).await;
        self.locked(|known| change(known.entry(thread.clone()).or_default()));
        let _alone = self.writing.acquire().await;
        let messages = self.locked(|known| known.get(thread).cloned().unwrap_or_default());
        if messages.live.is_none() && messages.left.is_empty() {
            return self.notes.remove(&self.name(thread)).await;
        }
        let note = serde_json::to_value(messages).unwrap_or_default();
        self.notes.put(&self.name(thread), note, durability).await
    }

    async fn messages(&self, thread: &ThreadId) -> ThreadMessages {
        if let Some(known) = self.locked(|known| known.get(thread).cloned()) {
            return known;
        }
        let note = self.notes.get(&self.name(thread)).await.ok().flatten();
        let noted = note.and_then(|note| serde_json::from_value(note).ok()).unwrap_or_default();
        self.locked(|known| {
            if known.len() >= MOST {
                // Dropped entries are in the store.
                known.retain(|_, messages| messages.live.as_ref().is_some_and(|live| live.done.is_none()));
            }
            // A concurrent caller may have inserted it already.
            known.entry(thread.clone()).or_insert(noted).clone()
        })
    }

    fn locked<T>(&self, work: impl FnOnce(&mut HashMap<ThreadId, ThreadMessages>) -> T) -> T {
        work(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn name(&self, thread: &ThreadId) -> String {
        format!("{}{thread}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::FileNotes;

    fn notes(dir: &std::path::Path) -> FileNotes {
        FileNotes::new(dir, &"fake".parse().unwrap())
    }

    /// The messages as the next process finds them.
    fn messages(dir: &std::path::Path) -> LiveMessages {
        LiveMessages::new(Arc::new(notes(dir)), "live:")
    }

    #[tokio::test]
    async fn a_growing_message_and_those_that_have_to_go_are_found_by_the_next_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let thread: ThreadId = "fake:chat:7".parse().unwrap();
        let live = LiveMessage::new("run_1".parse().unwrap(), "5".to_owned());
        messages(dir.path()).put(&thread, live.clone(), Durability::Written).await.unwrap();
        assert_eq!(messages(dir.path()).get(&thread).await, Some(live.clone()));
        messages(dir.path()).leave(&thread, "4").await;
        assert_eq!(messages(dir.path()).growing(&thread).await, Some(live));
        messages(dir.path()).leave(&thread, "5").await;
        assert_eq!(messages(dir.path()).get(&thread).await, None);
        assert_eq!(messages(dir.path()).left(&thread).await, ["4", "5"]);
        for message in ["4", "5"] {
            messages(dir.path()).gone(&thread, message).await;
        }
        assert_eq!(messages(dir.path()).left(&thread).await, Vec::<String>::new());
        assert_eq!(
            notes(dir.path()).get("live:fake:chat:7").await.unwrap(),
            None,
            "nothing is kept about nothing"
        );
    }

    #[tokio::test]
    async fn the_notes_of_earlier_versions_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let (thread, run): (ThreadId, CorrelationId) =
            ("fake:chat:7".parse().unwrap(), "run_1".parse().unwrap());
        for (note, message, card) in [
            (
                json!({ "correlation": "run_1", "message": 5, "done": "run_1#0", "left": [4] }),
                Some("5"),
                None,
            ),
            (
                json!({ "correlation": "run_1", "card": "c", "message": null, "made": 7, "ended": "run_1#0" }),
                None,
                Some("c"),
            ),
        ] {
            notes(dir.path()).put("live:fake:chat:7", note, Durability::Written).await.unwrap();
            let live =
                messages(dir.path()).of_delivery(&thread, &run, &DeliveryId::new("run_1", 0)).await.unwrap();
            assert_eq!((live.message.as_deref(), live.card.as_deref()), (message, card));
            let other = messages(dir.path()).of_delivery(&thread, &run, &DeliveryId::new("run_1", 1)).await;
            assert_eq!(other, None, "it belongs to another delivery");
        }
    }
}
