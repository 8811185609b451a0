//! The "received" reaction on a message. Best effort: no caller waits for it, and after a refusal it is switched off.

use std::time::Duration;

use tokio::sync::mpsc;

use super::api::Api;
use super::fault::ApiError;

/// The platform's name of the emoji.
const EMOJI: &str = "Get";
/// Deadline of one reaction.
const WITHIN: Duration = Duration::from_secs(5);
/// Capacity of the queue; further reactions are dropped.
const QUEUED: usize = 64;

/// Queues reactions.
#[derive(Clone, Debug)]
pub(super) struct Reactions {
    messages: mpsc::Sender<String>,
}

impl Reactions {
    /// The queue and its receiving end.
    pub(super) fn new() -> (Self, mpsc::Receiver<String>) {
        let (messages, waiting) = mpsc::channel(QUEUED);
        (Self { messages }, waiting)
    }

    /// Queues a reaction. Never waits.
    pub(super) fn add(&self, message: &str) {
        // Dropped while the queue is full.
        drop(self.messages.try_send(message.to_owned()));
    }
}

/// Sends reactions until every sender is dropped.
pub(super) async fn send_reactions(api: Api, mut waiting: mpsc::Receiver<String>) {
    let mut wanted = true;
    while let Some(message) = waiting.recv().await {
        if !wanted {
            continue;
        }
        match tokio::time::timeout(WITHIN, api.react(&message, EMOJI)).await {
            // A missing permission or call fails every time.
            Ok(Err(error)) if error.is_missing_scope() || error.is_no_such_call() => {
                tracing::info!(%error, "received reactions switched off");
                wanted = false;
            }
            Ok(Err(ApiError::Network(_) | ApiError::Busy { .. } | ApiError::Refused { .. })) | Err(_) => {}
            Ok(Ok(())) => {}
        }
    }
}
