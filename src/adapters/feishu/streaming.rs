//! Streaming cards: a card that shows the draft of an answer and becomes the answer at the end.
//!
//! The card is stored before it is shown, so that after a crash the answer still ends in it and not in a second
//! message. Where the platform does not support streaming cards, an answer is sent when it is complete.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use super::calls::{CallTarget, InTopic};
use super::card::{ANSWER, ReadyMessage, answer_card, fits_card, shown, streaming_card};
use super::delivery::FeishuSender;
use super::fault::FeishuError;
use super::markdown::CARD_TABLES;
use crate::adapters::chat::{
    DraftTarget, DraftTiming, DraftTurn, DraftView, LiveMessage, LiveMessages, Reporter, Shown,
};
use crate::domain::ThreadId;
use crate::ports::{DeliveryError, Durability, OutboxEntry, Receipt};

/// Deadline of one draft update.
const RENDER_WITHIN: Duration = Duration::from_secs(8);
/// Interval between two updates of a card.
const INTERVAL: Duration = Duration::from_millis(500);
/// Limit for updates: the platform ends the streaming mode after ten minutes.
const STREAMS_FOR_MS: i64 = 9 * 60 * 1000;

impl DraftTarget for FeishuSender {
    type Rendered = String;

    fn live_messages(&self) -> &LiveMessages {
        &self.outbound.live
    }

    fn timing(&self, _thread: &ThreadId) -> DraftTiming {
        DraftTiming { hold: Duration::ZERO, between: INTERVAL, silence: None, lasts: None }
    }

    fn render(&self, view: &DraftView) -> Option<String> {
        let words = view.line.as_ref().map_or_else(|| view.text.clone(), |line| format!("⏳ {line}"));
        fits_card(&words).then_some(words)
    }

    async fn show_view(&self, turn: &DraftTurn, words: &String, live: Option<LiveMessage>) -> Shown {
        if !self.streaming.is_there() {
            return Shown::No;
        }
        match tokio::time::timeout(RENDER_WITHIN, self.write_card(turn, words, live)).await {
            Ok(Ok(live)) => Shown::In(live),
            Ok(Err(error)) => {
                // A missing permission or call fails every time.
                if error.is_missing_scope() || error.is_bad_content() || error.is_no_such_call() {
                    self.streaming.is_missing(Reporter::Server);
                }
                Shown::No
            }
            Err(_) => Shown::No,
        }
    }

    async fn discard(&self, thread: &ThreadId, live: LiveMessage) {
        if tokio::time::timeout(RENDER_WITHIN, self.close_card(thread, live)).await.is_err() {
            tracing::debug!(%thread, "card end timed out");
        }
    }
}

impl FeishuSender {
    /// Writes into the card of the turn, or shows a new one. Returns its message.
    async fn write_card(
        &self,
        turn: &DraftTurn,
        words: &str,
        live: Option<LiveMessage>,
    ) -> Result<LiveMessage, FeishuError> {
        let made = self.outbound.parts.clock.now().as_millis();
        if let Some(live) = live {
            if let Some(card) = live.card.as_deref().filter(|_| live.message.is_some())
                && made - live.made < STREAMS_FOR_MS
            {
                self.api.write_card(card, ANSWER, &shown(words), self.sequence(card, live.made)).await?;
            }
            return Ok(live);
        }
        let card = self.api.make_card(&streaming_card(words)).await?;
        let correlation = turn.run.clone();
        let live = LiveMessage { correlation, message: None, card: Some(card.clone()), made, done: None };
        let noted = self.outbound.live.put(&turn.thread, live.clone(), Durability::Written).await;
        noted.map_err(|error| FeishuError::Network(format!("the card could not be noted: {error}")))?;
        let message = Some(self.show_card(&turn.thread, &card).await?);
        Ok(LiveMessage { message, ..live })
    }

    /// Sends the card into the chat; a retry does not send it twice.
    async fn show_card(&self, thread: &ThreadId, card: &str) -> Result<String, FeishuError> {
        let target = match thread.topic() {
            Some(topic) => match self.notes.topic(&topic).await {
                Some(message) => CallTarget::Reply { message, topic: InTopic::Yes },
                None => CallTarget::Chat(thread.chat()),
            },
            None => CallTarget::Chat(thread.chat()),
        };
        let content = json!({ "type": "card", "data": { "card_id": card } }).to_string();
        let message = ReadyMessage { kind: "interactive", content };
        self.send(thread, &target, &message, card, "growing").await
    }

    /// Finishes the answer in the turn's card; `None` where the text does not fit.
    pub(super) async fn finish_card(
        &self,
        entry: &OutboxEntry,
        mut live: LiveMessage,
        words: &str,
    ) -> Result<Option<Receipt>, DeliveryError> {
        let (thread, made) = (&entry.intent.thread_id, live.made);
        let Some(card) = live.card.clone() else { return Ok(None) };
        if live.message.is_none() {
            match self.show_card(thread, &card).await {
                Ok(message) => live.message = Some(message),
                Err(FeishuError::Refused { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        // From here on the card belongs to this delivery, also after a crash: losing that would send the answer twice.
        live.done = Some(entry.id.as_str().to_owned());
        let platform_message = live.message.clone();
        let noted = self.outbound.live.put(thread, live, Durability::Synced).await;
        self.end_streaming(&card, made).await;
        if noted.is_err() || !fits_card(words) {
            return Ok(None);
        }
        match self.put_answer(&card, made, words).await {
            Ok(()) => Ok(Some(Receipt { platform_message })),
            Err(FeishuError::Refused { code, words }) => {
                tracing::warn!(code, words, "card finish refused, sending a new message");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn put_answer(&self, card: &str, made: i64, words: &str) -> Result<(), FeishuError> {
        let put = |tables| async move {
            let answer = answer_card(words, tables);
            self.api.finish_card(card, &answer, self.sequence(card, made)).await
        };
        match put(CARD_TABLES).await {
            Err(error) if error.is_too_many_tables() => put(0).await,
            other => other,
        }
    }

    /// Ends a card with its current text.
    pub(super) async fn close_card(&self, thread: &ThreadId, live: LiveMessage) {
        if let Some(card) = &live.card {
            self.end_streaming(card, live.made).await;
        }
        let live = LiveMessage { done: Some(String::new()), ..live };
        if let Err(error) = self.outbound.live.put(thread, live, Durability::Synced).await {
            tracing::warn!(%error, "card end not stored");
        }
    }

    async fn end_streaming(&self, card: &str, made: i64) {
        if let Err(error) = self.api.end_card(card, self.sequence(card, made)).await {
            tracing::debug!(%error, "card streaming end failed");
        }
    }

    /// A sequence number that grows for one card, also over a restart.
    fn sequence(&self, card: &str, made: i64) -> i32 {
        let since = self.outbound.parts.clock.now().as_millis().saturating_sub(made).max(0);
        self.sequences.next(card, i32::try_from(since).unwrap_or(i32::MAX - 1))
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
