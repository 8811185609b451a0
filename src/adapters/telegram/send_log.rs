//! Records the sends of each chat, so that a message whose send got no response is not sent twice.
//!
//! The Bot API has no idempotency keys. Instead, before a message is sent, its delivery id and the last known message
//! id of the chat are stored. In a direct chat a message without a response can only come after that one, so it is
//! searched there first. A group has too many other messages for that; but the record shows that the message may exist.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::chat_target::ChatTarget;
use crate::domain::DeliveryId;
use crate::ports::KeyValueStore;

/// Most cached chats; the others are in the store.
const MOST: usize = 4096;
/// Most other messages of the bot that are recorded while one is being sent.
const MOST_OTHERS: usize = 32;

/// The record of a chat.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Track {
    /// The last known message of the bot.
    last: Option<i64>,
    /// The last started delivery.
    sending: Option<Sending>,
}

/// A started delivery.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sending {
    delivery: DeliveryId,
    /// The last known message when it started.
    behind: Option<i64>,
    /// Its message id, once the server has responded.
    message: Option<i64>,
    /// Messages that are known to be others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<i64>,
}

/// The known status of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SendStatus {
    /// Never started.
    None,
    /// Sent as this message.
    Is(i64),
    /// Started; if it was sent, it is after this message. The listed messages are others.
    Behind(i64, Vec<i64>),
    /// Started, with an unknown position.
    Somewhere,
}

/// The records of all chats.
#[derive(Debug)]
pub(super) struct SendLog {
    notes: Arc<dyn KeyValueStore>,
    places: Mutex<HashMap<ChatTarget, Track>>,
    /// The permit of a chat: its holder may send there.
    turns: Mutex<HashMap<ChatTarget, Arc<Semaphore>>>,
}

impl SendLog {
    pub(super) fn new(notes: Arc<dyn KeyValueStore>) -> Self {
        Self { notes, places: Mutex::default(), turns: Mutex::default() }
    }

    /// Waits until no other send of a chat is in progress. None starts while the permit is held.
    pub(super) async fn alone(&self, place: ChatTarget) -> Option<OwnedSemaphorePermit> {
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            if turns.len() >= MOST {
                turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            }
            turns.entry(place).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
        };
        turn.acquire_owned().await.ok()
    }

    /// Records the start of a send.
    pub(super) async fn sets_out(&self, place: ChatTarget, delivery: &DeliveryId) {
        let change = |track: &mut Track| {
            let sending =
                Sending { delivery: delivery.clone(), behind: track.last, message: None, others: Vec::new() };
            track.sending = Some(sending);
        };
        self.change(place, change).await;
    }

    /// Records a message of a chat. Without the record a later search could mistake this message for a lost one and
    /// overwrite it.
    pub(super) async fn arrived(&self, place: ChatTarget, message: i64, delivery: Option<&DeliveryId>) {
        let change = |track: &mut Track| {
            track.last = track.last.max(Some(message));
            match &mut track.sending {
                Some(sending) if Some(&sending.delivery) == delivery => sending.message = Some(message),
                Some(sending) if sending.message.is_none() && sending.others.len() < MOST_OTHERS => {
                    sending.others.push(message);
                }
                _ => {}
            }
        };
        self.change(place, change).await;
    }

    /// Records that a send certainly failed.
    pub(super) async fn called_off(&self, place: ChatTarget, delivery: &DeliveryId) {
        let change = |track: &mut Track| {
            track.sending = track.sending.take().filter(|sending| sending.delivery != *delivery);
        };
        self.change(place, change).await;
    }

    /// The status of a delivery; `answers` is the message that it replies to.
    pub(super) async fn trace(
        &self,
        place: ChatTarget,
        delivery: &DeliveryId,
        answers: Option<i64>,
    ) -> SendStatus {
        let track = self.track(place).await;
        match track.sending.filter(|sending| sending.delivery == *delivery) {
            Some(Sending { message: Some(message), .. }) => SendStatus::Is(message),
            Some(Sending { behind, others, .. }) => {
                behind.max(answers).map_or(SendStatus::Somewhere, |behind| SendStatus::Behind(behind, others))
            }
            None => SendStatus::None,
        }
    }

    async fn change(&self, place: ChatTarget, change: impl FnOnce(&mut Track)) {
        let noted = self.track(place).await;
        let track = self.locked(|places| {
            if places.len() >= MOST {
                places.clear();
            }
            // A concurrent caller may have inserted it already.
            let track = places.entry(place).or_insert(noted);
            change(track);
            track.clone()
        });
        let note = serde_json::to_value(track).unwrap_or_default();
        if let Err(error) = self.notes.put(&name(place), note).await {
            tracing::debug!(chat = place.chat, %error, "send record not stored");
        }
    }

    async fn track(&self, place: ChatTarget) -> Track {
        if let Some(known) = self.locked(|places| places.get(&place).cloned()) {
            return known;
        }
        let note = self.notes.get(&name(place)).await.ok().flatten();
        note.and_then(|note| serde_json::from_value(note).ok()).unwrap_or_default()
    }

    fn locked<T>(&self, work: impl FnOnce(&mut HashMap<ChatTarget, Track>) -> T) -> T {
        work(&mut self.places.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn name(place: ChatTarget) -> String {
    match place.topic {
        Some(topic) => format!("sent:{}:{topic}", place.chat),
        None => format!("sent:{}", place.chat),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::FileNotes;

    const CHAT: ChatTarget = ChatTarget { chat: 7, topic: None };

    /// The log as the next process finds it.
    fn trail(dir: &std::path::Path) -> SendLog {
        SendLog::new(Arc::new(FileNotes::new(dir, &"telegram".parse().unwrap())))
    }

    #[tokio::test]
    async fn a_delivery_is_found_by_where_it_must_stand_or_by_what_it_became() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (DeliveryId::new("a", 0), DeliveryId::new("b", 0));
        assert_eq!(trail(dir.path()).trace(CHAT, &first, Some(3)).await, SendStatus::None);
        trail(dir.path()).sets_out(CHAT, &first).await;
        assert_eq!(trail(dir.path()).trace(CHAT, &first, Some(3)).await, SendStatus::Behind(3, vec![]));
        assert_eq!(trail(dir.path()).trace(CHAT, &first, None).await, SendStatus::Somewhere);
        trail(dir.path()).arrived(CHAT, 4, Some(&first)).await;
        assert_eq!(trail(dir.path()).trace(CHAT, &first, Some(3)).await, SendStatus::Is(4));
        trail(dir.path()).arrived(CHAT, 5, None).await;
        trail(dir.path()).sets_out(CHAT, &second).await;
        trail(dir.path()).arrived(CHAT, 6, None).await;
        assert_eq!(trail(dir.path()).trace(CHAT, &second, Some(3)).await, SendStatus::Behind(5, vec![6]));
        assert_eq!(trail(dir.path()).trace(CHAT, &first, Some(3)).await, SendStatus::None);
        trail(dir.path()).called_off(CHAT, &first).await;
        assert_eq!(trail(dir.path()).trace(CHAT, &second, Some(3)).await, SendStatus::Behind(5, vec![6]));
        trail(dir.path()).called_off(CHAT, &second).await;
        assert_eq!(trail(dir.path()).trace(CHAT, &second, Some(3)).await, SendStatus::None);
        let topic = ChatTarget { topic: Some(9), ..CHAT };
        trail(dir.path()).sets_out(topic, &second).await;
        assert_eq!(trail(dir.path()).trace(CHAT, &second, Some(3)).await, SendStatus::None);
    }

    #[tokio::test]
    async fn whoever_puts_something_into_a_place_does_so_alone_however_many_places_there_are() {
        let dir = tempfile::tempdir().unwrap();
        let trail = trail(dir.path());
        let turn = trail.alone(CHAT).await;
        assert!(turn.is_some());
        let mut second = std::pin::pin!(trail.alone(CHAT));
        assert!(futures_util::poll!(&mut second).is_pending());
        // More chats than are cached: idle ones are dropped, and this one is not.
        for chat in 100..100 + i64::try_from(MOST).unwrap() + 10 {
            let others = trail.alone(ChatTarget { chat, topic: None });
            let turn = tokio::time::timeout(std::time::Duration::from_secs(5), others).await;
            assert!(turn.is_ok(), "{chat}");
        }
        tokio::task::yield_now().await;
        assert!(trail.turns.lock().unwrap().len() <= MOST);
        let topic = ChatTarget { topic: Some(9), ..CHAT };
        assert!(futures_util::poll!(std::pin::pin!(trail.alone(topic))).is_ready());
        assert!(futures_util::poll!(&mut second).is_pending());
        let mut third = std::pin::pin!(trail.alone(CHAT));
        assert!(futures_util::poll!(&mut third).is_pending());
        drop(turn);
        let turn = second.await;
        assert!(turn.is_some() && futures_util::poll!(&mut third).is_pending(), "one after the other");
        drop(turn);
        assert!(third.await.is_some());
    }
}
