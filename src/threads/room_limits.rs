//! How often something is done about a room: a model decides, the platform is asked what was said, and the room is told
//! that two agents stop.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::groups::MOST_ROOMS;
use crate::domain::{MessageId, ThreadId, Timestamp};
use crate::groups::QUIET_MS;

/// Shortest time between two questions about the history of a room, and after a refusal.
const ASK_EVERY: Duration = Duration::from_secs(10);
const ASK_REFUSED_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long its answer is good for where agents share nothing.
const HISTORY_FRESH: Duration = Duration::from_secs(30);
/// Most decisions of a model about one room in a minute and in a day.
const PER_MINUTE: usize = 6;
const PER_DAY: usize = 200;
const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

/// Why the platform may be asked what was said in a room.
#[derive(Clone, Copy, Debug, Default)]
pub struct HistoryNeed {
    /// When the adapter last began to listen again after a gap.
    pub back_at: Option<Timestamp>,
    /// Whether a person replies to a message that the thread does not have.
    pub missing: bool,
}

#[derive(Clone, Copy, Debug)]
struct AskedHistory {
    answered: Option<(Timestamp, Instant)>,
    /// When it may be asked again.
    next: Instant,
}

/// When something was last done about each room.
#[derive(Debug, Default)]
pub(super) struct RoomLimits {
    history: BTreeMap<ThreadId, AskedHistory>,
    /// When this agent told a room that it stops answering another one, where nothing is shared.
    stops: BTreeMap<(ThreadId, MessageId), Timestamp>,
    /// When a model decided about a room.
    decided: BTreeMap<ThreadId, VecDeque<Timestamp>>,
}

impl RoomLimits {
    /// Whether the platform is to be asked now; notes that it is. In each process it is asked once, because what was said
    /// before is not known; again after a gap, for a message that nobody has, and where agents share nothing.
    pub(super) fn may_ask_history(&mut self, room: &ThreadId, need: HistoryNeed, is_shared: bool) -> bool {
        let now = Instant::now();
        let asked = self.history.get(room).copied();
        let answered = asked.and_then(|asked| asked.answered);
        let waits = asked.is_some_and(|asked| now < asked.next);
        let is_due = answered.is_none_or(|(at, answered)| {
            let stale = !is_shared && answered.elapsed() >= HISTORY_FRESH;
            stale || need.missing || need.back_at.is_some_and(|back| back >= at)
        });
        let has_room = asked.is_some() || self.history.len() < MOST_ROOMS;
        let may = is_due && !waits && has_room;
        if may {
            self.history.insert(room.clone(), AskedHistory { answered, next: now + ASK_EVERY });
        }
        may
    }

    pub(super) fn history_known(&mut self, room: &ThreadId, now: Timestamp) {
        if let Some(asked) = self.history.get_mut(room) {
            asked.answered = Some((now, Instant::now()));
        }
    }

    pub(super) fn history_refused(&mut self, room: &ThreadId) {
        if let Some(asked) = self.history.get_mut(room) {
            asked.next = Instant::now() + ASK_REFUSED_EVERY;
        }
    }

    /// Whether the room was not told for a while that this pair stops; notes that it is told now.
    pub(super) fn may_tell_stop(&mut self, room: &ThreadId, pair: &MessageId, now: Timestamp) -> bool {
        self.stops.retain(|_, at| now.millis_since(*at) < QUIET_MS);
        let key = (room.clone(), pair.clone());
        let may = self.stops.len() < MOST_ROOMS && !self.stops.contains_key(&key);
        if may {
            self.stops.insert(key, now);
        }
        may
    }

    /// Counts the decisions of earlier processes.
    pub(super) fn note_decided(&mut self, room: &ThreadId, times: Vec<Timestamp>) {
        self.decided.entry(room.clone()).or_insert_with(|| times.into());
    }

    /// Whether a model may decide about this room now; counts it.
    pub(super) fn may_decide(&mut self, room: &ThreadId, now: Timestamp) -> bool {
        if self.decided.len() >= MOST_ROOMS {
            self.decided.retain(|_, times| times.back().is_some_and(|at| now.millis_since(*at) < DAY_MS));
        }
        let times = self.decided.entry(room.clone()).or_default();
        while times.front().is_some_and(|at| now.millis_since(*at) >= DAY_MS) {
            times.pop_front();
        }
        let last_minute = times.iter().filter(|at| now.millis_since(**at) < MINUTE_MS).count();
        let may = last_minute < PER_MINUTE && times.len() < PER_DAY;
        if may {
            times.push_back(now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room() -> ThreadId {
        "chat:chat:1".parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn history_is_asked_once_and_again_after_a_gap_for_what_is_missing_and_where_nothing_is_shared() {
        let mut limits = RoomLimits::default();
        let at = Timestamp::from_millis;
        let wait = |secs| tokio::time::advance(Duration::from_secs(secs));
        let plain = HistoryNeed::default();
        let missing = HistoryNeed { missing: true, ..plain };
        let back = |millis| HistoryNeed { back_at: Some(at(millis)), ..plain };
        assert!(limits.may_ask_history(&room(), plain, true));
        assert!(!limits.may_ask_history(&room(), missing, true), "at most every ten seconds");
        limits.history_known(&room(), at(1_000));
        wait(11).await;
        assert!(!limits.may_ask_history(&room(), plain, true));
        assert!(!limits.may_ask_history(&room(), back(900), true), "that gap is closed");
        assert!(limits.may_ask_history(&room(), back(2_000), true));
        limits.history_known(&room(), at(2_001));
        wait(11).await;
        assert!(!limits.may_ask_history(&room(), plain, false), "the answer is fresh");
        assert!(limits.may_ask_history(&room(), missing, true));
        limits.history_known(&room(), at(3_000));
        wait(31).await;
        assert!(
            !limits.may_ask_history(&room(), plain, true) && limits.may_ask_history(&room(), plain, false)
        );
        limits.history_refused(&room());
        wait(60 * 60).await;
        assert!(!limits.may_ask_history(&room(), missing, true), "a permission is missing");
    }

    #[test]
    fn a_room_is_told_once_in_ten_minutes_that_a_pair_stops() {
        let mut limits = RoomLimits::default();
        let mut stops = |pair: &str, minute: i64| {
            limits.may_tell_stop(&room(), &pair.parse().unwrap(), Timestamp::from_millis(minute * 60_000))
        };
        assert!(stops("stop:a:b", 0) && !stops("stop:a:b", 9) && stops("stop:a:c", 9));
        assert!(stops("stop:a:b", 11));
    }

    #[test]
    fn a_model_decides_six_times_a_minute_and_two_hundred_times_a_day() {
        let mut limits = RoomLimits::default();
        let mut decides = |second: i64| limits.may_decide(&room(), Timestamp::from_millis(second * 1_000));
        let allowed = (0..60 * 60).filter(|second| decides(*second)).count();
        assert_eq!(allowed, PER_DAY);
        let mut limits = RoomLimits::default();
        let mut decides = |second: i64| limits.may_decide(&room(), Timestamp::from_millis(second * 1_000));
        assert_eq!((0..10).filter(|second| decides(*second)).count(), PER_MINUTE);
    }
}
