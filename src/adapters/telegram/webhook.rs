//! Webhook calls. They are handled like polled updates; a call is answered when its update is accepted.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::api::Api;
use super::update_queue::UpdateQueue;
use crate::ports::{AdapterError, AdapterIo, BoxFuture, Hook, HookAnswer, HookRequest};

/// The header with the secret.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// Capacity of the queue of calls.
const WAITING: usize = 128;
/// Number of waiting calls at which closed ones are dropped.
const MOST_WAITING: usize = 1024;
/// Deadline of a call; Telegram sends the update again.
const PATIENCE: Duration = Duration::from_secs(50);
/// Interval at which slow updates are stored on disk.
const MAKE_ROOM: Duration = Duration::from_secs(1);
/// Interval of the webhook check.
const CHECK: Duration = Duration::from_secs(30);

/// An update, and the channel for its confirmation.
#[derive(Debug)]
pub(super) struct Call {
    update: Value,
    reply: oneshot::Sender<()>,
}

#[derive(Debug)]
pub struct TelegramHook {
    secret: SecretString,
    calls: mpsc::Sender<Call>,
}

impl TelegramHook {
    /// A hook that accepts calls with this secret, and the queue of its calls.
    pub(super) fn new(secret: SecretString) -> (Self, mpsc::Receiver<Call>) {
        let (calls, receiver) = mpsc::channel(WAITING);
        (Self { secret, calls }, receiver)
    }

    fn knows_secret(&self, request: &HookRequest) -> bool {
        let given = request.headers.get(SECRET_HEADER).map(http::HeaderValue::as_bytes).unwrap_or_default();
        let secret = self.secret.expose_secret().as_bytes();
        !secret.is_empty() && bool::from(given.ct_eq(secret))
    }

    async fn take(&self, update: Value) -> Option<()> {
        let (reply, answer) = oneshot::channel();
        self.calls.send(Call { update, reply }).await.ok()?;
        answer.await.ok()
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
            let Ok(update) = serde_json::from_slice(&request.body) else { return HookAnswer::of(400) };
            match tokio::time::timeout(PATIENCE, self.take(update)).await {
                Ok(Some(())) => HookAnswer::of(200),
                // Telegram sends the update again; one that was accepted meanwhile is deduplicated.
                Ok(None) | Err(_) => HookAnswer::of(503),
            }
        })
    }
}

/// Handles calls until stopped.
pub(super) async fn serve(
    api: &Api,
    queue: UpdateQueue,
    calls: &mut mpsc::Receiver<Call>,
    io: &AdapterIo,
    stop: &CancellationToken,
) -> Result<(), AdapterError> {
    // In parallel: the webhook check must not delay a call.
    tokio::select! {
        ended = take_calls(queue, calls, io, stop) => ended,
        never = watch(api, io) => never,
    }
}

async fn take_calls(
    mut queue: UpdateQueue,
    calls: &mut mpsc::Receiver<Call>,
    io: &AdapterIo,
    stop: &CancellationToken,
) -> Result<(), AdapterError> {
    let mut waiting: BTreeMap<i64, oneshot::Sender<()>> = BTreeMap::new();
    // The same update may be sent twice at a time, so calls are numbered.
    let mut count = 0;
    let mut slow = tokio::time::interval(MAKE_ROOM);
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            // A call that is not received waits, times out, and is sent again.
            Some(call) = calls.recv(), if !queue.is_full() => {
                count += 1;
                if waiting.len() >= MOST_WAITING {
                    waiting.retain(|_, reply| !reply.is_closed());
                }
                waiting.insert(count, call.reply);
                queue.take(count, call.update);
                io.health.alive(io.clock.now());
            }
            // Telegram limits concurrent calls: none is held for long.
            _ = slow.tick() => {
                queue.make_room();
            }
            number = queue.next() => if let Some(reply) = waiting.remove(&number) {
                // The caller may be gone; Telegram sends the update again.
                let _gone = reply.send(()).is_err();
            },
        }
    }
}

/// Checks the webhook at an interval. Never ends.
async fn watch<T>(api: &Api, io: &AdapterIo) -> T {
    let mut check = tokio::time::interval(CHECK);
    loop {
        check.tick().await;
        look(api, io).await;
    }
}

/// Checks the webhook's state at Telegram.
async fn look(api: &Api, io: &AdapterIo) {
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
    async fn only_whoever_knows_the_secret_is_let_in_and_hears_what_became_of_it() {
        let (hook, mut calls) = TelegramHook::new("s3cret".into());
        for (secret, body, status) in
            [(None, "{}", 401), (Some(""), "{}", 401), (Some("s3cre"), "{}", 401), (Some("s3cret"), "{", 400)]
        {
            assert_eq!(hook.call(request(secret, body)).await, HookAnswer::of(status), "{secret:?}");
        }
        for (accepted, status) in [(true, 200), (false, 503)] {
            let (answer, ()) = tokio::join!(hook.call(request(Some("s3cret"), "{\"update_id\":1}")), async {
                let call = calls.recv().await.unwrap();
                assert_eq!(call.update["update_id"], 1);
                if accepted {
                    call.reply.send(()).unwrap();
                }
            });
            assert_eq!(answer.status, status);
        }
        drop(calls);
        assert_eq!(hook.call(request(Some("s3cret"), "{}")).await.status, 503);
        let (open, _calls) = TelegramHook::new("".into());
        assert_eq!(open.call(request(Some(""), "{}")).await.status, 401, "no secret lets nobody in");
    }
}
