//! A sign under a message that it was received. Only polite: nobody waits for it, and a platform that does not take it
//! is not asked again.

use std::time::Duration;

use tokio::sync::mpsc;

use super::api::Api;
use super::fault::ApiError;

/// What the platform calls the sign.
const SIGN: &str = "Get";
/// How long one may take.
const WITHIN: Duration = Duration::from_secs(5);
/// How many may wait; more are left out.
const BACKLOG: usize = 64;

/// Where messages that were received are told of.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    messages: mpsc::Sender<String>,
}

impl Seen {
    /// The way to the signs, and those who wait for one.
    pub(super) fn new() -> (Self, mpsc::Receiver<String>) {
        let (messages, waiting) = mpsc::channel(BACKLOG);
        (Self { messages }, waiting)
    }

    /// This message was received. Never waits.
    pub(super) fn tell(&self, message: &str) {
        // Too many at once get fewer signs.
        drop(self.messages.try_send(message.to_owned()));
    }
}

/// Puts signs under messages until nobody tells of any.
pub(super) async fn put_signs(api: Api, mut waiting: mpsc::Receiver<String>) {
    let mut wanted = true;
    while let Some(message) = waiting.recv().await {
        if !wanted {
            continue;
        }
        match tokio::time::timeout(WITHIN, api.react(&message, SIGN)).await {
            // Without the permission, or the call, it will not work the next time either.
            Ok(Err(error)) if error.is_missing_scope() || error.is_no_such_call() => {
                tracing::info!(%error, "messages get no sign that they were received");
                wanted = false;
            }
            Ok(Err(ApiError::Network(_) | ApiError::Busy { .. } | ApiError::Refused { .. })) | Err(_) => {}
            Ok(Ok(())) => {}
        }
    }
}
