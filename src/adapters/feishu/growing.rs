//! Streaming cards: a card that shows the draft of an answer and becomes the answer at the end.
//!
//! The card is stored before it is shown, so that after a crash the answer still ends in it and not in a second
//! message. Where the platform does not support streaming cards, an answer is sent when it is complete.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use super::calls::{CallTarget, InTopic};
use super::card::{ANSWER, ReadyMessage, answer_card, fits_card, growing_card, shown};
use super::delivery::FeishuSender;
use super::fault::FeishuError;
use super::markdown::CARD_TABLES;
use super::notes::StreamingCard;
use crate::adapters::chat::{DraftFrame, DraftTarget};
use crate::domain::{CorrelationId, OutboundIntent, ThreadId};
use crate::ports::{BoxFuture, DeliveryError, Receipt};

/// Deadline of one draft update.
const PAINT_WITHIN: Duration = Duration::from_secs(8);
/// Interval between two updates of a card.
const INTERVAL: Duration = Duration::from_millis(500);
/// Limit for updates: the platform ends the streaming mode after ten minutes.
const GROWS_FOR_MS: i64 = 9 * 60 * 1000;

impl DraftTarget for FeishuSender {
    fn render_draft(
        &self,
        thread: ThreadId,
        correlation: CorrelationId,
        frame: DraftFrame,
        message: Option<String>,
    ) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let words = match frame {
                DraftFrame::Draft(words) => words,
                DraftFrame::Progress(words) => format!("⏳ {words}"),
                DraftFrame::Typing => return message,
            };
            if !self.shows_growing.load(Ordering::Relaxed) || !fits_card(&words) {
                return message;
            }
            let painted = self.write_growing(&thread, correlation, &words);
            match tokio::time::timeout(PAINT_WITHIN, painted).await {
                Ok(Ok(card)) => Some(card),
                Ok(Err(error)) => {
                    // A missing permission or call fails every time.
                    if error.is_missing_scope() || error.is_bad_content() || error.is_no_such_call() {
                        self.shows_growing.store(false, Ordering::Relaxed);
                    }
                    message
                }
                Err(_) => message,
            }
        })
    }

    fn interval(&self, _thread: &ThreadId) -> Duration {
        INTERVAL
    }
}

impl FeishuSender {
    async fn write_growing(
        &self,
        thread: &ThreadId,
        correlation: CorrelationId,
        words: &str,
    ) -> Result<String, FeishuError> {
        let known = self.notes.growing(thread).await;
        let mine = known.filter(|growing| growing.correlation == correlation);
        let Some(growing) = mine else { return self.begin_growing(thread, correlation, words).await };
        let age = self.clock.now().as_millis() - growing.made;
        if growing.ended.is_none() && growing.message.is_some() && age < GROWS_FOR_MS {
            self.api.write_card(&growing.card, ANSWER, &shown(words), self.sequence(&growing)).await?;
        }
        Ok(growing.card)
    }

    async fn begin_growing(
        &self,
        thread: &ThreadId,
        correlation: CorrelationId,
        words: &str,
    ) -> Result<String, FeishuError> {
        let made = self.clock.now().as_millis();
        let card = self.api.make_card(&growing_card(words)).await?;
        let mut growing = StreamingCard { correlation, card: card.clone(), message: None, made, ended: None };
        let noted = |error| FeishuError::Network(format!("the card could not be noted: {error}"));
        self.notes.learn_growing(thread, &growing).await.map_err(noted)?;
        growing.message = Some(self.show_card(thread, &growing).await?);
        self.notes.learn_growing(thread, &growing).await.map_err(noted)?;
        Ok(card)
    }

    /// Sends the card into the chat; a retry does not send it twice.
    async fn show_card(&self, thread: &ThreadId, growing: &StreamingCard) -> Result<String, FeishuError> {
        let target = match thread.topic() {
            Some(topic) => match self.notes.topic(&topic).await {
                Some(message) => CallTarget::Reply { message, topic: InTopic::Yes },
                None => CallTarget::Chat(thread.chat()),
            },
            None => CallTarget::Chat(thread.chat()),
        };
        let content = json!({ "type": "card", "data": { "card_id": growing.card } }).to_string();
        let message = ReadyMessage { kind: "interactive", content };
        self.send(thread, &target, &message, &growing.card, "growing").await
    }

    /// Finishes the answer in the thread's streaming card; `None` where there is no card, or the text does not fit.
    pub(super) async fn finish_growing(
        &self,
        intent: &OutboundIntent,
        id: &str,
        words: &str,
    ) -> Result<Option<Receipt>, DeliveryError> {
        let thread = &intent.thread_id;
        self.drafts.take(thread, &intent.correlation_id).await;
        let Some(mut growing) = self.notes.growing(thread).await else { return Ok(None) };
        if growing.correlation != intent.correlation_id {
            self.close(thread, growing).await;
            return Ok(None);
        }
        if growing.ended.as_deref().is_some_and(|ended| ended != id) {
            return Ok(None);
        }
        if growing.message.is_none() {
            match self.show_card(thread, &growing).await {
                Ok(message) => growing.message = Some(message),
                Err(FeishuError::Refused { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        // From here on the card belongs to this delivery, also after a crash.
        growing.ended = Some(id.to_owned());
        let noted = self.notes.learn_growing(thread, &growing).await;
        if noted.is_err() || !fits_card(words) {
            self.end_quietly(&growing).await;
            return Ok(None);
        }
        self.end_quietly(&growing).await;
        match self.put_answer(&growing, words).await {
            Ok(()) => Ok(Some(Receipt { platform_message: growing.message })),
            Err(FeishuError::Refused { code, words }) => {
                tracing::warn!(code, words, "card finish refused, sending a new message");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn put_answer(&self, growing: &StreamingCard, words: &str) -> Result<(), FeishuError> {
        let put = |tables| async move {
            let card = answer_card(words, tables);
            self.api.finish_card(&growing.card, &card, self.sequence(growing)).await
        };
        match put(CARD_TABLES).await {
            Err(error) if error.is_too_many_tables() => put(0).await,
            other => other,
        }
    }

    /// Ends a thread's streaming card with its current text, because another message follows.
    pub(super) async fn end_growing(&self, intent: &OutboundIntent) {
        let thread = &intent.thread_id;
        self.drafts.take(thread, &intent.correlation_id).await;
        if let Some(growing) = self.notes.growing(thread).await {
            self.close(thread, growing).await;
        }
    }

    /// Removes a thread's streaming card, because its text is sent in another form.
    pub(super) async fn withdraw_growing(&self, intent: &OutboundIntent) {
        let thread = &intent.thread_id;
        self.drafts.take(thread, &intent.correlation_id).await;
        let Some(growing) = self.notes.growing(thread).await.filter(|growing| growing.ended.is_none()) else {
            return;
        };
        let message = growing.message.clone();
        self.close(thread, growing).await;
        if let Some(message) = message
            && let Err(error) = self.api.delete(&message).await
        {
            tracing::info!(%error, "draft not removed");
        }
    }

    async fn close(&self, thread: &ThreadId, mut growing: StreamingCard) {
        if growing.ended.is_some() {
            return;
        }
        self.drafts.take(thread, &growing.correlation).await;
        self.end_quietly(&growing).await;
        growing.ended = Some(String::new());
        if let Err(error) = self.notes.learn_growing(thread, &growing).await {
            tracing::warn!(%error, "card end not stored");
        }
    }

    async fn end_quietly(&self, growing: &StreamingCard) {
        if let Err(error) = self.api.end_card(&growing.card, self.sequence(growing)).await {
            tracing::debug!(%error, "card streaming end failed");
        }
    }

    /// A sequence number that grows for one card, also over a restart.
    fn sequence(&self, growing: &StreamingCard) -> i32 {
        let since = self.clock.now().as_millis().saturating_sub(growing.made).max(0);
        let floor = i32::try_from(since).unwrap_or(i32::MAX - 1);
        self.sequences.next(&growing.card, floor)
    }
}

/// Most cached cards.
const MOST: usize = 1024;

/// The last sequence number of each card.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    last: Mutex<HashMap<String, i32>>,
}

impl Sequences {
    /// The card's next sequence number, at least `floor`. A floor that grows with time covers evicted cards.
    pub(super) fn next(&self, card: &str, floor: i32) -> i32 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() >= MOST && !last.contains_key(card) {
            last.clear();
        }
        let number = last.entry(card.to_owned()).or_default();
        *number = number.saturating_add(1).max(floor).max(1);
        *number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_only_grow() {
        let sequences = Sequences::default();
        let numbers = [0, 0, 500, 400, 502].map(|floor| sequences.next("a", floor));
        assert_eq!(numbers, [1, 2, 500, 501, 502]);
        assert_eq!(sequences.next("b", 0), 1);
    }
}
