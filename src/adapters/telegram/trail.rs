//! What is being sent to whom, so that a message that was sent without an answer is not sent again.
//!
//! The Bot API has no idempotency keys. This is the next best thing: before a message goes into a private chat, it is
//! noted which one, and the number of the last message that is known of there. A message that got no answer can
//! only stand behind that one, and nothing else of the bot's can: so it is looked for there first. Groups need none of
//! this for their answers, which are put on a message that is known already.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::domain::DeliveryId;
use crate::ports::Notebook;

/// How many chats are kept in memory; the others are on the disk.
const MOST: usize = 4096;

/// How far a chat has come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Track {
    /// The last message of the bot's that is known of.
    last: Option<i64>,
    /// What was sent after it.
    sending: Option<DeliveryId>,
}

/// How far each chat has come.
#[derive(Debug)]
pub(super) struct Trail {
    notes: Arc<dyn Notebook>,
    chats: Mutex<HashMap<i64, Track>>,
}

impl Trail {
    /// What these notes know.
    pub(super) fn new(notes: Arc<dyn Notebook>) -> Self {
        Self { notes, chats: Mutex::default() }
    }

    /// A message is about to be sent.
    pub(super) async fn sets_out(&self, chat: i64, delivery: &DeliveryId) {
        let track = self.track(chat).await;
        self.note(chat, Track { sending: Some(delivery.clone()), ..track }).await;
    }

    /// A message stands in a chat. Were that not written down, a later one could be looked for in its place, and
    /// overwrite it.
    pub(super) async fn arrived(&self, chat: i64, message: i64) {
        let track = self.track(chat).await;
        self.note(chat, Track { last: track.last.max(Some(message)), ..track }).await;
    }

    /// Behind which message this delivery stands, if it was sent at all: `answers` is the one it answers. Nothing
    /// means that it never set out.
    pub(super) async fn behind(&self, chat: i64, delivery: &DeliveryId, answers: Option<i64>) -> Option<i64> {
        let track = self.track(chat).await;
        track.last.max(answers).filter(|_| track.sending.as_ref() == Some(delivery))
    }

    async fn note(&self, chat: i64, track: Track) {
        self.locked(|chats| {
            if chats.len() >= MOST {
                chats.clear();
            }
            chats.insert(chat, track.clone());
        });
        let note = serde_json::to_value(track).unwrap_or_default();
        if let Err(error) = self.notes.put(&name(chat), note).await {
            tracing::debug!(chat, %error, "it could not be noted what was sent");
        }
    }

    async fn track(&self, chat: i64) -> Track {
        if let Some(known) = self.locked(|chats| chats.get(&chat).cloned()) {
            return known;
        }
        let note = self.notes.get(&name(chat)).await.ok().flatten();
        note.and_then(|note| serde_json::from_value(note).ok()).unwrap_or_default()
    }

    fn locked<T>(&self, work: impl FnOnce(&mut HashMap<i64, Track>) -> T) -> T {
        work(&mut self.chats.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn name(chat: i64) -> String {
    format!("sent:{chat}")
}
