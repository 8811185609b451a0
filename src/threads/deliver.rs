//! The deliveries of one thread: in order, one at a time, retried until there is a receipt or a permanent failure.

use std::collections::VecDeque;
use std::time::Duration;

use crate::domain::{CorrelationId, Timestamp};
use crate::ports::{DeliveryError, OutboxEntry, OutboxLine, Receipt};

/// A delivery older than this is given up.
const GIVE_UP_AFTER_MS: u64 = 24 * 60 * 60 * 1000;
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// What to do after an attempt.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// Write this outbox line; then the next delivery may be attempted.
    Settle(Box<OutboxLine>),
    /// Retry the same delivery after a delay.
    Wait(Duration),
    /// Retry the same delivery after the next message of a person.
    Hold,
}

/// The deliveries of one thread.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    pending: VecDeque<OutboxEntry>,
    /// Attempts so far for the first delivery.
    attempts: u32,
    /// Whether an attempt or a retry delay is in progress.
    busy: bool,
    /// Whether an attempt is in progress.
    trying: bool,
    /// Whether delivery is on hold until a person writes.
    held: bool,
    /// A person has written since the attempt in flight began, so a `Hold` result of that attempt is outdated.
    heard: bool,
    /// How many deliveries failed permanently.
    pub(super) dead: usize,
}

impl Deliveries {
    /// Resumes the undelivered entries of the store.
    pub(super) fn resumed(undelivered: Vec<OutboxEntry>, dead: usize) -> Self {
        Self { pending: undelivered.into(), dead, ..Self::default() }
    }

    pub(super) fn outstanding(&self) -> usize {
        self.pending.len()
    }

    /// Whether a delivery of this run is outstanding.
    pub(super) fn are_of(&self, run: &CorrelationId) -> bool {
        self.pending.iter().any(|entry| entry.intent.correlation_id == *run)
    }

    /// How many deliveries can be attempted now; none while on hold.
    pub(super) fn to_do(&self) -> usize {
        if self.held { 0 } else { self.pending.len() }
    }

    /// The delivery that is being attempted, or will be next.
    pub(super) fn first(&self) -> Option<&OutboxEntry> {
        self.pending.front()
    }

    pub(super) const fn is_trying(&self) -> bool {
        self.trying
    }

    /// Ends a hold, because a person has written. Returns how many deliveries were on hold.
    pub(super) fn hear(&mut self) -> usize {
        let held = if self.held { self.pending.len() } else { 0 };
        self.held = false;
        self.heard = self.busy;
        held
    }

    pub(super) fn push(&mut self, entries: impl IntoIterator<Item = OutboxEntry>) {
        self.pending.extend(entries);
    }

    /// The delivery to attempt now, with the number of the attempt; `None` while one is in flight.
    pub(super) fn begin(&mut self) -> Option<(OutboxEntry, u32)> {
        if self.busy || self.held {
            return None;
        }
        let entry = self.pending.front()?.clone();
        self.busy = true;
        self.trying = true;
        self.heard = false;
        self.attempts += 1;
        Some((entry, self.attempts))
    }

    /// The retry delay is over.
    pub(super) fn waited(&mut self) {
        self.busy = false;
    }

    /// Processes the result of an attempt. `chance`, from 0 to 1, is the jitter of the back-off.
    pub(super) fn tried(
        &mut self,
        result: Result<Receipt, DeliveryError>,
        now: Timestamp,
        chance: f64,
    ) -> Option<Next> {
        self.trying = false;
        let entry = self.pending.front()?;
        let (id, age) = (entry.id.clone(), now.millis_since(entry.at));
        let line = match result {
            Ok(receipt) => OutboxLine::Receipt { id, at: now, receipt },
            Err(DeliveryError::Retry { after, .. }) if age < GIVE_UP_AFTER_MS => {
                return Some(Next::Wait(wait(self.attempts, after, chance)));
            }
            Err(DeliveryError::Hold { .. }) => {
                self.busy = false;
                self.held = !std::mem::take(&mut self.heard);
                return self.held.then_some(Next::Hold);
            }
            Err(DeliveryError::Retry { reason, .. } | DeliveryError::Permanent { reason }) => {
                self.dead += 1;
                OutboxLine::Dead { id, at: now, reason }
            }
        };
        self.pending.pop_front();
        self.attempts = 0;
        self.busy = false;
        Some(Next::Settle(Box::new(line)))
    }
}

/// The back-off after a number of attempts: doubling, with jitter, never less than the platform's `retry_after`.
fn wait(attempts: u32, asked: Option<Duration>, chance: f64) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1 << attempts.saturating_sub(1).min(10)).min(LONGEST_WAIT);
    let spread = doubled.mul_f64(0.75 + 0.5 * chance.clamp(0.0, 1.0));
    spread.max(asked.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CorrelationId, DeliveryId, Intent, OutboundIntent};

    fn entry(number: usize) -> OutboxEntry {
        OutboxEntry {
            id: DeliveryId::new("m", number),
            at: Timestamp::from_millis(0),
            intent: OutboundIntent {
                thread_id: "web:chat:1".parse().unwrap(),
                correlation_id: CorrelationId::made("run_", "1"),
                reply_to: None,
                intent: Intent::AssistantText { text: number.to_string() },
            },
        }
    }

    fn retry(after: Option<u64>) -> Result<Receipt, DeliveryError> {
        Err(DeliveryError::Retry { after: after.map(Duration::from_secs), reason: "busy".to_owned() })
    }

    #[test]
    fn deliveries_go_out_in_order_and_one_at_a_time() {
        let mut deliveries = Deliveries::resumed(vec![entry(0), entry(1)], 0);
        assert_eq!(deliveries.begin(), Some((entry(0), 1)));
        assert_eq!((deliveries.begin(), deliveries.is_trying()), (None, true));
        let now = Timestamp::from_millis(5);
        let settled = deliveries.tried(Ok(Receipt::default()), now, 0.5);
        let receipt = OutboxLine::Receipt { id: entry(0).id, at: now, receipt: Receipt::default() };
        assert_eq!(settled, Some(Next::Settle(Box::new(receipt))));
        assert_eq!(deliveries.begin(), Some((entry(1), 1)));
    }

    #[test]
    fn a_failed_try_is_repeated_later_and_never_sooner_than_asked() {
        let mut deliveries = Deliveries::resumed(vec![entry(0)], 0);
        deliveries.begin();
        let now = Timestamp::from_millis(5);
        assert_eq!(deliveries.tried(retry(None), now, 0.5), Some(Next::Wait(Duration::from_secs(1))));
        assert_eq!((deliveries.begin(), deliveries.is_trying()), (None, false), "waiting");
        deliveries.waited();
        assert_eq!(deliveries.begin(), Some((entry(0), 2)));
        assert_eq!(deliveries.tried(retry(Some(40)), now, 0.5), Some(Next::Wait(Duration::from_secs(40))));
    }

    #[test]
    fn what_cannot_be_delivered_becomes_a_dead_letter_and_frees_the_way() {
        let mut deliveries = Deliveries::resumed(vec![entry(0), entry(1)], 0);
        deliveries.begin();
        let now = Timestamp::from_millis(5);
        let gone = Err(DeliveryError::Permanent { reason: "blocked".to_owned() });
        let dead = OutboxLine::Dead { id: entry(0).id, at: now, reason: "blocked".to_owned() };
        assert_eq!(deliveries.tried(gone, now, 0.0), Some(Next::Settle(Box::new(dead))));
        assert_eq!(deliveries.dead, 1);
        assert_eq!(deliveries.begin(), Some((entry(1), 1)));
    }

    #[test]
    fn what_is_held_waits_for_somebody_to_speak_however_long() {
        let held = || Err(DeliveryError::Hold { reason: "no replies left".to_owned() });
        let mut deliveries = Deliveries::resumed(vec![entry(0)], 0);
        deliveries.begin();
        let late = Timestamp::from_millis(90_000_000_000);
        assert_eq!(deliveries.tried(held(), late, 0.5), Some(Next::Hold));
        assert_eq!((deliveries.begin(), deliveries.outstanding(), deliveries.to_do()), (None, 1, 0));
        assert_eq!(deliveries.hear(), 1);
        assert_eq!((deliveries.to_do(), deliveries.begin().map(|(entry, _)| entry)), (1, Some(entry(0))));
        assert_eq!(deliveries.hear(), 0);
        assert_eq!(deliveries.tried(held(), late, 0.5), None, "somebody spoke meanwhile");
        assert!(deliveries.begin().is_some());
    }

    #[test]
    fn after_a_day_there_is_no_hope() {
        let mut deliveries = Deliveries::resumed(vec![entry(0)], 0);
        deliveries.begin();
        let next = deliveries.tried(retry(None), Timestamp::from_millis(90_000_000), 0.0);
        assert!(matches!(next, Some(Next::Settle(line)) if matches!(*line, OutboxLine::Dead { .. })));
    }

    #[test]
    fn waits_double_up_to_a_limit() {
        let waits: Vec<u64> = (1..=12).map(|attempts| wait(attempts, None, 0.5).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
    }
}
