//! Tracks up to which sequence number the events of a session are stored. Pure.

use std::collections::BTreeSet;

use super::gateway::GatewaySession;

/// The received sequence numbers of a session, and the one up to which all are settled. Only that one may be sent to
/// the platform or stored: a resumed session repeats every event after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SequenceTracker {
    pub(super) session: GatewaySession,
    taken: u64,
    unsettled: BTreeSet<u64>,
}

impl SequenceTracker {
    pub(super) const fn new(session: GatewaySession) -> Self {
        Self { taken: session.seq, session, unsettled: BTreeSet::new() }
    }

    /// Registers a sequence number. A repeated number changes nothing; whether its event is a duplicate is decided by
    /// the dedupe key.
    pub(super) fn take(&mut self, seq: u64) {
        if seq > self.taken {
            self.taken = seq;
            self.unsettled.insert(seq);
        }
    }

    /// Marks an event as stored. True where the settled number has moved.
    pub(super) fn settle(&mut self, seq: u64) -> bool {
        self.unsettled.remove(&seq);
        let safe = self.unsettled.first().map_or(self.taken, |first| first.saturating_sub(1));
        let moved = safe > self.session.seq;
        self.session.seq = safe.max(self.session.seq);
        moved
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tracker() -> SequenceTracker {
        SequenceTracker::new(GatewaySession { id: "s".to_owned(), seq: 3, me: None })
    }

    #[test]
    fn the_mark_stays_before_the_first_that_is_not_settled() {
        let mut tracker = tracker();
        for seq in [4, 5, 6, 5, 3, 0] {
            tracker.take(seq);
        }
        assert!(!tracker.settle(5));
        assert_eq!(tracker.session.seq, 3);
        assert!(tracker.settle(4));
        assert_eq!(tracker.session.seq, 5);
        assert!(tracker.settle(6));
        assert_eq!(tracker.session.seq, 6);
    }

    proptest! {
        #[test]
        fn nothing_unsettled_is_ever_behind_the_mark(order in Just((4_u64..30).collect::<Vec<_>>()).prop_shuffle()) {
            let mut tracker = tracker();
            for seq in 4..30 {
                tracker.take(seq);
            }
            let mut open: BTreeSet<u64> = order.iter().copied().collect();
            for seq in order {
                open.remove(&seq);
                tracker.settle(seq);
                prop_assert!(open.iter().all(|open| *open > tracker.session.seq));
            }
            prop_assert_eq!(tracker.session.seq, 29);
        }
    }
}
