//! Sends messages with fallbacks for what the server refuses: a migrated group, a deleted topic, markup it does not
//! understand. Knows no intents.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::Value;

use super::api::{ApiError, BotApi, CALL, SEND, Upload};
use super::chat_target::{Aliases, ChatTarget};
use super::classify::{Obstacle, obstacle};
use super::feature_probe::FeatureProbe;
use super::limits::{ChatLimits, SendPriority};
pub(super) use super::outgoing_message::OutgoingMessage;
use super::outgoing_message::SendPlan;
use crate::metrics::Metrics;
use crate::ports::{Attempt, KeyValueStore, OutboxEntry};

/// Deadline of an optional call.
pub(super) const BRIEFLY: Duration = Duration::from_secs(8);
/// Most fallbacks per call.
pub(super) const MOST_FALLBACKS: u32 = 4;
/// After this many consecutive server errors on a call the feature counts as missing.
pub(super) const BROKEN_TRIES: u32 = 4;

/// Sends messages to chats. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) api: BotApi,
    pub(super) limits: Arc<ChatLimits>,
    chats: Aliases,
    notes: Arc<dyn KeyValueStore>,
    metrics: Arc<Metrics>,
    /// Whether the server supports edits, as far as known.
    pub(super) edits: Arc<FeatureProbe>,
    /// Whether the server reports missing messages on edits.
    pub(super) proved: Arc<AtomicBool>,
}

impl Client {
    pub(super) fn new(api: BotApi, chats: Aliases, notes: Arc<dyn KeyValueStore>) -> Self {
        let (limits, edits) = (Arc::new(ChatLimits::new()), Arc::default());
        Self { api, limits, chats, notes, metrics: Arc::default(), edits, proved: Arc::default() }
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
        if let Err(
            error @ (ApiError::Unsure(_) | ApiError::Gateway(_) | ApiError::Refused { code: 500.., .. }),
        ) = sent
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

    pub(super) async fn turn(&self, place: ChatTarget, weight: SendPriority) -> Result<(), ApiError> {
        if self.limits.turn(place, weight).await { Ok(()) } else { Err(rate_limited()) }
    }

    pub(super) async fn moved(&self, from: i64, to: i64) {
        self.chats.learn(from, to);
        if let Err(error) = self.chats.save(&*self.notes).await {
            tracing::warn!(from, to, %error, "chat migration not stored");
        }
    }

    pub(super) fn note(&self, place: ChatTarget, error: &ApiError) {
        if let ApiError::Refused { code: 429, retry_after, .. } = error {
            self.limits.rate_limited(place, *retry_after);
        }
    }

    /// Applies a fallback to the send plan; returns the error where there is none.
    pub(super) async fn apply_fallback(&self, plan: &mut SendPlan, error: ApiError) -> Result<(), ApiError> {
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

pub(super) fn number(sent: &Value) -> Option<i64> {
    sent.get("message_id").and_then(Value::as_i64)
}

fn rate_limited() -> ApiError {
    ApiError::NotSent("rate limited".to_owned())
}

pub(super) fn lost() -> ApiError {
    ApiError::NotSent("too many fallbacks".to_owned())
}
