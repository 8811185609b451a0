//! The first message of a turn that is shown, which may take longer to arrive than anybody waits for it.

use std::sync::{Arc, PoisonError};

use tokio::time::Instant;

use super::api::ApiError;
use super::chat_target::ChatTarget;
use super::client::{Client, OutgoingMessage};
use super::draft_state::{DraftState, DraftStates};
use super::limits::Weight;
use super::live::{Live, Lives};
use crate::domain::{CorrelationId, ThreadId};

/// The first message of a turn, on its way for as long as that takes: longer, perhaps, than anybody waits for a frame, and
/// longer than the turn.
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
    /// Sends it. Gives its number where the turn still shows what it says.
    pub(super) async fn send(self, letter: &OutgoingMessage) -> Option<i64> {
        match self.post.send(self.place, letter, Weight::May).await {
            Ok(Some(message)) => {
                let live = Live { correlation: self.correlation.clone(), message, done: None };
                self.lives.get(&self.thread).await;
                // Whoever ends the turn first says so, and then looks for the message: either it is noted by then, or
                // nobody wants it any more.
                if self.in_time(|_| self.lives.note(&self.thread, live)).is_some() {
                    self.lives.save(&self.thread).await;
                    return Some(message);
                }
                if !self.post.delete(self.place, message).await {
                    self.lives.leave(&self.thread, message).await;
                }
            }
            // It may be there; and where it has no number it cannot be changed.
            Ok(None) | Err(ApiError::Unsure(_) | ApiError::Gateway(_)) => {}
            Err(ApiError::Refused { code: 500.., .. }) => {}
            Err(_) => drop(self.in_time(|stroke| stroke.sent = false)),
        }
        None
    }

    /// Works on what is remembered of the turn, unless it has said something meanwhile.
    fn in_time<T>(&self, work: impl FnOnce(&mut DraftState) -> T) -> Option<T> {
        let mut strokes = self.strokes.lock().unwrap_or_else(PoisonError::into_inner);
        let stroke = strokes.get_mut(&self.thread)?;
        (stroke.correlation == self.correlation && stroke.since == self.since).then(|| work(stroke))
    }
}
