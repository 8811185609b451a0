//! The `getUpdates` loop. The offset that confirms updates advances only when they are accepted, that is, durable; while
//! some are not, polling continues from the oldest of those ([`Offsets`]).

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::api::{ApiError, BotApi};
use super::connect::ALLOWED_UPDATES;
use super::phrases::bad_token;
use crate::adapters::Backoff;
use crate::adapters::chat::inbound::{InFlight, Pipeline};
use crate::ports::{AdapterError, AdapterIo, ChatParts};

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
    pub(super) parts: &'a ChatParts,
    pub(super) stop: &'a CancellationToken,
}

impl UpdateLoop<'_> {
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
        let chance = self.parts.ids.chance();
        match error {
            // The token was valid at the start: only a failing `getMe` as well means that it was revoked.
            ApiError::Refused { code: 401 | 404, .. }
                if breaks >= MOST_REFUSALS && is_unknown(self.api).await =>
            {
                let language = self.parts.language.unwrap_or_default();
                Err(AdapterError::Fatal(bad_token(&error.to_string(), language)))
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

/// How many accepted updates are remembered, for servers that return them again for any offset.
const REMEMBERED: usize = 1024;

/// The received and unconfirmed updates.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    working: BTreeSet<i64>,
    /// Recently accepted ones, oldest first: they may be returned again.
    done: VecDeque<i64>,
    /// The last id of the last batch. Ids can restart after a quiet week, so this is not the highest ever.
    last: Option<i64>,
}

impl Offsets {
    /// The next offset: every update below it is accepted.
    pub(super) fn next(&self) -> Option<i64> {
        let after = self.last.map(|last| last.saturating_add(1));
        self.working.first().copied().or(after)
    }

    /// Adds a batch. Returns the updates to handle.
    pub(super) fn offer(&mut self, batch: &[i64]) -> Vec<i64> {
        let fresh: Vec<i64> = batch.iter().copied().filter(|number| !self.done.contains(number)).collect();
        // A batch of repeated updates only does not advance the offset.
        if !fresh.is_empty() {
            self.last = batch.iter().max().copied();
        }
        fresh.into_iter().filter(|number| self.working.insert(*number)).collect()
    }

    pub(super) fn done(&mut self, number: i64) {
        if self.working.remove(&number) {
            if self.done.len() >= REMEMBERED {
                self.done.pop_front();
            }
            self.done.push_back(number);
        }
    }

    /// Whether no update is in progress.
    pub(super) fn at_rest(&self) -> bool {
        self.working.is_empty()
    }

    /// Resets the offset after a silence in which ids may have restarted.
    pub(super) fn forget(&mut self) {
        if self.at_rest() {
            self.last = None;
            self.done.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn retry_after_of_get_updates_is_capped_at_three_minutes() {
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

    #[test]
    fn the_offset_waits_for_the_oldest_that_is_not_accepted() {
        let mut offsets = Offsets::default();
        assert_eq!(offsets.next(), None);
        assert_eq!(offsets.offer(&[5, 6, 7]), [5, 6, 7]);
        offsets.done(6);
        offsets.done(7);
        assert_eq!(offsets.next(), Some(5));
        assert_eq!(offsets.offer(&[5, 6, 7, 9]), [9]);
        offsets.done(9);
        assert_eq!((offsets.next(), offsets.at_rest()), (Some(5), false));
        assert_eq!(offsets.offer(&[5, 6, 7, 9]), [] as [i64; 0]);
        offsets.done(5);
        assert_eq!((offsets.next(), offsets.at_rest()), (Some(10), true));
    }

    #[test]
    fn a_server_that_gives_everything_again_is_not_believed() {
        let mut offsets = Offsets::default();
        offsets.offer(&[5, 6]);
        offsets.done(5);
        offsets.done(6);
        assert_eq!(offsets.offer(&[5, 6]), [] as [i64; 0]);
        assert_eq!(offsets.next(), Some(7));
        assert_eq!(offsets.offer(&[5, 6, 7]), [7]);
    }

    #[test]
    fn numbers_may_start_anew() {
        let mut offsets = Offsets::default();
        offsets.offer(&[900]);
        offsets.done(900);
        offsets.forget();
        assert_eq!(offsets.next(), None);
        assert_eq!(offsets.offer(&[3, 4]), [3, 4]);
        offsets.done(3);
        offsets.done(4);
        assert_eq!(offsets.next(), Some(5));
    }

    /// A server that drops updates below an offset and returns the rest.
    #[derive(Debug, Default)]
    struct Server {
        pending: BTreeSet<i64>,
        made: i64,
    }

    #[derive(Clone, Debug)]
    enum Step {
        Make(u8),
        Poll,
        LostPoll,
        Accept(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..5_u8).prop_map(Step::Make),
            Just(Step::Poll),
            Just(Step::LostPoll),
            any::<u8>().prop_map(Step::Accept),
        ]
    }

    proptest! {
        #[test]
        fn nothing_is_confirmed_before_it_is_accepted_and_each_is_accepted_once(
            steps in proptest::collection::vec(step(), 1..120),
        ) {
            let (mut server, mut offsets) = (Server::default(), Offsets::default());
            let (mut accepted, mut working): (BTreeSet<i64>, BTreeSet<i64>) = Default::default();
            for step in steps {
                match step {
                    Step::Make(count) => for _ in 0..count {
                        server.made += 1;
                        server.pending.insert(server.made);
                    },
                    Step::Poll | Step::LostPoll => {
                        let asked = offsets.next();
                        if let Some(asked) = asked {
                            let kept = server.pending.split_off(&asked);
                            for confirmed in std::mem::replace(&mut server.pending, kept) {
                                prop_assert!(accepted.contains(&confirmed), "{} was lost", confirmed);
                            }
                        }
                        if matches!(step, Step::Poll) {
                            let batch: Vec<i64> = server.pending.iter().take(10).copied().collect();
                            for fresh in offsets.offer(&batch) {
                                prop_assert!(!accepted.contains(&fresh), "{} came twice", fresh);
                                prop_assert!(working.insert(fresh));
                            }
                        }
                    }
                    Step::Accept(which) => {
                        let Some(number) = working.iter().nth(usize::from(which) % working.len().max(1)).copied()
                        else { continue };
                        working.remove(&number);
                        accepted.insert(number);
                        offsets.done(number);
                    }
                }
            }
            // In the end every update is accepted.
            for _ in 0..server.made + 2 {
                for number in std::mem::take(&mut working) {
                    accepted.insert(number);
                    offsets.done(number);
                }
                let asked = offsets.next();
                if let Some(asked) = asked {
                    server.pending = server.pending.split_off(&asked);
                }
                let batch: Vec<i64> = server.pending.iter().take(10).copied().collect();
                working.extend(offsets.offer(&batch));
            }
            prop_assert_eq!(accepted.len() as i64, server.made);
            prop_assert!(offsets.at_rest());
        }
    }
}
