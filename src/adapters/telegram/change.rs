//! Edits and deletes messages.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;

use super::api::{ApiError, CALL, SEND};
use super::chat_target::ChatTarget;
use super::classify::{Obstacle, is_absent, is_final, obstacle};
use super::client::{BRIEFLY, Client, MOST_FALLBACKS, lost, number};
use super::limits::SendPriority;
use super::outgoing_message::{OutgoingMessage, SendPlan, deletion};
use super::streamed_messages::StreamedMessages;
use crate::domain::ThreadId;

/// A message id that no chat has reached, so it cannot exist.
const MISSING_MESSAGE: i64 = 0x7fff_fff0;
/// How many failed deletions are retried at a time.
const DELETED_AT_ONCE: usize = 3;
const DELETE_PAUSE: Duration = Duration::from_millis(100);

/// The outcome of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// The message has the new text.
    Yes,
    /// The edit was refused; the message may still exist.
    No,
    /// The message does not exist.
    Gone,
}

/// How the server answered an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditAnswer {
    Made,
    /// The text is unchanged.
    Needless,
    /// The edit is not possible.
    Impossible,
    /// The message is gone.
    Absent,
}

impl Client {
    /// Edits a message. A keyboard that the content does not include is removed.
    pub(super) async fn edit(
        &self,
        place: ChatTarget,
        message: i64,
        outgoing: &OutgoingMessage,
        weight: SendPriority,
    ) -> Result<Edited, ApiError> {
        Ok(match self.change(place, message, outgoing, weight).await? {
            EditAnswer::Made | EditAnswer::Needless => Edited::Yes,
            EditAnswer::Impossible => Edited::No,
            EditAnswer::Absent => Edited::Gone,
        })
    }

    async fn change(
        &self,
        place: ChatTarget,
        message: i64,
        outgoing: &OutgoingMessage,
        weight: SendPriority,
    ) -> Result<EditAnswer, ApiError> {
        let mut plan = SendPlan { reply_to: None, ..SendPlan::of(place, outgoing) };
        // An edit that times out before a send would leave the answer twice.
        let patience = if weight == SendPriority::Required { SEND } else { CALL };
        for _ in 0..MOST_FALLBACKS {
            self.turn(plan.place, weight).await?;
            let change = plan.change(message, outgoing);
            let Err(error) = self.api.ask::<Value>("editMessageText", &change, patience).await else {
                self.edits.succeeded();
                return Ok(EditAnswer::Made);
            };
            match obstacle(&error) {
                Obstacle::Unchanged => {
                    self.edits.succeeded();
                    return Ok(EditAnswer::Needless);
                }
                Obstacle::NotEditable | Obstacle::TooLong => {
                    self.edits.succeeded();
                    return Ok(if is_absent(&error) { EditAnswer::Absent } else { EditAnswer::Impossible });
                }
                Obstacle::UnknownMethod => {
                    tracing::info!(%error, "edits not supported by the server");
                    self.edits.is_missing(&error);
                    self.proved.store(false, Ordering::Relaxed);
                    return Ok(EditAnswer::Impossible);
                }
                Obstacle::Moved(to) => {
                    // The messages stay in the old group.
                    self.moved(place.chat, to).await;
                    return Ok(EditAnswer::Absent);
                }
                _ => match self.apply_fallback(&mut plan, error).await {
                    // Only a send tells whether a text is permanently refused.
                    Err(error) if is_final(&error) => {
                        tracing::info!(chat = place.chat, message, %error, "edit refused");
                        return Ok(EditAnswer::Impossible);
                    }
                    around => around?,
                },
            }
        }
        Err(lost())
    }

    /// Whether a message sent now can certainly be edited later. A server without edits, or one that accepts any edit,
    /// is detected once, by an edit of a message that does not exist.
    pub(super) async fn surely_edits(&self, place: ChatTarget, outgoing: &OutgoingMessage) -> bool {
        if !self.can_edit() || self.proved.load(Ordering::Relaxed) {
            return self.can_edit();
        }
        if self.turn(place, SendPriority::Optional).await.is_err() {
            return false;
        }
        let change = SendPlan::of(place, outgoing).change(MISSING_MESSAGE, outgoing);
        let proved = match self.api.ask::<Value>("editMessageText", &change, BRIEFLY).await {
            Err(error) if is_absent(&error) => true,
            // The server accepts any edit and returns the id that it was sent.
            Ok(message) if number(&message) == Some(MISSING_MESSAGE) => true,
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
            self.edits.succeeded();
            self.proved.store(true, Ordering::Relaxed);
        }
        proved
    }

    /// Deletes a message; false where a retry makes sense.
    pub(super) async fn delete(&self, place: ChatTarget, message: i64) -> bool {
        if !self.limits.rest(place).await {
            return false;
        }
        let body = deletion(place.chat, message);
        match self.api.ask::<Value>("deleteMessage", &body, BRIEFLY).await {
            Ok(_) => true,
            Err(error) => {
                self.note(place, &error);
                tracing::debug!(chat = place.chat, message, %error, "delete failed");
                obstacle(&error) == Obstacle::UnknownMethod || is_final(&error)
            }
        }
    }

    /// Deletes the streamed message of a thread, now or by a later retry.
    pub(super) async fn take_away(
        &self,
        place: ChatTarget,
        thread: &ThreadId,
        message: i64,
        streamed: &StreamedMessages,
    ) {
        if self.delete(place, message).await {
            streamed.remove(thread).await;
        } else {
            streamed.leave(thread, message).await;
        }
    }

    /// Retries deletions that failed before.
    pub(super) async fn delete_left_messages(
        &self,
        place: ChatTarget,
        thread: &ThreadId,
        streamed: &StreamedMessages,
    ) {
        for (tried, message) in streamed.left(thread).await.into_iter().take(DELETED_AT_ONCE).enumerate() {
            if tried > 0 {
                tokio::time::sleep(DELETE_PAUSE).await;
            }
            if self.delete(place, message).await {
                streamed.gone(thread, message).await;
            }
        }
    }
}
