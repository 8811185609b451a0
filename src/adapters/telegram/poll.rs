//! The `getUpdates` loop. The offset that confirms updates advances only when they are accepted, that is, durable; while
//! some are not, polling continues from the oldest of those.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::api::{ApiError, BotApi};
use super::offsets::Offsets;
use super::run::{ALLOWED_UPDATES, bad_token};
use crate::adapters::Backoff;
use crate::adapters::chat::inbound::{InFlight, Pipeline};
use crate::ports::{AdapterError, AdapterIo, Ids};

/// The long-poll time-out that Telegram is asked for.
const LONG_POLL: Duration = Duration::from_secs(30);
/// Extra time for the response before the request counts as stalled.
const STALL: Duration = Duration::from_secs(10);
/// How long the loop waits for a batch before it polls again.
const SETTLING: Duration = Duration::from_millis(150);
/// Pause after a poll that returned only updates in progress, and after one that can return nothing else before
/// some of those are accepted.
const PAUSE: Duration = Duration::from_millis(250);
const LONG_PAUSE: Duration = Duration::from_secs(2);
/// A server that returns an empty result faster than this does not long-poll; the loop pauses before it polls again.
const AT_ONCE: Duration = Duration::from_millis(30);
/// After this many refusals the loop calls `getMe`.
const MOST_REFUSALS: u32 = 3;
/// Most updates in one response.
const BATCH: usize = 100;
/// Update ids may restart after a week without updates.
const QUIET: Duration = Duration::from_secs(6 * 24 * 3600);
/// Back-off after errors.
const TROUBLE: Backoff = Backoff {
    first: Duration::from_millis(300),
    longest: Duration::from_secs(30),
    stable_after: Duration::ZERO,
};
/// Caps `retry_after` for getUpdates at 3 minutes: an unheard command costs more than a refused poll.
const LONGEST_ASKED: Duration = Duration::from_secs(180);
/// Pause after a 409: another program polls with the same token.
const CONFLICT: Backoff =
    Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(60), stable_after: Duration::ZERO };

/// The number of an update.
pub(super) fn number_of(update: &Value) -> Option<i64> {
    update.get("update_id").and_then(Value::as_i64)
}

/// State of the update loop.
pub(super) struct UpdateLoop<'a> {
    pub(super) api: &'a BotApi,
    pub(super) pipeline: Arc<Pipeline>,
    /// The updates that are not accepted yet.
    pub(super) working: InFlight<i64>,
    pub(super) io: &'a AdapterIo,
    pub(super) ids: &'a dyn Ids,
    pub(super) stop: &'a CancellationToken,
}

impl UpdateLoop<'_> {
    /// Polls until cancelled.
    pub(super) async fn run(mut self) -> Result<(), AdapterError> {
        let mut offsets = Offsets::default();
        let mut breaks = 0;
        let mut heard = Instant::now();
        loop {
            if heard.elapsed() > QUIET {
                offsets.forget();
                heard = Instant::now();
            }
            let asked = offsets.next();
            let began = Instant::now();
            let stop = self.stop.clone();
            let answer = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                answer = self.ask(asked, &mut offsets) => answer,
            };
            match answer {
                Ok(batch) => {
                    breaks = 0;
                    self.io.health.alive(self.io.clock.now());
                    if !batch.is_empty() {
                        heard = Instant::now();
                    }
                    let given = batch.len();
                    let any = self.take(batch, &mut offsets);
                    // Telegram returns no more before the oldest are confirmed.
                    let blocked = given >= BATCH && !any;
                    let pause = if blocked { LONG_PAUSE } else { PAUSE };
                    tokio::select! {
                        () = stop.cancelled() => return Ok(()),
                        () = self.settle(any, (given > 0).then_some(pause), began, &mut offsets) => {}
                    }
                }
                Err(error) => {
                    breaks += 1;
                    let wait = tokio::select! {
                        () = stop.cancelled() => return Ok(()),
                        wait = self.judge(&error, breaks) => wait?,
                    };
                    tokio::select! {
                        () = stop.cancelled() => return Ok(()),
                        () = self.wait(wait, &mut offsets) => {}
                    }
                }
            }
        }
    }

    /// Polls once while updates in progress continue.
    async fn ask(&mut self, offset: Option<i64>, offsets: &mut Offsets) -> Result<Vec<Value>, ApiError> {
        let mut body =
            json!({ "timeout": LONG_POLL.as_secs(), "limit": BATCH, "allowed_updates": ALLOWED_UPDATES });
        if let (Some(offset), Some(body)) = (offset, body.as_object_mut()) {
            body.insert("offset".to_owned(), offset.into());
        }
        let api = self.api.clone();
        let mut answer = std::pin::pin!(api.ask("getUpdates", &body, LONG_POLL + STALL));
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return answer,
                number = self.working.next() => offsets.done(number),
            }
        }
    }

    /// Queues new updates in order. Returns whether there were any.
    fn take(&mut self, mut batch: Vec<Value>, offsets: &mut Offsets) -> bool {
        batch.sort_by_key(number_of);
        let numbers: Vec<i64> = batch.iter().filter_map(number_of).collect();
        if numbers.len() < batch.len() {
            tracing::warn!(count = batch.len() - numbers.len(), "updates without an id ignored");
        }
        let mut fresh = offsets.offer(&numbers);
        let any = !fresh.is_empty();
        for update in batch {
            let place = fresh.iter().position(|number| number_of(&update) == Some(*number));
            if let Some(number) = place.map(|place| fresh.swap_remove(place)) {
                self.working.receive(&self.pipeline, &update, number);
            }
        }
        any
    }

    /// Waits a bounded time until everything is accepted; where nothing is new, until something is accepted, at most
    /// `known`.
    async fn settle(&mut self, any: bool, known: Option<Duration>, began: Instant, offsets: &mut Offsets) {
        if any {
            let deadline = Instant::now() + SETTLING;
            while !offsets.at_rest() {
                match tokio::time::timeout_at(deadline, self.working.next()).await {
                    Ok(number) => offsets.done(number),
                    Err(_) => return,
                }
            }
        } else if let Some(pause) = known {
            // An immediate poll would return the same updates.
            if let Ok(number) = tokio::time::timeout(pause, self.working.next()).await {
                offsets.done(number);
            }
        } else if began.elapsed() < AT_ONCE {
            self.wait(AT_ONCE, offsets).await;
        }
    }

    /// Sleeps while updates in progress continue.
    async fn wait(&mut self, wait: Duration, offsets: &mut Offsets) {
        let deadline = Instant::now() + wait;
        while let Ok(number) = tokio::time::timeout_at(deadline, self.working.next()).await {
            offsets.done(number);
        }
    }

    /// Classifies a polling error and returns the pause before the next poll.
    async fn judge(&self, error: &ApiError, breaks: u32) -> Result<Duration, AdapterError> {
        let chance = self.ids.chance();
        match error {
            // The token was valid at the start: only a failing `getMe` as well means that it was revoked.
            ApiError::Refused { code: 401 | 404, .. }
                if breaks >= MOST_REFUSALS && is_unknown(self.api).await =>
            {
                Err(AdapterError::Fatal(bad_token(error)))
            }
            ApiError::Refused { code: 409, .. } => {
                if error.says("webhook") {
                    tracing::warn!(%error, "webhook of another program found, deleting it");
                    delete_webhook(self.api).await;
                } else {
                    tracing::error!(
                        %error,
                        "another program polls this bot's updates: stop it, or use a bot for each"
                    );
                }
                Ok(CONFLICT.delay(breaks, chance))
            }
            _ => {
                let asked = asked_wait(error).map(|after| after + Duration::from_secs_f64(chance));
                let wait = asked.unwrap_or_else(|| TROUBLE.delay(breaks, chance));
                tracing::warn!(%error, breaks, ?wait, "getUpdates failed");
                Ok(wait)
            }
        }
    }
}

/// The requested `retry_after`, capped.
pub(super) fn asked_wait(error: &ApiError) -> Option<Duration> {
    match error {
        ApiError::Refused { retry_after, .. } => retry_after.map(|after| after.min(LONGEST_ASKED)),
        _ => None,
    }
}

/// Whether the token was revoked.
async fn is_unknown(api: &BotApi) -> bool {
    let asked = api.ask::<Value>("getMe", &json!({}), Duration::from_secs(20)).await;
    matches!(asked, Err(ApiError::Refused { code: 401 | 404, .. }))
}

/// Deletes a webhook so that polling works; pending updates are kept.
pub(super) async fn delete_webhook(api: &BotApi) {
    let body = json!({ "drop_pending_updates": false });
    if let Err(error) = api.ask::<Value>("deleteWebhook", &body, Duration::from_secs(20)).await {
        tracing::warn!(%error, "deleteWebhook failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_deaf_for_hours_because_telegram_asks_for_it() {
        let refused = |retry_after: Option<u64>| ApiError::Refused {
            code: 429,
            description: "Too Many Requests".to_owned(),
            retry_after: retry_after.map(Duration::from_secs),
            migrate_to: None,
        };
        for (asked, granted) in
            [(None, None), (Some(3), Some(3)), (Some(180), Some(180)), (Some(86_400), Some(180))]
        {
            assert_eq!(asked_wait(&refused(asked)), granted.map(Duration::from_secs), "{asked:?}");
        }
    }
}
