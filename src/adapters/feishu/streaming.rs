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
use super::card::{ANSWER, ReadyMessage, answer_card, fits_card, shown, streaming_card};
use super::delivery::FeishuSender;
use super::fault::FeishuError;
use super::markdown::CARD_TABLES;
use super::notes::StreamingCard;
use crate::adapters::chat::{DraftFrame, DraftTarget};
use crate::domain::{CorrelationId, OutboundIntent, ThreadId};
use crate::ports::{BoxFuture, DeliveryError, Receipt};

/// Deadline of one draft update.
const RENDER_WITHIN: Duration = Duration::from_secs(8);
/// Interval between two updates of a card.
const INTERVAL: Duration = Duration::from_millis(500);
/// Limit for updates: the platform ends the streaming mode after ten minutes.
const STREAMS_FOR_MS: i64 = 9 * 60 * 1000;

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
            if !self.streaming_supported.load(Ordering::Relaxed) || !fits_card(&words) {
                return message;
            }
            let rendered = self.write_streaming(&thread, correlation, &words);
            match tokio::time::timeout(RENDER_WITHIN, rendered).await {
                Ok(Ok(card)) => Some(card),
                Ok(Err(error)) => {
                    // A missing permission or call fails every time.
                    if error.is_missing_scope() || error.is_bad_content() || error.is_no_such_call() {
                        self.streaming_supported.store(false, Ordering::Relaxed);
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
    async fn write_streaming(
        &self,
        thread: &ThreadId,
        correlation: CorrelationId,
        words: &str,
    ) -> Result<String, FeishuError> {
        let known = self.notes.streaming(thread).await;
        let mine = known.filter(|streaming| streaming.correlation == correlation);
        let Some(streaming) = mine else { return self.begin_streaming(thread, correlation, words).await };
        let age = self.clock.now().as_millis() - streaming.made;
        if streaming.ended.is_none() && streaming.message.is_some() && age < STREAMS_FOR_MS {
            self.api.write_card(&streaming.card, ANSWER, &shown(words), self.sequence(&streaming)).await?;
        }
        Ok(streaming.card)
    }

    async fn begin_streaming(
        &self,
        thread: &ThreadId,
        correlation: CorrelationId,
        words: &str,
    ) -> Result<String, FeishuError> {
        let made = self.clock.now().as_millis();
        let card = self.api.make_card(&streaming_card(words)).await?;
        let mut streaming =
            StreamingCard { correlation, card: card.clone(), message: None, made, ended: None };
        let noted = |error| FeishuError::Network(format!("the card could not be noted: {error}"));
        self.notes.store_streaming(thread, &streaming).await.map_err(noted)?;
        streaming.message = Some(self.show_card(thread, &streaming).await?);
        self.notes.store_streaming(thread, &streaming).await.map_err(noted)?;
        Ok(card)
    }

    /// Sends the card into the chat; a retry does not send it twice.
    async fn show_card(&self, thread: &ThreadId, streaming: &StreamingCard) -> Result<String, FeishuError> {
        let target = match thread.topic() {
            Some(topic) => match self.notes.topic(&topic).await {
                Some(message) => CallTarget::Reply { message, topic: InTopic::Yes },
                None => CallTarget::Chat(thread.chat()),
            },
            None => CallTarget::Chat(thread.chat()),
        };
        let content = json!({ "type": "card", "data": { "card_id": streaming.card } }).to_string();
        let message = ReadyMessage { kind: "interactive", content };
        self.send(thread, &target, &message, &streaming.card, "growing").await
    }

    /// Finishes the answer in the thread's streaming card; `None` where there is no card, or the text does not fit.
    pub(super) async fn finish_streaming(
        &self,
        intent: &OutboundIntent,
        id: &str,
        words: &str,
    ) -> Result<Option<Receipt>, DeliveryError> {
        let thread = &intent.thread_id;
        self.drafts.take(thread, &intent.correlation_id).await;
        let Some(mut streaming) = self.notes.streaming(thread).await else { return Ok(None) };
        if streaming.correlation != intent.correlation_id {
            self.close(thread, streaming).await;
            return Ok(None);
        }
        if streaming.ended.as_deref().is_some_and(|ended| ended != id) {
            return Ok(None);
        }
        if streaming.message.is_none() {
            match self.show_card(thread, &streaming).await {
                Ok(message) => streaming.message = Some(message),
                Err(FeishuError::Refused { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        // From here on the card belongs to this delivery, also after a crash.
        streaming.ended = Some(id.to_owned());
        let noted = self.notes.store_streaming(thread, &streaming).await;
        if noted.is_err() || !fits_card(words) {
            self.end_streaming(&streaming).await;
            return Ok(None);
        }
        self.end_streaming(&streaming).await;
        match self.put_answer(&streaming, words).await {
            Ok(()) => Ok(Some(Receipt { platform_message: streaming.message })),
            Err(FeishuError::Refused { code, words }) => {
                tracing::warn!(code, words, "card finish refused, sending a new message");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn put_answer(&self, streaming: &StreamingCard, words: &str) -> Result<(), FeishuError> {
        let put = |tables| async move {
            let card = answer_card(words, tables);
            self.api.finish_card(&streaming.card, &card, self.sequence(streaming)).await
        };
        match put(CARD_TABLES).await {
            Err(error) if error.is_too_many_tables() => put(0).await,
            other => other,
        }
    }

    /// Ends a thread's streaming card with its current text, because another message follows.
    pub(super) async fn close_streaming(&self, intent: &OutboundIntent) {
        let thread = &intent.thread_id;
        self.drafts.take(thread, &intent.correlation_id).await;
        if let Some(streaming) = self.notes.streaming(thread).await {
            self.close(thread, streaming).await;
        }
    }

    /// Removes a thread's streaming card, because its text is sent in another form.
    pub(super) async fn withdraw_streaming(&self, intent: &OutboundIntent) {
        let thread = &intent.thread_id;
        self.drafts.take(thread, &intent.correlation_id).await;
        let Some(streaming) =
            self.notes.streaming(thread).await.filter(|streaming| streaming.ended.is_none())
        else {
            return;
        };
        let message = streaming.message.clone();
        self.close(thread, streaming).await;
        if let Some(message) = message
            && let Err(error) = self.api.delete(&message).await
        {
            tracing::info!(%error, "draft not removed");
        }
    }

    async fn close(&self, thread: &ThreadId, mut streaming: StreamingCard) {
        if streaming.ended.is_some() {
            return;
        }
        self.drafts.take(thread, &streaming.correlation).await;
        self.end_streaming(&streaming).await;
        streaming.ended = Some(String::new());
        if let Err(error) = self.notes.store_streaming(thread, &streaming).await {
            tracing::warn!(%error, "card end not stored");
        }
    }

    async fn end_streaming(&self, streaming: &StreamingCard) {
        if let Err(error) = self.api.end_card(&streaming.card, self.sequence(streaming)).await {
            tracing::debug!(%error, "card streaming end failed");
        }
    }

    /// A sequence number that grows for one card, also over a restart.
    fn sequence(&self, streaming: &StreamingCard) -> i32 {
        let since = self.clock.now().as_millis().saturating_sub(streaming.made).max(0);
        let floor = i32::try_from(since).unwrap_or(i32::MAX - 1);
        self.sequences.next(&streaming.card, floor)
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
