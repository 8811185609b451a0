//! Webhook calls: proved by a secret, answered when their update is accepted.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;

use super::api::BotApi;
use crate::adapters::chat::inbound::{Outcome, WebhookRequest, WebhookScheme};
use crate::ports::{AdapterError, AdapterIo, HookAnswer, HookRequest};

const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// Interval of the webhook check.
pub(super) const CHECK: Duration = Duration::from_secs(30);

/// The secret that proves a call of Telegram.
#[derive(Debug)]
pub(super) struct SecretHeader(pub(super) SecretString);

impl WebhookScheme for SecretHeader {
    const PATH: &'static str = "/hooks/telegram";

    fn verify(&self, request: &HookRequest) -> WebhookRequest {
        let given = request.headers.get(SECRET_HEADER).map(http::HeaderValue::as_bytes).unwrap_or_default();
        let secret = self.0.expose_secret().as_bytes();
        if secret.is_empty() || !bool::from(given.ct_eq(secret)) {
            return WebhookRequest::Answer(HookAnswer::of(401));
        }
        match serde_json::from_slice(&request.body) {
            Ok(event) => WebhookRequest::Event { event, nonce: None },
            Err(_) => WebhookRequest::Answer(HookAnswer::of(400)),
        }
    }

    fn respond(&self, outcome: Option<&Outcome>) -> HookAnswer {
        match outcome {
            Some(Outcome::Taken | Outcome::Answered(_)) => HookAnswer::of(200),
            Some(Outcome::Again(_)) | None => HookAnswer::of(503),
        }
    }
}

/// Checks the webhook's state at Telegram.
pub(super) async fn check_webhook(api: &BotApi, io: &AdapterIo) -> Result<(), AdapterError> {
    match api.ask::<Value>("getWebhookInfo", &json!({}), Duration::from_secs(10)).await {
        Ok(info) => {
            io.health.alive(io.clock.now());
            if let Some(trouble) = info.get("last_error_message").and_then(Value::as_str) {
                tracing::warn!(trouble, "telegram reports webhook errors");
            }
        }
        Err(error) => tracing::warn!(%error, "webhook check failed"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::chat::inbound::Webhook;
    use crate::ports::Hook as _;

    fn request(secret: Option<&str>, body: &str) -> HookRequest {
        let mut headers = http::HeaderMap::new();
        if let Some(secret) = secret {
            headers.insert(SECRET_HEADER, secret.parse().unwrap());
        }
        HookRequest { headers, body: body.as_bytes().to_vec() }
    }

    #[tokio::test]
    async fn a_call_needs_the_secret_and_a_running_pipeline() {
        let hook = Webhook::new(SecretHeader("s3cret".into()));
        for (secret, body, status) in [
            (None, "{}", 401),
            (Some(""), "{}", 401),
            (Some("s3cre"), "{}", 401),
            (Some("s3cret"), "{", 400),
            (Some("s3cret"), "{\"update_id\":1}", 503),
        ] {
            assert_eq!(hook.call(request(secret, body)).await, HookAnswer::of(status), "{secret:?}");
        }
        let open = Webhook::new(SecretHeader("".into()));
        assert_eq!(open.call(request(Some(""), "{}")).await.status, 401, "an empty secret proves nothing");
    }
}
