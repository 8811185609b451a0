//! The first streamed message of a turn, whose send may outlive the caller's wait.

use std::sync::{Arc, PoisonError};

use tokio::time::Instant;

use super::api::ApiError;
use super::chat_target::ChatTarget;
use super::client::{Client, OutgoingMessage};
use super::draft_state::{DraftState, DraftStates};
use super::limits::Weight;
use super::live::{Live, Lives};
use crate::domain::{CorrelationId, ThreadId};

/// The first message of a turn, in flight for as long as the send takes, perhaps longer than the turn.
pub(super) struct FirstDraft {
    pub(super) post: Client,
    pub(super) lives: Arc<Lives>,
    pub(super) strokes: Arc<DraftStates>,
    pub(super) place: ChatTarget,
    pub(super) thread: ThreadId,
    pub(super) correlation: CorrelationId,
    pub(super) since: Instant,
}

impl FirstDraft {
    /// Sends it. Returns its id where the turn is still streamed.
    pub(super) async fn send(self, outgoing: &OutgoingMessage) -> Option<i64> {
        match self.post.send(self.place, outgoing, Weight::May).await {
            Ok(Some(message)) => {
                let live = Live { correlation: self.correlation.clone(), message, done: None };
                self.lives.get(&self.thread).await;
                // The end of a turn is recorded before its message is looked up: either the message is noted by then, or
                // it is deleted here.
                if self.in_time(|_| self.lives.note(&self.thread, live)).is_some() {
                    self.lives.save(&self.thread).await;
                    return Some(message);
                }
                if !self.post.delete(self.place, message).await {
                    self.lives.leave(&self.thread, message).await;
                }
            }
            // It may have arrived; without an id it cannot be edited.
            Ok(None) | Err(ApiError::Unsure(_) | ApiError::Gateway(_)) => {}
            Err(ApiError::Refused { code: 500.., .. }) => {}
            Err(_) => drop(self.in_time(|stroke| stroke.sent = false)),
        }
        None
    }

    /// Changes the state of the turn, unless the turn has delivered text meanwhile.
    fn in_time<T>(&self, work: impl FnOnce(&mut DraftState) -> T) -> Option<T> {
        let mut strokes = self.strokes.lock().unwrap_or_else(PoisonError::into_inner);
        let stroke = strokes.get_mut(&self.thread)?;
        (stroke.correlation == self.correlation && stroke.since == self.since).then(|| work(stroke))
    }
}
