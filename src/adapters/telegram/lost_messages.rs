//! What can be learned of a server by changing messages: whether it can at all, and whether one that set out is there.

use std::sync::atomic::Ordering;

use serde_json::Value;

use super::api::{ApiError, CALL};
use super::change::Change;
use super::chat_target::ChatTarget;
use super::classify::{Obstacle, is_absent, is_final, obstacle};
use super::client::{BRIEFLY, BROKEN_TRIES, Client, DeliveryAttempt, number};
use super::limits::Weight;
use super::outgoing_message::{OutgoingMessage, SendPlan};

/// How many messages are looked at for one that was sent without an answer.
const LOOKED_AT: i64 = 8;
/// No chat has come so far: the number of a message that cannot be there.
const NOBODYS: i64 = 0x7fff_fff0;

impl Client {
    /// Whether a message that is put here now can be changed later, for certain. A server that knows nothing of that, or
    /// says yes to whatever it hears, is found out once, by a message that nobody has written.
    pub(super) async fn surely_edits(&self, place: ChatTarget, letter: &OutgoingMessage) -> bool {
        if !self.can_edit() || self.proved.load(Ordering::Relaxed) {
            return self.can_edit();
        }
        if self.turn(place, Weight::May).await.is_err() {
            return false;
        }
        let change = SendPlan::of(place, letter).change(NOBODYS, letter);
        let proved = match self.api.ask::<Value>("editMessageText", &change, BRIEFLY).await {
            Err(error) if is_absent(&error) => true,
            // It keeps whatever it is told, and tells it again.
            Ok(message) if number(&message) == Some(NOBODYS) => true,
            Ok(_) => {
                tracing::info!("the server changes messages that are not there: it is not believed");
                self.edits.mark_unsupported();
                false
            }
            Err(error) => {
                self.note(place, &error);
                if obstacle(&error) == Obstacle::UnknownMethod || is_final(&error) {
                    tracing::info!(%error, "the server cannot change messages");
                    self.edits.is_missing(&error);
                }
                false
            }
        };
        if proved {
            self.edits.works();
            self.proved.store(true, Ordering::Relaxed);
        }
        proved
    }

    /// Looks for a message that set out and got no answer. One that says the same proves itself by refusing to change.
    pub(super) async fn find(
        &self,
        place: ChatTarget,
        letter: &OutgoingMessage,
        parcel: DeliveryAttempt<'_>,
        behind: i64,
        others: &[i64],
    ) -> Result<Option<i64>, ApiError> {
        if !self.tells_what_is_missing(place, letter, parcel, behind).await? {
            return Ok(None);
        }
        let mut changed = Vec::new();
        let mut found = None;
        for message in (behind + 1..=behind + LOOKED_AT).filter(|message| !others.contains(message)) {
            let change = match self.change(place, message, letter, Weight::Must).await {
                Err(error) if error.is_broken() && parcel.attempt > BROKEN_TRIES => break,
                change => change?,
            };
            match change {
                Change::Needless => {
                    found = Some(message);
                    break;
                }
                // Ours, and nobody knew of it: what we look for with other words in it, such as the time that is left,
                // or a frame of the turn whose own answer was lost.
                Change::Made => changed.push(message),
                Change::Impossible | Change::Absent => {}
            }
        }
        let found = found.or_else(|| changed.pop());
        for stray in changed {
            let _gone = self.delete(place, stray).await;
        }
        Ok(found)
    }

    /// Whether the server says so when a message to be changed is not there. Of one that does not, or does not clearly,
    /// nothing can be learned by changing messages.
    async fn tells_what_is_missing(
        &self,
        place: ChatTarget,
        letter: &OutgoingMessage,
        parcel: DeliveryAttempt<'_>,
        behind: i64,
    ) -> Result<bool, ApiError> {
        let nobodys = if behind < NOBODYS / 2 { NOBODYS } else { behind.saturating_add(1 << 40) };
        self.turn(place, Weight::Must).await?;
        let change = SendPlan::of(place, letter).change(nobodys, letter);
        match self.api.ask::<Value>("editMessageText", &change, CALL).await {
            Err(error) if is_absent(&error) => Ok(true),
            // Nobody knows anything yet, of the message no more than of the server.
            Err(error @ (ApiError::Refused { code: 429, .. } | ApiError::NotSent(_))) => {
                self.note(place, &error);
                Err(error)
            }
            Err(error)
                if (error.is_broken() || matches!(error, ApiError::Unsure(_)))
                    && parcel.attempt <= BROKEN_TRIES =>
            {
                Err(error)
            }
            answer => {
                let error = answer.err().map(|error| error.to_string());
                tracing::info!(error, "the server does not tell what is missing: nothing is looked for");
                Ok(false)
            }
        }
    }
}
