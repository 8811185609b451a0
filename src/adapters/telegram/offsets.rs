//! Which updates may be confirmed. `getUpdates` with an offset confirms all updates below it, so the offset never
//! passes an update that is not accepted. Pure.

use std::collections::{BTreeSet, VecDeque};

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
