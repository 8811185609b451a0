//! Probes the server with edits: whether it supports them, and whether a message whose send got no response exists.

use std::sync::atomic::Ordering;

use serde_json::Value;

use super::api::{ApiError, CALL};
use super::change::Change;
use super::chat_target::ChatTarget;
use super::classify::{Obstacle, is_absent, is_final, obstacle};
use super::client::{BRIEFLY, BROKEN_TRIES, Client, DeliveryAttempt, number};
use super::limits::Weight;
use super::outgoing_message::{OutgoingMessage, SendPlan};

/// How many message ids are probed for a lost message.
const LOOKED_AT: i64 = 8;
/// A message id that no chat has reached, so it cannot exist.
const NOBODYS: i64 = 0x7fff_fff0;

impl Client {
    /// Whether a message sent now can certainly be edited later. A server without edits, or one that accepts any edit,
    /// is detected once, by an edit of a message that does not exist.
    pub(super) async fn surely_edits(&self, place: ChatTarget, outgoing: &OutgoingMessage) -> bool {
        if !self.can_edit() || self.proved.load(Ordering::Relaxed) {
            return self.can_edit();
        }
        if self.turn(place, Weight::May).await.is_err() {
            return false;
        }
        let change = SendPlan::of(place, outgoing).change(NOBODYS, outgoing);
        let proved = match self.api.ask::<Value>("editMessageText", &change, BRIEFLY).await {
            Err(error) if is_absent(&error) => true,
            // The server accepts any edit and returns the id that it was sent.
            Ok(message) if number(&message) == Some(NOBODYS) => true,
            Ok(_) => {
                tracing::info!("server accepts edits of missing messages, treating edits as unsupported");
                self.edits.mark_unsupported();
                false
            }
            Err(error) => {
                self.note(place, &error);
                if obstacle(&error) == Obstacle::UnknownMethod || is_final(&error) {
                    tracing::info!(%error, "edits not supported by the server");
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

    /// Looks for a message whose send got no response. A message with the same content is recognised by the "not
    /// modified" refusal.
    pub(super) async fn find(
        &self,
        place: ChatTarget,
        outgoing: &OutgoingMessage,
        parcel: DeliveryAttempt<'_>,
        behind: i64,
        others: &[i64],
    ) -> Result<Option<i64>, ApiError> {
        if !self.tells_what_is_missing(place, outgoing, parcel, behind).await? {
            return Ok(None);
        }
        let mut changed = Vec::new();
        let mut found = None;
        for message in (behind + 1..=behind + LOOKED_AT).filter(|message| !others.contains(message)) {
            let change = match self.change(place, message, outgoing, Weight::Must).await {
                Err(error) if error.is_broken() && parcel.attempt > BROKEN_TRIES => break,
                change => change?,
            };
            match change {
                Change::Needless => {
                    found = Some(message);
                    break;
                }
                // A message of the bot without a record: the lost one with other content, such as the remaining time,
                // or a frame of the turn whose own response was lost.
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

    /// Whether the server reports an edit of a missing message. Without a clear report, edits prove nothing.
    async fn tells_what_is_missing(
        &self,
        place: ChatTarget,
        outgoing: &OutgoingMessage,
        parcel: DeliveryAttempt<'_>,
        behind: i64,
    ) -> Result<bool, ApiError> {
        let nobodys = if behind < NOBODYS / 2 { NOBODYS } else { behind.saturating_add(1 << 40) };
        self.turn(place, Weight::Must).await?;
        let change = SendPlan::of(place, outgoing).change(nobodys, outgoing);
        match self.api.ask::<Value>("editMessageText", &change, CALL).await {
            Err(error) if is_absent(&error) => Ok(true),
            // Neither the message nor the server's behaviour is known yet.
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
                tracing::info!(error, "server does not report missing messages, lost message not searched");
                Ok(false)
            }
        }
    }
}
