//! Sends, edits and deletes messages, with fallbacks for what the server refuses: a migrated group, a deleted topic, markup
//! it does not understand. Knows no intents.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::api::{ApiError, BotApi, CALL, SEND, Upload};
use super::chat_target::{Aliases, ChatTarget};
use super::classify::{Obstacle, is_absent, is_final, obstacle, reporter};
use super::limits::{ChatLimits, SendPriority};
use super::outgoing_message::{OutgoingMessage, SendPlan, deletion};
use crate::adapters::chat::{FeatureProbe, Reporter};
use crate::metrics::Metrics;
use crate::ports::{Attempt, KeyValueStore, OutboxEntry};

/// Deadline of an optional call.
const BRIEFLY: Duration = Duration::from_secs(8);
/// Most fallbacks per call.
const MOST_FALLBACKS: u32 = 4;
/// After this many consecutive server errors on an edit the message counts as not editable.
const BROKEN_TRIES: u32 = 4;

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

/// Sends messages to chats. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Client {
    api: BotApi,
    limits: Arc<ChatLimits>,
    chats: Aliases,
    notes: Arc<dyn KeyValueStore>,
    metrics: Arc<Metrics>,
    /// Whether the server supports edits, as far as known.
    edits: Arc<FeatureProbe>,
}

impl Client {
    pub(super) fn new(api: BotApi, chats: Aliases, notes: Arc<dyn KeyValueStore>) -> Self {
        let (limits, edits) = (Arc::new(ChatLimits::new()), Arc::default());
        Self { api, limits, chats, notes, metrics: Arc::default(), edits }
    }

    pub(super) fn counting(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    pub(super) fn api(&self) -> &BotApi {
        &self.api
    }

    /// Whether edits work, as far as known.
    pub(super) fn can_edit(&self) -> bool {
        self.edits.is_there()
    }

    /// Sends a message; returns its id.
    pub(super) async fn send(
        &self,
        place: ChatTarget,
        outgoing: &OutgoingMessage,
        weight: SendPriority,
    ) -> Result<Option<i64>, ApiError> {
        let mut plan = SendPlan::of(place, outgoing);
        for _ in 0..MOST_FALLBACKS {
            self.turn(plan.place, weight).await?;
            match self.api.ask("sendMessage", &plan.message(outgoing), SEND).await {
                Ok(sent) => return Ok(number(&sent)),
                Err(error) => self.apply_fallback(&mut plan, error).await?,
            }
        }
        Err(lost())
    }

    /// Sends the message of an outbox entry. The Bot API has no idempotency keys, so a send whose outcome is unknown is
    /// repeated and counted.
    pub(super) async fn send_entry(
        &self,
        place: ChatTarget,
        outgoing: &OutgoingMessage,
        entry: &OutboxEntry,
        attempt: Attempt,
    ) -> Result<Option<i64>, ApiError> {
        self.count_repeat(place, entry, attempt);
        let sent = self.send(place, outgoing, SendPriority::Required).await;
        self.count_unknown(place, entry, &sent);
        sent
    }

    /// Sends the file of an outbox entry with its caption; see [`Self::send_entry`].
    pub(super) async fn upload(
        &self,
        place: ChatTarget,
        method: &str,
        file: &Upload,
        outgoing: &OutgoingMessage,
        entry: &OutboxEntry,
        attempt: Attempt,
    ) -> Result<Option<i64>, ApiError> {
        self.count_repeat(place, entry, attempt);
        let mut plan = SendPlan::of(place, outgoing);
        let send = async {
            for _ in 0..MOST_FALLBACKS {
                self.turn(plan.place, SendPriority::Required).await?;
                match self.api.upload(method, plan.fields(outgoing), file.clone()).await {
                    Ok(sent) => return Ok(number(&sent)),
                    Err(error) => self.apply_fallback(&mut plan, error).await?,
                }
            }
            Err(lost())
        };
        let sent = send.await;
        self.count_unknown(place, entry, &sent);
        sent
    }

    /// Edits a message. A keyboard that the content does not include is removed.
    pub(super) async fn edit(
        &self,
        place: ChatTarget,
        message: i64,
        outgoing: &OutgoingMessage,
        weight: SendPriority,
    ) -> Result<Edited, ApiError> {
        let mut plan = SendPlan { reply_to: None, ..SendPlan::of(place, outgoing) };
        // An edit that times out before a send would leave the answer twice.
        let patience = if weight == SendPriority::Required { SEND } else { CALL };
        for _ in 0..MOST_FALLBACKS {
            self.turn(plan.place, weight).await?;
            let change = plan.change(message, outgoing);
            let error = match self.api.ask::<Value>("editMessageText", &change, patience).await {
                Ok(edited) if number(&edited) == Some(message) => {
                    self.edits.succeeded();
                    return Ok(Edited::Yes);
                }
                Ok(_) => {
                    tracing::info!(
                        "server accepts edits and returns no message, treating edits as unsupported"
                    );
                    self.edits.is_missing(Reporter::Server);
                    return Ok(Edited::No);
                }
                Err(error) => error,
            };
            match obstacle(&error) {
                Obstacle::Unchanged => {
                    self.edits.succeeded();
                    return Ok(Edited::Yes);
                }
                Obstacle::NotEditable | Obstacle::TooLong => {
                    self.edits.succeeded();
                    return Ok(if is_absent(&error) { Edited::Gone } else { Edited::No });
                }
                Obstacle::UnknownMethod => {
                    tracing::info!(%error, "edits not supported by the server");
                    self.edits.is_missing(reporter(&error));
                    return Ok(Edited::No);
                }
                Obstacle::Moved(to) => {
                    // The messages stay in the old group.
                    self.moved(place.chat, to).await;
                    return Ok(Edited::Gone);
                }
                _ => match self.apply_fallback(&mut plan, error).await {
                    // Only a send tells whether a text is permanently refused.
                    Err(error) if is_final(&error) => {
                        tracing::info!(chat = place.chat, message, %error, "edit refused");
                        return Ok(Edited::No);
                    }
                    around => around?,
                },
            }
        }
        Err(lost())
    }

    /// Edits the message of an outbox entry. A server that repeatedly gives no answer or an error to edits is treated as one
    /// without edits; so is one behind a proxy that blocks them.
    pub(super) async fn edit_for_entry(
        &self,
        place: ChatTarget,
        message: i64,
        outgoing: &OutgoingMessage,
        attempt: Attempt,
    ) -> Result<Edited, ApiError> {
        let edited = self.edit(place, message, outgoing, SendPriority::Required).await;
        let last_try = match &edited {
            Err(ApiError::Unsure(_)) => 1,
            Err(ApiError::NotSent(_)) => BROKEN_TRIES,
            Err(error) if error.is_broken() => BROKEN_TRIES,
            _ => u32::MAX,
        };
        match edited {
            Err(error) if attempt.number > last_try => {
                tracing::warn!(chat = place.chat, message, %error, "edit failed repeatedly, sending a new message");
                Ok(Edited::No)
            }
            edited => edited,
        }
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

    /// Counts a send that repeats one which was cut off.
    fn count_repeat(&self, place: ChatTarget, entry: &OutboxEntry, attempt: Attempt) {
        if attempt.may_repeat {
            self.metrics.deliveries_repeated.count();
            let delivery = entry.id.as_str();
            tracing::warn!(chat = place.chat, delivery, "send repeated, may be a duplicate");
        }
    }

    /// Counts a send whose outcome is unknown, because it will be repeated.
    fn count_unknown(&self, place: ChatTarget, entry: &OutboxEntry, sent: &Result<Option<i64>, ApiError>) {
        if let Err(error) = sent
            && error.may_have_worked()
        {
            self.metrics.deliveries_repeated.count();
            let delivery = entry.id.as_str();
            tracing::warn!(chat = place.chat, delivery, %error, "send outcome unknown, may become a duplicate");
        }
    }

    /// Counts a possibly repeated notice.
    pub(super) fn count_repeated_notice(&self, place: ChatTarget) {
        self.metrics.deliveries_repeated.count();
        tracing::warn!(chat = place.chat, "notice resent, may be a duplicate");
    }

    /// An optional call about a chat; skipped while the chat is rate limited.
    pub(super) async fn ask(&self, place: ChatTarget, method: &str, body: &Value) -> Result<Value, ApiError> {
        if self.limits.rests_for(place).is_some() {
            return Err(rate_limited());
        }
        let asked = self.api.ask(method, body, BRIEFLY).await;
        asked.inspect_err(|error| self.note(place, error))
    }

    /// A call about a chat without pacing; waits only while the chat is rate limited.
    pub(super) async fn call_unpaced(
        &self,
        place: ChatTarget,
        method: &str,
        body: &Value,
    ) -> Result<Value, ApiError> {
        if !self.limits.rest(place).await {
            return Err(rate_limited());
        }
        let asked = self.api.ask(method, body, CALL).await;
        asked.inspect_err(|error| self.note(place, error))
    }

    /// The remaining rate limit of a chat, if it is too long to wait for.
    pub(super) fn rests_long(&self, place: ChatTarget) -> Option<Duration> {
        self.limits.rests_long(place)
    }

    async fn turn(&self, place: ChatTarget, weight: SendPriority) -> Result<(), ApiError> {
        if self.limits.turn(place, weight).await { Ok(()) } else { Err(rate_limited()) }
    }

    async fn moved(&self, from: i64, to: i64) {
        self.chats.learn(from, to);
        if let Err(error) = self.chats.save(&*self.notes).await {
            tracing::warn!(from, to, %error, "chat migration not stored");
        }
    }

    fn note(&self, place: ChatTarget, error: &ApiError) {
        if let ApiError::Refused { code: 429, retry_after, .. } = error {
            self.limits.rate_limited(place, *retry_after);
        }
    }

    /// Applies a fallback to the send plan; returns the error where there is none.
    async fn apply_fallback(&self, plan: &mut SendPlan, error: ApiError) -> Result<(), ApiError> {
        self.note(plan.place, &error);
        match obstacle(&error) {
            Obstacle::Moved(to) if to != plan.place.chat => {
                self.moved(plan.place.chat, to).await;
                plan.place.chat = to;
                // The messages stay in the old group.
                plan.reply_to = None;
            }
            Obstacle::TopicGone if plan.place.topic.is_some() => plan.place.topic = None,
            Obstacle::ReplyGone if plan.reply_to.is_some() => plan.reply_to = None,
            Obstacle::BadMarkup if plan.markup => plan.markup = false,
            _ => return Err(error),
        }
        tracing::debug!(chat = plan.place.chat, %error, "send refused, applying a fallback");
        Ok(())
    }
}

fn number(sent: &Value) -> Option<i64> {
    sent.get("message_id").and_then(Value::as_i64)
}

fn rate_limited() -> ApiError {
    ApiError::NotSent("rate limited".to_owned())
}

fn lost() -> ApiError {
    ApiError::NotSent("too many fallbacks".to_owned())
}
