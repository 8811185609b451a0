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
    /// The last delivery that set out.
    sending: Option<Sending>,
}

/// A delivery that set out.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sending {
    delivery: DeliveryId,
    /// The last message that was known of when it did.
    behind: Option<i64>,
    /// What it has become, once the server has answered.
    message: Option<i64>,
}

/// What is known of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trace {
    /// It never set out.
    None,
    /// It is this message.
    Is(i64),
    /// It may stand behind this message.
    Behind(i64),
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
        let change = |track: &mut Track| {
            let sending = Sending { delivery: delivery.clone(), behind: track.last, message: None };
            track.sending = Some(sending);
        };
        self.change(chat, change).await;
    }

    /// A message stands in a chat. Were that not written down, a later one could be looked for in its place, and
    /// overwrite it.
    pub(super) async fn arrived(&self, chat: i64, message: i64, delivery: Option<&DeliveryId>) {
        let change = |track: &mut Track| {
            track.last = track.last.max(Some(message));
            let sending = track.sending.as_mut();
            if let Some(sending) = sending.filter(|sending| Some(&sending.delivery) == delivery) {
                sending.message = Some(message);
            }
        };
        self.change(chat, change).await;
    }

    /// What is known of a delivery; `answers` is the message it answers.
    pub(super) async fn trace(&self, chat: i64, delivery: &DeliveryId, answers: Option<i64>) -> Trace {
        let track = self.track(chat).await;
        match track.sending.filter(|sending| sending.delivery == *delivery) {
            Some(Sending { message: Some(message), .. }) => Trace::Is(message),
            Some(Sending { behind, .. }) => behind.max(answers).map_or(Trace::None, Trace::Behind),
            None => Trace::None,
        }
    }

    async fn change(&self, chat: i64, change: impl FnOnce(&mut Track)) {
        let noted = self.track(chat).await;
        let track = self.locked(|chats| {
            if chats.len() >= MOST {
                chats.clear();
            }
            // Whoever was quicker has put it there already.
            let track = chats.entry(chat).or_insert(noted);
            change(track);
            track.clone()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::FileNotes;

    const CHAT: i64 = 7;

    /// The trail as the next daemon finds it.
    fn trail(dir: &std::path::Path) -> Trail {
        Trail::new(Arc::new(FileNotes::new(dir, &"telegram".parse().unwrap())))
    }

    #[tokio::test]
    async fn a_delivery_is_found_by_where_it_must_stand_or_by_what_it_became() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (DeliveryId::new("a", 0), DeliveryId::new("b", 0));
        assert_eq!(trail(dir.path()).trace(CHAT, &first, Some(3)).await, Trace::None);
        trail(dir.path()).sets_out(CHAT, &first).await;
        assert_eq!(trail(dir.path()).trace(CHAT, &first, Some(3)).await, Trace::Behind(3));
        assert_eq!(trail(dir.path()).trace(CHAT, &first, None).await, Trace::None, "nobody knows where");
        trail(dir.path()).arrived(CHAT, 4, Some(&first)).await;
        assert_eq!(trail(dir.path()).trace(CHAT, &first, Some(3)).await, Trace::Is(4));
        trail(dir.path()).arrived(CHAT, 5, None).await;
        trail(dir.path()).sets_out(CHAT, &second).await;
        assert_eq!(trail(dir.path()).trace(CHAT, &second, Some(3)).await, Trace::Behind(5));
        assert_eq!(trail(dir.path()).trace(CHAT, &first, Some(3)).await, Trace::None);
    }
}
