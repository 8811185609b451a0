//! The deliveries of one thread: in order, one at a time, retried until there is a receipt or a permanent failure.

use std::collections::VecDeque;
use std::time::Duration;

use crate::domain::{Backoff, CorrelationId, DeliveryId, Timestamp};
use crate::ports::{Attempt, DeliveryError, OutboxEntry, OutboxLine, Receipt};

/// A delivery older than this is given up.
const GIVE_UP_AFTER_MS: u64 = 24 * 60 * 60 * 1000;
const BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(1),
    longest: Duration::from_secs(300),
    stable_after: Duration::ZERO,
};

/// The reason of an attempt that reached its deadline.
pub(super) const CUT_OFF: &str = "the platform did not answer in time";

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

/// A delivery without a result.
#[derive(Debug)]
struct PendingDelivery {
    entry: OutboxEntry,
    /// The store has the line that its attempt begins.
    recorded: bool,
    /// Its last attempt was cut off: it may have arrived.
    cut_off: bool,
}

/// The deliveries of one thread.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    pending: VecDeque<PendingDelivery>,
    /// Attempts so far for the first delivery.
    attempts: u32,
    /// Whether an attempt or a retry delay is in progress.
    busy: bool,
    /// Whether an attempt is in progress.
    trying: bool,
    /// Whether delivery is on hold until a person writes.
    held: bool,
    /// A person has written since the attempt in flight began, so a `Hold` result of that attempt is outdated.
    ended_meanwhile: bool,
    /// How many deliveries failed permanently.
    pub(super) dead: usize,
}

impl Deliveries {
    /// Resumes the undelivered entries of the store.
    pub(super) fn resumed(undelivered: Vec<OutboxEntry>, cut_off: &[DeliveryId], dead: usize) -> Self {
        let pending = undelivered.into_iter().map(|entry| {
            let cut_off = cut_off.contains(&entry.id);
            PendingDelivery { entry, recorded: cut_off, cut_off }
        });
        Self { pending: pending.collect(), dead, ..Self::default() }
    }

    pub(super) fn outstanding(&self) -> usize {
        self.pending.len()
    }

    /// Whether a delivery of this run is outstanding.
    pub(super) fn are_of(&self, run: &CorrelationId) -> bool {
        self.pending.iter().any(|pending| pending.entry.intent.correlation_id == *run)
    }

    /// How many deliveries can be attempted now; none while on hold.
    pub(super) fn to_do(&self) -> usize {
        if self.held { 0 } else { self.pending.len() }
    }

    /// The delivery that is being attempted, or will be next.
    pub(super) fn first(&self) -> Option<&OutboxEntry> {
        self.pending.front().map(|pending| &pending.entry)
    }

    pub(super) const fn is_trying(&self) -> bool {
        self.trying
    }

    /// Whether a delivery that is added now will be attempted at once.
    pub(super) fn are_idle(&self) -> bool {
        !self.busy && !self.held && self.pending.is_empty()
    }

    /// Ends a hold, because a person has written. Returns how many deliveries were on hold.
    pub(super) fn end_hold(&mut self) -> usize {
        let held = if self.held { self.pending.len() } else { 0 };
        self.held = false;
        self.ended_meanwhile = self.busy;
        held
    }

    pub(super) fn push(&mut self, entries: impl IntoIterator<Item = OutboxEntry>) {
        let pending =
            entries.into_iter().map(|entry| PendingDelivery { entry, recorded: false, cut_off: false });
        self.pending.extend(pending);
    }

    /// The delivery that can be attempted now, but whose attempt the store does not know about.
    pub(super) fn unrecorded(&self) -> Option<&DeliveryId> {
        let first = self.pending.front().filter(|first| !self.busy && !self.held && !first.recorded)?;
        Some(&first.entry.id)
    }

    /// The store knows that the first delivery is attempted.
    pub(super) fn record(&mut self) {
        if let Some(first) = self.pending.front_mut() {
            first.recorded = true;
        }
    }

    /// The delivery to attempt now; `None` while one is in flight, or while the store does not know about it.
    pub(super) fn begin(&mut self) -> Option<(OutboxEntry, Attempt)> {
        if self.busy || self.held {
            return None;
        }
        let first = self.pending.front().filter(|first| first.recorded)?;
        self.busy = true;
        self.trying = true;
        self.ended_meanwhile = false;
        self.attempts += 1;
        Some((first.entry.clone(), Attempt { number: self.attempts, may_repeat: first.cut_off }))
    }

    /// The retry delay is over.
    pub(super) fn waited(&mut self) {
        self.busy = false;
    }

    /// Processes the result of an attempt; `None` for one that was cut off. `chance`, from 0 to 1, is the jitter of the
    /// back-off.
    pub(super) fn tried(
        &mut self,
        result: Option<Result<Receipt, DeliveryError>>,
        now: Timestamp,
        chance: f64,
    ) -> Option<Next> {
        self.trying = false;
        let first = self.pending.front_mut()?;
        first.cut_off = result.is_none();
        first.recorded = first.cut_off;
        let (id, age) = (first.entry.id.clone(), now.millis_since(first.entry.at));
        let cut_off = || Err(DeliveryError::Retry { after: None, reason: CUT_OFF.to_owned() });
        let line = match result.unwrap_or_else(cut_off) {
            Ok(receipt) => OutboxLine::Receipt { id, at: now, receipt },
            Err(DeliveryError::Retry { after, .. }) if age < GIVE_UP_AFTER_MS => {
                let wait = BACKOFF.delay(self.attempts, chance).max(after.unwrap_or_default());
                return Some(Next::Wait(wait));
            }
            Err(DeliveryError::Hold { .. }) => {
                self.busy = false;
                self.held = !std::mem::take(&mut self.ended_meanwhile);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Intent, OutboundIntent};

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
            on_behalf_of: None,
        }
    }

    fn resumed(undelivered: Vec<OutboxEntry>) -> Deliveries {
        Deliveries::resumed(undelivered, &[], 0)
    }

    /// Begins an attempt as the actor does.
    fn begin(deliveries: &mut Deliveries) -> Option<(OutboxEntry, Attempt)> {
        if deliveries.unrecorded().is_some() {
            deliveries.record();
        }
        deliveries.begin()
    }

    fn retry(after: Option<u64>) -> Result<Receipt, DeliveryError> {
        Err(DeliveryError::Retry { after: after.map(Duration::from_secs), reason: "busy".to_owned() })
    }

    #[test]
    fn deliveries_go_out_in_order_and_one_at_a_time() {
        let mut deliveries = resumed(vec![entry(0), entry(1)]);
        assert_eq!(begin(&mut deliveries), Some((entry(0), Attempt::nth(1))));
        assert_eq!((begin(&mut deliveries), deliveries.is_trying()), (None, true));
        let now = Timestamp::from_millis(5);
        let settled = deliveries.tried(Some(Ok(Receipt::default())), now, 0.5);
        let receipt = OutboxLine::Receipt { id: entry(0).id, at: now, receipt: Receipt::default() };
        assert_eq!(settled, Some(Next::Settle(Box::new(receipt))));
        assert_eq!(begin(&mut deliveries), Some((entry(1), Attempt::nth(1))));
    }

    #[test]
    fn an_attempt_is_recorded_before_it_begins_and_one_that_was_cut_off_may_repeat() {
        let now = Timestamp::from_millis(5);
        let mut deliveries = resumed(vec![entry(0)]);
        assert_eq!((deliveries.begin(), deliveries.unrecorded()), (None, Some(&entry(0).id)));
        deliveries.record();
        assert_eq!(deliveries.begin(), Some((entry(0), Attempt::nth(1))));
        assert!(matches!(deliveries.tried(None, now, 0.5), Some(Next::Wait(_))));
        deliveries.waited();
        assert_eq!(deliveries.unrecorded(), None, "the line of the attempt that was cut off stands");
        assert_eq!(deliveries.begin(), Some((entry(0), Attempt { number: 2, may_repeat: true })));
        assert!(matches!(deliveries.tried(Some(retry(None)), now, 0.5), Some(Next::Wait(_))));
        deliveries.waited();
        assert_eq!(begin(&mut deliveries), Some((entry(0), Attempt::nth(3))), "the platform has answered");
        let mut next_daemon = Deliveries::resumed(vec![entry(0), entry(1)], &[entry(0).id], 0);
        assert_eq!(next_daemon.begin(), Some((entry(0), Attempt { number: 1, may_repeat: true })));
    }

    #[test]
    fn a_failed_try_is_repeated_later_and_never_sooner_than_asked() {
        let mut deliveries = resumed(vec![entry(0)]);
        begin(&mut deliveries);
        let now = Timestamp::from_millis(5);
        assert_eq!(deliveries.tried(Some(retry(None)), now, 0.0), Some(Next::Wait(Duration::from_secs(1))));
        assert_eq!((begin(&mut deliveries), deliveries.is_trying()), (None, false), "waiting");
        deliveries.waited();
        assert_eq!(begin(&mut deliveries), Some((entry(0), Attempt::nth(2))));
        assert_eq!(
            deliveries.tried(Some(retry(Some(40))), now, 0.5),
            Some(Next::Wait(Duration::from_secs(40)))
        );
    }

    #[test]
    fn what_cannot_be_delivered_becomes_a_dead_letter_and_frees_the_way() {
        let mut deliveries = resumed(vec![entry(0), entry(1)]);
        begin(&mut deliveries);
        let now = Timestamp::from_millis(5);
        let gone = Err(DeliveryError::Permanent { reason: "blocked".to_owned() });
        let dead = OutboxLine::Dead { id: entry(0).id, at: now, reason: "blocked".to_owned() };
        assert_eq!(deliveries.tried(Some(gone), now, 0.0), Some(Next::Settle(Box::new(dead))));
        assert_eq!(deliveries.dead, 1);
        assert_eq!(begin(&mut deliveries), Some((entry(1), Attempt::nth(1))));
    }

    #[test]
    fn what_is_held_waits_for_somebody_to_speak_however_long() {
        let held = || Err(DeliveryError::Hold { reason: "no replies left".to_owned() });
        let mut deliveries = resumed(vec![entry(0)]);
        begin(&mut deliveries);
        let late = Timestamp::from_millis(90_000_000_000);
        assert_eq!(deliveries.tried(Some(held()), late, 0.5), Some(Next::Hold));
        assert_eq!((begin(&mut deliveries), deliveries.outstanding(), deliveries.to_do()), (None, 1, 0));
        assert_eq!(deliveries.end_hold(), 1);
        assert_eq!((deliveries.to_do(), begin(&mut deliveries).map(|(entry, _)| entry)), (1, Some(entry(0))));
        assert_eq!(deliveries.end_hold(), 0);
        assert_eq!(deliveries.tried(Some(held()), late, 0.5), None, "somebody spoke meanwhile");
        assert!(begin(&mut deliveries).is_some());
    }

    #[test]
    fn after_a_day_there_is_no_hope() {
        let mut deliveries = resumed(vec![entry(0)]);
        begin(&mut deliveries);
        let next = deliveries.tried(Some(retry(None)), Timestamp::from_millis(90_000_000), 0.0);
        assert!(matches!(next, Some(Next::Settle(line)) if matches!(*line, OutboxLine::Dead { .. })));
    }

    #[test]
    fn waits_double_up_to_a_limit() {
        let waits: Vec<u64> = (1..=12).map(|attempts| BACKOFF.delay(attempts, 0.0).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
    }
}
