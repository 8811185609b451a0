//! Which updates may be confirmed. Asking for updates from an offset on confirms all below it, so the offset never
//! passes one that has not been accepted. Pure: the time is handed in.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::adapters::Backoff;

/// How long an update that could not be accepted is left alone before it is tried again.
const AGAIN: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(10),
    stable_after: Duration::ZERO,
};

/// The updates that were given to us and are not confirmed yet.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    working: BTreeSet<i64>,
    /// Accepted, but not confirmed: they may be given again.
    done: BTreeSet<i64>,
    /// Not accepted: how often that was, and when to try again.
    failed: BTreeMap<i64, (u32, Instant)>,
    /// The last one of the last batch. Numbers can start anew after a quiet week, so this is not the highest ever.
    last: Option<i64>,
}

impl Offsets {
    /// From where to ask: everything below is accepted.
    pub(super) fn next(&self) -> Option<i64> {
        let first = [self.working.first(), self.failed.keys().next()].into_iter().flatten().min();
        first.copied().or_else(|| self.last.map(|last| last.saturating_add(1)))
    }

    /// A batch came for the offset that was asked for. Gives those that are to be worked on.
    pub(super) fn offer(&mut self, asked: Option<i64>, batch: &[i64], now: Instant) -> Vec<i64> {
        if let Some(asked) = asked {
            // Those are confirmed now, and come again only if the server forgets.
            self.done.retain(|number| *number >= asked);
        }
        self.last = batch.iter().max().copied().or(self.last);
        let mut fresh = Vec::new();
        for number in batch {
            let early = self.failed.get(number).is_some_and(|(_, again)| now < *again);
            if !early && !self.done.contains(number) && self.working.insert(*number) {
                fresh.push(*number);
            }
        }
        fresh
    }

    /// One was accepted.
    pub(super) fn done(&mut self, number: i64) {
        if self.working.remove(&number) {
            self.failed.remove(&number);
            self.done.insert(number);
        }
    }

    /// One was not accepted and has to come again.
    pub(super) fn failed(&mut self, number: i64, now: Instant, dice: f64) {
        if self.working.remove(&number) {
            let times = self.failed.get(&number).map_or(1, |(times, _)| times.saturating_add(1));
            self.failed.insert(number, (times, now + AGAIN.delay(times, dice)));
        }
    }

    /// Whether everything that was given is accepted.
    pub(super) fn all_done(&self) -> bool {
        self.working.is_empty() && self.failed.is_empty()
    }

    /// Whether nothing is being worked on.
    pub(super) fn at_rest(&self) -> bool {
        self.working.is_empty()
    }

    /// Nothing has come for so long that numbers may have started anew.
    pub(super) fn forget(&mut self) {
        if self.all_done() {
            self.last = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[tokio::test]
    async fn the_offset_waits_for_the_oldest_that_is_not_accepted() {
        let (mut offsets, now) = (Offsets::default(), Instant::now());
        assert_eq!(offsets.next(), None);
        assert_eq!(offsets.offer(None, &[5, 6, 7], now), [5, 6, 7]);
        offsets.done(6);
        offsets.done(7);
        assert_eq!(offsets.next(), Some(5));
        assert_eq!(offsets.offer(Some(5), &[5, 6, 7, 9], now), [9]);
        offsets.done(9);
        offsets.failed(5, now, 0.0);
        assert_eq!((offsets.next(), offsets.at_rest(), offsets.all_done()), (Some(5), true, false));
        assert_eq!(offsets.offer(Some(5), &[5, 6, 7, 9], now), [] as [i64; 0], "not at once");
        let later = now + Duration::from_secs(1);
        assert_eq!(offsets.offer(Some(5), &[5, 6, 7, 9], later), [5]);
        offsets.done(5);
        assert_eq!((offsets.next(), offsets.all_done()), (Some(10), true));
    }

    #[tokio::test]
    async fn numbers_may_start_anew() {
        let (mut offsets, now) = (Offsets::default(), Instant::now());
        offsets.offer(None, &[900], now);
        offsets.done(900);
        offsets.forget();
        assert_eq!(offsets.next(), None);
        assert_eq!(offsets.offer(None, &[3, 4], now), [3, 4]);
        offsets.done(3);
        offsets.done(4);
        assert_eq!(offsets.next(), Some(5));
    }

    /// A server that forgets what is below an offset, and gives the rest.
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
        Fail(u8),
        Wait,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..5_u8).prop_map(Step::Make),
            Just(Step::Poll),
            Just(Step::LostPoll),
            any::<u8>().prop_map(Step::Accept),
            any::<u8>().prop_map(Step::Fail),
            Just(Step::Wait),
        ]
    }

    proptest! {
        #[test]
        fn nothing_is_confirmed_before_it_is_accepted_and_each_is_accepted_once(
            steps in proptest::collection::vec(step(), 1..120),
        ) {
            let (mut server, mut offsets) = (Server::default(), Offsets::default());
            let mut now = Instant::now();
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
                            for fresh in offsets.offer(asked, &batch, now) {
                                prop_assert!(!accepted.contains(&fresh), "{} came twice", fresh);
                                prop_assert!(working.insert(fresh));
                            }
                        }
                    }
                    Step::Accept(which) | Step::Fail(which) => {
                        let Some(number) = working.iter().nth(usize::from(which) % working.len().max(1)).copied()
                        else { continue };
                        working.remove(&number);
                        if matches!(step, Step::Accept(_)) {
                            accepted.insert(number);
                            offsets.done(number);
                        } else {
                            offsets.failed(number, now, 0.5);
                        }
                    }
                    Step::Wait => now += Duration::from_secs(11),
                }
            }
            // In the end everything gets through.
            for _ in 0..server.made + 2 {
                now += Duration::from_secs(11);
                for number in std::mem::take(&mut working) {
                    accepted.insert(number);
                    offsets.done(number);
                }
                let asked = offsets.next();
                if let Some(asked) = asked {
                    server.pending = server.pending.split_off(&asked);
                }
                let batch: Vec<i64> = server.pending.iter().take(10).copied().collect();
                working.extend(offsets.offer(asked, &batch, now));
            }
            prop_assert_eq!(accepted.len() as i64, server.made);
            prop_assert!(offsets.all_done());
        }
    }
}
