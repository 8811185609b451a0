//! Shows a running turn: a draft in private chats, one edited message elsewhere, and the typing indicator.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::api::ApiError;
use super::change::Edited;
use super::chat_target::{Aliases, ChatTarget};
use super::classify::{Obstacle, is_unable, obstacle};
use super::client::{Client, OutgoingMessage};
use super::draft_state::{DraftState, DraftStates, FirstDraft, picture};
use super::feature_probe::FeatureProbe;
use super::html::Rendered;
use super::limits::SendPriority;
use super::streamed_messages::StreamedMessages;
use crate::adapters::chat::{DraftFrame, DraftTarget};
use crate::domain::{CorrelationId, ThreadId};
use crate::ports::BoxFuture;

/// An answer that is complete within this time is not streamed.
const HOLD_DRAFT: Duration = Duration::from_millis(300);
const HOLD_MESSAGE: Duration = Duration::from_millis(1200);
/// Interval between two frames.
const BETWEEN_DRAFTS: Duration = Duration::from_millis(600);
const BETWEEN_EDITS: Duration = Duration::from_millis(1200);
const BETWEEN_GROUP_EDITS: Duration = Duration::from_secs(3);
/// Deadline of one frame; shorter than the wait before a draft is removed.
const DEADLINE: Duration = Duration::from_secs(9);
/// How long the frames of a chat wait for the typing indicator.
const SIGN: Duration = Duration::from_secs(2);
/// How many turns are remembered before silent ones are dropped, and before any are.
const MOST: usize = 4096;
const MOST_OVER: usize = 1024;
const QUIET: Duration = Duration::from_secs(3600);

/// Shows frames in Telegram.
#[derive(Debug)]
pub(super) struct DraftRenderer {
    client: Client,
    chats: Aliases,
    streamed: Arc<StreamedMessages>,
    /// Whether the server supports drafts, as far as known.
    drafts: FeatureProbe,
    states: Arc<DraftStates>,
    /// Messages in flight. Each is awaited until the server has answered.
    sends: Mutex<JoinSet<()>>,
}

impl DraftRenderer {
    pub(super) fn new(client: Client, chats: Aliases, streamed: Arc<StreamedMessages>) -> Self {
        let (states, sends) = (Arc::default(), Mutex::default());
        Self { client, chats, streamed, drafts: FeatureProbe::default(), states, sends }
    }

    /// Remembers which message a turn answers, for the streamed message.
    pub(super) fn expect(&self, thread: &ThreadId, correlation: &CorrelationId, reply_to: i64) {
        self.state(thread, correlation, |state| state.reply_to = Some(reply_to));
    }

    /// Ends the display of a turn's text so far. The turn may continue; its silence counts from now.
    pub(super) fn forget(&self, thread: &ThreadId, correlation: &CorrelationId) {
        self.locked(|states| {
            if states.get(thread).is_none_or(|state| state.correlation != *correlation) {
                return;
            }
            states.remove(thread);
            if states.len() < MOST_OVER {
                states.insert(thread.clone(), DraftState::new(correlation, Instant::now()));
            }
        });
    }

    /// Deletes the streamed message of a turn that ended without an answer.
    async fn clear(&self, thread: &ThreadId, correlation: &CorrelationId) {
        self.forget(thread, correlation);
        let Some(place) = ChatTarget::of(thread, &self.chats) else { return };
        let live = self.streamed.get(thread).await;
        if let Some(live) = live.filter(|live| live.correlation == *correlation && live.done.is_none()) {
            self.client.take_away(place, thread, live.message, &self.streamed).await;
        }
    }

    async fn show(
        &self,
        thread: &ThreadId,
        correlation: CorrelationId,
        frame: DraftFrame,
        message: Option<String>,
    ) -> Option<String> {
        let place = ChatTarget::of(thread, &self.chats)?;
        let drafts = self.drafts_in(place);
        let hold = if drafts { HOLD_DRAFT } else { HOLD_MESSAGE };
        let state = self.state(thread, &correlation, |state| {
            state.apply(&frame);
            state.clone()
        });
        let held = state.shown.is_none() && state.since.elapsed() < hold;
        let picture = match &frame {
            DraftFrame::Typing => {
                self.type_in(place).await;
                match state.sign(drafts) {
                    Some(picture) if !held => picture,
                    _ => return message,
                }
            }
            DraftFrame::Draft(_) if held => return message,
            DraftFrame::Draft(text) => picture(text, None),
            DraftFrame::Progress(line) => picture(&state.text, Some(line)),
        };
        let unchanged = state.shown.as_ref() == Some(&picture) && !(drafts && frame == DraftFrame::Typing);
        if picture.html.is_empty() || unchanged {
            return message;
        }
        if drafts && self.draft(place, &correlation, &picture).await {
            self.shown(thread, &correlation, picture);
            return message;
        }
        // The call may have shown that the server has no drafts.
        if self.drafts_in(place) || !self.client.can_edit() {
            return message;
        }
        let outgoing = OutgoingMessage { words: picture.clone(), reply_to: state.reply_to, keyboard: None };
        let known = message.as_deref().and_then(|message| message.parse().ok());
        let left = self.put(place, thread, &correlation, known, &outgoing).await;
        if left.is_some() {
            self.shown(thread, &correlation, picture);
        }
        left.map(|message| message.to_string())
    }

    /// Shows a frame by an edit of the turn's message, or as a new message. Returns the message.
    async fn put(
        &self,
        place: ChatTarget,
        thread: &ThreadId,
        correlation: &CorrelationId,
        known: Option<i64>,
        outgoing: &OutgoingMessage,
    ) -> Option<i64> {
        let noted = self.streamed.get(thread).await.filter(|live| live.done.is_none());
        let (mine, stale) = match noted {
            Some(live) if live.correlation == *correlation => (Some(live.message), None),
            Some(live) => (None, Some(live.message)),
            None => (None, None),
        };
        if let Some(message) = known.or(mine) {
            match self.client.edit(place, message, outgoing, SendPriority::Optional).await {
                Ok(Edited::Gone) => {
                    self.streamed.remove(thread).await;
                    self.state(thread, correlation, |state| state.sent = false);
                }
                // Without edits one frame is enough: the answer replaces it.
                Ok(Edited::Yes | Edited::No) | Err(_) => return Some(message),
            }
        } else if let Some(message) = stale {
            // A partial answer of a turn that never ended.
            self.client.take_away(place, thread, message, &self.streamed).await;
        }
        // A message that cannot be edited would stay beside the answer.
        if !self.client.surely_edits(place, outgoing).await {
            return None;
        }
        let since = self.state(thread, correlation, |state| {
            (!std::mem::replace(&mut state.sent, true)).then_some(state.since)
        })?;
        let (tell, told) = oneshot::channel();
        let first = FirstDraft {
            client: self.client.clone(),
            streamed: self.streamed.clone(),
            states: self.states.clone(),
            place,
            thread: thread.clone(),
            correlation: correlation.clone(),
            since,
        };
        {
            let mut sends = self.sends.lock().unwrap_or_else(PoisonError::into_inner);
            while sends.try_join_next().is_some() {}
            let outgoing = outgoing.clone();
            sends.spawn(async move {
                // The caller may be gone; the message is found by its note later.
                let _gone = tell.send(first.send(&outgoing).await).is_err();
            });
        }
        told.await.ok().flatten()
    }

    /// Shows a draft; false when the server did not take it.
    async fn draft(&self, place: ChatTarget, correlation: &CorrelationId, picture: &Rendered) -> bool {
        let mut body = json!({ "chat_id": place.chat, "draft_id": draft_id(correlation), "can_stop": true });
        if let (Some(topic), Some(body)) = (place.topic, body.as_object_mut()) {
            body.insert("message_thread_id".to_owned(), json!(topic));
        }
        let said = |text: &str, mode: Option<&str>| {
            let mut body = body.clone();
            if let Some(body) = body.as_object_mut() {
                body.insert("text".to_owned(), json!(text));
                body.extend(mode.map(|mode| ("parse_mode".to_owned(), json!(mode))));
            }
            body
        };
        let mut asked = self.ask_draft(place, said(&picture.html, Some("HTML"))).await;
        if asked.as_ref().is_err_and(|error| obstacle(error) == Obstacle::BadMarkup) {
            asked = self.ask_draft(place, said(&picture.plain, None)).await;
        }
        match asked {
            Ok(_) => {
                self.drafts.succeeded();
                true
            }
            Err(error) => {
                if is_unable(&error) {
                    tracing::info!(
                        %error,
                        "drafts not supported, streaming by edits"
                    );
                    self.drafts.is_missing(&error);
                }
                false
            }
        }
    }

    async fn ask_draft(&self, place: ChatTarget, body: Value) -> Result<Value, ApiError> {
        self.client.ask(place, "sendMessageDraft", &body).await
    }

    async fn type_in(&self, place: ChatTarget) {
        let mut body = json!({ "chat_id": place.chat, "action": "typing" });
        if let (Some(topic), Some(body)) = (place.topic, body.as_object_mut()) {
            body.insert("message_thread_id".to_owned(), json!(topic));
        }
        match tokio::time::timeout(SIGN, self.client.ask(place, "sendChatAction", &body)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(chat = place.chat, %error, "typing indicator failed"),
            Err(_) => tracing::debug!(chat = place.chat, "typing indicator timed out"),
        }
    }

    fn drafts_in(&self, place: ChatTarget) -> bool {
        !place.is_group() && self.drafts.is_there()
    }

    /// Changes the state of a turn; the state of another turn in the same chat is dropped.
    fn state<T>(
        &self,
        thread: &ThreadId,
        correlation: &CorrelationId,
        work: impl FnOnce(&mut DraftState) -> T,
    ) -> T {
        let new = || DraftState::new(correlation, Instant::now());
        self.locked(|states| {
            if states.len() >= MOST {
                states.retain(|_, state| state.shown_at.elapsed() < QUIET);
            }
            let state = states.entry(thread.clone()).or_insert_with(new);
            if state.correlation != *correlation {
                *state = new();
            }
            work(state)
        })
    }

    fn shown(&self, thread: &ThreadId, correlation: &CorrelationId, picture: Rendered) {
        self.state(thread, correlation, |state| {
            state.shown = Some(picture);
            state.shown_at = Instant::now();
        });
    }

    fn locked<T>(&self, work: impl FnOnce(&mut HashMap<ThreadId, DraftState>) -> T) -> T {
        work(&mut self.states.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DraftTarget for DraftRenderer {
    fn render_draft(
        &self,
        thread: ThreadId,
        correlation: CorrelationId,
        frame: DraftFrame,
        message: Option<String>,
    ) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let before = message.clone();
            let shown = self.show(&thread, correlation, frame, message);
            tokio::time::timeout(DEADLINE, shown).await.unwrap_or(before)
        })
    }

    fn over(&self, thread: ThreadId, correlation: CorrelationId) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if tokio::time::timeout(DEADLINE, self.clear(&thread, &correlation)).await.is_err() {
                tracing::debug!(%thread, "draft removal timed out");
            }
        })
    }

    fn types_throughout(&self) -> bool {
        true
    }

    fn interval(&self, thread: &ThreadId) -> Duration {
        let place = ChatTarget::of(thread, &self.chats);
        let drafts = place.is_some_and(|place| self.drafts_in(place));
        let group = place.is_some_and(ChatTarget::is_group);
        let seen = self.locked(|states| states.get(thread).is_some_and(|state| state.shown.is_some()));
        match (drafts, group, seen) {
            (true, _, true) => BETWEEN_DRAFTS,
            (true, _, false) => HOLD_DRAFT,
            (false, _, false) => HOLD_MESSAGE,
            (false, false, true) => BETWEEN_EDITS,
            (false, true, true) => BETWEEN_GROUP_EDITS,
        }
    }
}

/// The draft id of a turn: stable, never zero.
pub(super) fn draft_id(correlation: &CorrelationId) -> i64 {
    let mixed = correlation.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    i64::from(u32::try_from(mixed >> 33).unwrap_or_default().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drafts_number_is_steady_and_fits_everywhere() {
        let of = |name: &str| draft_id(&name.parse().unwrap());
        assert_eq!(of("run_1"), of("run_1"));
        assert_ne!(of("run_1"), of("run_2"));
        assert!((0..500).all(|n| (1..=i64::from(i32::MAX)).contains(&of(&format!("run_{n}")))));
    }
}
