//! Webhook calls: verified, passed to the pipeline, and answered when their update is accepted.

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;
use tokio_util::sync::CancellationToken;

use super::api::BotApi;
use crate::adapters::chat::inbound::{Outcome, Pipeline, Webhook};
use crate::ports::{AdapterError, AdapterIo, BoxFuture, Hook, HookAnswer, HookRequest};

const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// Interval of the webhook check.
const CHECK: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct TelegramHook {
    secret: SecretString,
    events: Webhook,
}

impl TelegramHook {
    /// A hook that accepts calls with this secret.
    pub(super) fn new(secret: SecretString) -> Self {
        Self { secret, events: Webhook::default() }
    }

    fn knows_secret(&self, request: &HookRequest) -> bool {
        let given = request.headers.get(SECRET_HEADER).map(http::HeaderValue::as_bytes).unwrap_or_default();
        let secret = self.secret.expose_secret().as_bytes();
        !secret.is_empty() && bool::from(given.ct_eq(secret))
    }

    /// Accepts calls until stopped.
    pub(super) async fn serve(
        &self,
        api: &BotApi,
        pipeline: Arc<Pipeline>,
        io: &AdapterIo,
        stop: &CancellationToken,
    ) -> Result<(), AdapterError> {
        let _open = self.events.open(pipeline);
        let mut check = tokio::time::interval(CHECK);
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                _ = check.tick() => {}
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = look(api, io) => {}
            }
        }
    }
}

impl Hook for TelegramHook {
    fn path(&self) -> &'static str {
        "/hooks/telegram"
    }

    fn call(&self, request: HookRequest) -> BoxFuture<'_, HookAnswer> {
        Box::pin(async move {
            if !self.knows_secret(&request) {
                return HookAnswer::of(401);
            }
            let Ok(update) = serde_json::from_slice::<Value>(&request.body) else {
                return HookAnswer::of(400);
            };
            match self.events.receive(&update).await {
                Some(Outcome::Taken | Outcome::Answered(_)) => HookAnswer::of(200),
                // Telegram sends the update again; one that was accepted meanwhile is deduplicated.
                Some(Outcome::Again(_)) | None => HookAnswer::of(503),
            }
        })
    }
}

/// Checks the webhook's state at Telegram.
async fn look(api: &BotApi, io: &AdapterIo) {
    match api.ask::<Value>("getWebhookInfo", &json!({}), Duration::from_secs(10)).await {
        Ok(info) => {
            io.health.alive(io.clock.now());
            if let Some(trouble) = info.get("last_error_message").and_then(Value::as_str) {
                tracing::warn!(trouble, "telegram reports webhook errors");
            }
        }
        Err(error) => tracing::warn!(%error, "webhook check failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(secret: Option<&str>, body: &str) -> HookRequest {
        let mut headers = http::HeaderMap::new();
        if let Some(secret) = secret {
            headers.insert(SECRET_HEADER, secret.parse().unwrap());
        }
        HookRequest { headers, body: body.as_bytes().to_vec() }
    }

    #[tokio::test]
    async fn only_whoever_knows_the_secret_is_let_in_and_while_no_pipeline_runs_it_comes_again() {
        let hook = TelegramHook::new("s3cret".into());
        for (secret, body, status) in [
            (None, "{}", 401),
            (Some(""), "{}", 401),
            (Some("s3cre"), "{}", 401),
            (Some("s3cret"), "{", 400),
            (Some("s3cret"), "{\"update_id\":1}", 503),
        ] {
            assert_eq!(hook.call(request(secret, body)).await, HookAnswer::of(status), "{secret:?}");
        }
        let open = TelegramHook::new("".into());
        assert_eq!(open.call(request(Some(""), "{}")).await.status, 401, "no secret lets nobody in");
    }
}
