//! Sends messages with fallbacks for what the server refuses: a migrated group, a deleted topic, markup it does not
//! understand. Knows no intents.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::aliases::Aliases;
use super::api::{Api, ApiError, CALL, SEND, Upload};
use super::chat_target::ChatTarget;
use super::classify::{Obstacle, obstacle};
use super::feature_probe::FeatureProbe;
use super::limits::{Limits, Weight};
pub(super) use super::outgoing_message::OutgoingMessage;
use super::outgoing_message::SendPlan;
use super::send_log::{SendLog, SendStatus};
use crate::domain::DeliveryId;
use crate::metrics::Metrics;
use crate::ports::KeyValueStore;

/// Deadline of an optional call.
pub(super) const BRIEFLY: Duration = Duration::from_secs(8);
/// Most fallbacks per call.
pub(super) const DETOURS: u32 = 4;
/// After this many consecutive server errors on a call the feature counts as missing.
pub(super) const BROKEN_TRIES: u32 = 4;

/// An outbox entry in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeliveryAttempt<'a> {
    pub(super) delivery: &'a DeliveryId,
    /// The message that it replies to.
    pub(super) answers: Option<i64>,
    /// The attempt in this process, from 1.
    pub(super) attempt: u32,
}

/// Sends messages to chats. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) api: Api,
    pub(super) limits: Arc<Limits>,
    chats: Aliases,
    notes: Arc<dyn KeyValueStore>,
    trail: Arc<SendLog>,
    metrics: Arc<Metrics>,
    /// Whether the server supports edits, as far as known.
    pub(super) edits: Arc<FeatureProbe>,
    /// Whether the server reports missing messages on edits.
    pub(super) proved: Arc<AtomicBool>,
}

impl Client {
    pub(super) fn new(api: Api, chats: Aliases, notes: Arc<dyn KeyValueStore>) -> Self {
        let trail = Arc::new(SendLog::new(notes.clone()));
        let (limits, edits) = (Arc::new(Limits::new()), Arc::default());
        Self { api, limits, chats, notes, trail, metrics: Arc::default(), edits, proved: Arc::default() }
    }

    /// Adds shared metrics.
    pub(super) fn counting(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    pub(super) fn api(&self) -> &Api {
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
        weight: Weight,
    ) -> Result<Option<i64>, ApiError> {
        let _turn = self.alone(place).await;
        let message = self.put(place, outgoing, weight).await?;
        self.noted(place, message).await;
        Ok(message)
    }

    /// Locks a chat while a lost message is searched there, so that an unrecorded one is not mistaken for it.
    async fn alone(&self, place: ChatTarget) -> Option<OwnedSemaphorePermit> {
        if is_traced(place) { self.trail.alone(place).await } else { None }
    }

    async fn noted(&self, place: ChatTarget, message: Option<i64>) {
        if let Some(message) = message.filter(|_| is_traced(place)) {
            self.trail.arrived(place, message, None).await;
        }
    }

    async fn put(
        &self,
        place: ChatTarget,
        outgoing: &OutgoingMessage,
        weight: Weight,
    ) -> Result<Option<i64>, ApiError> {
        let mut way = SendPlan::of(place, outgoing);
        for _ in 0..DETOURS {
            self.turn(way.place, weight).await?;
            match self.api.ask("sendMessage", &way.message(outgoing), SEND).await {
                Ok(sent) => return Ok(number(&sent)),
                Err(error) => self.apply_fallback(&mut way, error).await?,
            }
        }
        Err(lost())
    }

    /// Sends a message at most once if possible: an earlier attempt without an answer is searched for first. If it is not
    /// found, the message is sent again and counted.
    pub(super) async fn send_once(
        &self,
        place: ChatTarget,
        outgoing: &OutgoingMessage,
        parcel: DeliveryAttempt<'_>,
    ) -> Result<Option<i64>, ApiError> {
        let _turn = self.alone(place).await;
        match self.trail.trace(place, parcel.delivery, parcel.answers).await {
            SendStatus::None => {}
            SendStatus::Is(message) => return Ok(Some(message)),
            SendStatus::Behind(behind, others) if is_traced(place) => {
                if let Some(message) = self.find(place, outgoing, parcel, behind, &others).await? {
                    self.trail.arrived(place, message, Some(parcel.delivery)).await;
                    return Ok(Some(message));
                }
                self.again(place, parcel);
            }
            SendStatus::Behind(..) | SendStatus::Somewhere => self.again(place, parcel),
        }
        self.trail.sets_out(place, parcel.delivery).await;
        let sent = self.put(place, outgoing, Weight::Must).await;
        self.ended(place, parcel, &sent).await;
        sent
    }

    /// Counts a possible duplicate.
    fn again(&self, place: ChatTarget, parcel: DeliveryAttempt<'_>) {
        // An attempt of this process was counted when it was interrupted.
        if parcel.attempt <= 1 {
            self.metrics.deliveries_unsure.count();
            let delivery = parcel.delivery.as_str();
            tracing::warn!(chat = place.chat, delivery, "message resent, may be a duplicate");
        }
    }

    /// Counts a possibly repeated notice.
    pub(super) fn said_again(&self, place: ChatTarget) {
        self.metrics.deliveries_unsure.count();
        tracing::warn!(chat = place.chat, "notice resent, may be a duplicate");
    }

    /// Records the outcome of an attempt.
    async fn ended(
        &self,
        place: ChatTarget,
        parcel: DeliveryAttempt<'_>,
        sent: &Result<Option<i64>, ApiError>,
    ) {
        match sent {
            Ok(Some(message)) => self.trail.arrived(place, *message, Some(parcel.delivery)).await,
            Ok(None) => {}
            // After a server error the outcome is unknown.
            Err(
                error @ (ApiError::Unsure(_) | ApiError::Gateway(_) | ApiError::Refused { code: 500.., .. }),
            ) => {
                self.metrics.deliveries_unsure.count();
                tracing::warn!(
                    chat = place.chat,
                    attempt = parcel.attempt,
                    %error,
                    "send outcome unknown, may become a duplicate"
                );
            }
            Err(_) => self.trail.called_off(place, parcel.delivery).await,
        }
    }

    /// Sends a file with a caption. A file that is known to have arrived is not sent again.
    pub(super) async fn upload(
        &self,
        place: ChatTarget,
        method: &str,
        file: &Upload,
        outgoing: &OutgoingMessage,
        parcel: DeliveryAttempt<'_>,
    ) -> Result<Option<i64>, ApiError> {
        match self.trail.trace(place, parcel.delivery, parcel.answers).await {
            SendStatus::None => {}
            SendStatus::Is(message) => return Ok(Some(message)),
            SendStatus::Behind(..) | SendStatus::Somewhere => self.again(place, parcel),
        }
        self.trail.sets_out(place, parcel.delivery).await;
        let sent = self.put_file(place, method, file, outgoing).await;
        self.ended(place, parcel, &sent).await;
        sent
    }

    /// Sends a file with a caption.
    pub(super) async fn put_file(
        &self,
        place: ChatTarget,
        method: &str,
        file: &Upload,
        outgoing: &OutgoingMessage,
    ) -> Result<Option<i64>, ApiError> {
        let _turn = self.alone(place).await;
        let mut way = SendPlan::of(place, outgoing);
        for _ in 0..DETOURS {
            self.turn(way.place, Weight::Must).await?;
            match self.api.upload(method, way.fields(outgoing), file.clone()).await {
                Ok(sent) => {
                    self.noted(way.place, number(&sent)).await;
                    return Ok(number(&sent));
                }
                Err(error) => self.apply_fallback(&mut way, error).await?,
            }
        }
        Err(lost())
    }

    /// An optional call about a chat; skipped while the chat is rate limited.
    pub(super) async fn ask(&self, place: ChatTarget, method: &str, body: &Value) -> Result<Value, ApiError> {
        if self.limits.rests_for(place).is_some() {
            return Err(enough());
        }
        let asked = self.api.ask(method, body, BRIEFLY).await;
        asked.inspect_err(|error| self.note(place, error))
    }

    /// A call about a chat without pacing; waits only while the chat is rate limited.
    pub(super) async fn insist(
        &self,
        place: ChatTarget,
        method: &str,
        body: &Value,
    ) -> Result<Value, ApiError> {
        if !self.limits.rest(place).await {
            return Err(enough());
        }
        let asked = self.api.ask(method, body, CALL).await;
        asked.inspect_err(|error| self.note(place, error))
    }

    /// The remaining rate limit of a chat, if it is too long to wait for.
    pub(super) fn rests_long(&self, place: ChatTarget) -> Option<Duration> {
        self.limits.rests_long(place)
    }

    pub(super) async fn turn(&self, place: ChatTarget, weight: Weight) -> Result<(), ApiError> {
        if self.limits.turn(place, weight).await { Ok(()) } else { Err(enough()) }
    }

    pub(super) async fn moved(&self, from: i64, to: i64) {
        self.chats.learn(from, to);
        if let Err(error) = self.chats.save(&*self.notes).await {
            tracing::warn!(from, to, %error, "chat migration not stored");
        }
    }

    pub(super) fn note(&self, place: ChatTarget, error: &ApiError) {
        if let ApiError::Refused { code: 429, retry_after, .. } = error {
            self.limits.complained(place, *retry_after);
        }
    }

    /// Applies a fallback to the send plan; returns the error where there is none.
    pub(super) async fn apply_fallback(&self, way: &mut SendPlan, error: ApiError) -> Result<(), ApiError> {
        self.note(way.place, &error);
        match obstacle(&error) {
            Obstacle::Moved(to) if to != way.place.chat => {
                self.moved(way.place.chat, to).await;
                way.place.chat = to;
                // The messages stay in the old group.
                way.reply_to = None;
            }
            Obstacle::TopicGone if way.place.topic.is_some() => way.place.topic = None,
            Obstacle::ReplyGone if way.reply_to.is_some() => way.reply_to = None,
            Obstacle::BadMarkup if way.markup => way.markup = false,
            _ => return Err(error),
        }
        tracing::debug!(chat = way.place.chat, %error, "send refused, applying a fallback");
        Ok(())
    }
}

/// Whether the bot's messages in a chat have consecutive ids; in groups and topics they do not.
const fn is_traced(place: ChatTarget) -> bool {
    !place.is_group() && place.topic.is_none()
}

pub(super) fn number(sent: &Value) -> Option<i64> {
    sent.get("message_id").and_then(Value::as_i64)
}

fn enough() -> ApiError {
    ApiError::NotSent("the chat has had enough for now".to_owned())
}

pub(super) fn lost() -> ApiError {
    ApiError::NotSent("too many obstacles".to_owned())
}
