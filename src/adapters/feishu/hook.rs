//! The webhook: verifies requests of our listener, passes their events to the pipeline, and answers them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::webhook::{OpenedRequest, Replays, Seal, Signature};
use crate::adapters::chat::inbound::{Outcome, Webhook};
use crate::domain::Timestamp;
use crate::ports::{HookAnswer, HookRequest};

/// The webhook of one app, with the requests accepted before.
#[derive(Debug)]
pub(super) struct FeishuHook {
    pub(super) seal: Seal,
    pub(super) events: Webhook,
    replays: Mutex<Replays>,
}

impl FeishuHook {
    pub(super) fn new(seal: Seal) -> Self {
        Self { seal, events: Webhook::default(), replays: Mutex::default() }
    }

    pub(super) async fn answer(&self, request: &HookRequest, now: Timestamp) -> HookAnswer {
        let header = |name: &str| request.headers.get(name).and_then(|value| value.to_str().ok());
        let proof = Signature {
            timestamp: header("x-lark-request-timestamp"),
            nonce: header("x-lark-request-nonce"),
            signature: header("x-lark-signature"),
        };
        match self.seal.open(proof, &request.body, now) {
            Ok(OpenedRequest::Challenge(challenge)) => answer(200, &json!({ "challenge": challenge })),
            Ok(OpenedRequest::Event { nonce: Some(nonce), .. }) if self.replays().knows(&nonce) => {
                tracing::warn!("webhook request replayed");
                answer(200, &json!({}))
            }
            Ok(OpenedRequest::Event { event, nonce }) => self.receive(&event, nonce, now).await,
            Err(rejected) => {
                tracing::warn!(%rejected, "webhook request refused");
                answer(403, &json!({ "msg": "refused" }))
            }
        }
    }

    async fn receive(&self, event: &Value, nonce: Option<String>, now: Timestamp) -> HookAnswer {
        let response = match self.events.receive(event).await {
            Some(Outcome::Taken) => json!({}),
            Some(Outcome::Answered(data)) => data,
            Some(Outcome::Again(why)) => {
                tracing::warn!(why, "event not accepted, redelivery requested");
                return answer(500, &json!({}));
            }
            None => return HookAnswer::of(503),
        };
        if let Some(nonce) = nonce {
            self.replays().remember(nonce, now);
        }
        answer(200, &response)
    }

    fn replays(&self) -> MutexGuard<'_, Replays> {
        self.replays.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer(status: u16, body: &Value) -> HookAnswer {
    HookAnswer { status, body: body.to_string().into_bytes() }
}
