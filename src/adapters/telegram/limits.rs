//! Rate limits. Until the server reports one, only a wide limit applies, because the documented ones are often not
//! enforced. Optional sends follow the documented rate from the start. A rate-limited chat pauses for its
//! `retry_after`, and follows the documented rate for some minutes afterwards; when several chats are rate limited, all
//! chats do. A single chat does not slow down others, so that one busy chat cannot silence the bot.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::chat_target::ChatTarget;
use crate::adapters::chat::{Pace, Rate};

/// The limit without reports: more than a conversation needs, and a bound for runaway sends.
const WIDE_OVERALL: Rate = Rate { burst: 2000, every: Duration::from_millis(1) };
const WIDE_CHAT: Rate = Rate { burst: 100, every: Duration::from_millis(5) };
/// The documented rates.
const NARROW_OVERALL: Rate = Rate { burst: 25, every: Duration::from_millis(34) };
const NARROW_PRIVATE: Rate = Rate { burst: 20, every: Duration::from_secs(1) };
const NARROW_GROUP: Rate = Rate { burst: 15, every: Duration::from_secs(3) };
/// How long a report is remembered.
const REMEMBERED: Duration = Duration::from_secs(300);
/// This many reports within this time concern all chats. Groups have limits of their own, which two of them may reach
/// by chance; direct chats have none that a conversation reaches, so two of them are enough.
const SEVERAL: usize = 3;
const SEVERAL_PEOPLE: usize = 2;
const WITHIN: Duration = Duration::from_secs(10);
/// The pause of a report without `retry_after`, and the longest pause of all chats.
const UNNAMED: Duration = Duration::from_secs(3);
const LONGEST_FOR_ALL: Duration = Duration::from_secs(60);
/// The longest wait for a turn; a send beyond it is retried later.
const PATIENCE: Duration = Duration::from_secs(15);
/// Most remembered chats.
const MOST: usize = 4096;

/// Whether a send is required or optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendPriority {
    /// Waits for its turn.
    Required,
    /// Dropped where there is no turn at once.
    Optional,
}

#[derive(Debug)]
pub(super) struct ChatLimits {
    wide: Pace,
    narrow: Pace,
    /// The documented rates; counts what they leave free.
    documented: Pace,
    reports: Mutex<RateLimitReports>,
}

#[derive(Debug, Default)]
struct RateLimitReports {
    /// When the pause of a chat ends. For some time afterwards it follows the documented rate.
    chats: HashMap<i64, Instant>,
    /// When the pause of all chats ends.
    rest: Option<Instant>,
    /// Until when all chats together follow the documented rate.
    all: Option<Instant>,
    recent: VecDeque<(Instant, ChatTarget)>,
}

impl ChatLimits {
    pub(super) fn new() -> Self {
        Self {
            wide: Pace::new(WIDE_OVERALL),
            narrow: Pace::new(NARROW_OVERALL),
            documented: Pace::new(NARROW_OVERALL),
            reports: Mutex::default(),
        }
    }

    /// Waits for a turn; false when there is none within a reasonable time.
    pub(super) async fn turn(&self, place: ChatTarget, weight: SendPriority) -> bool {
        let (rate, all) = self.rate(place);
        let chat = place.chat.to_string();
        // A required send counts too, as far as there is room, and does not wait for it.
        let room = self.documented.spare(&chat, documented(place));
        if weight == SendPriority::Optional {
            return room && self.wide.spare(&chat, rate) && (!all || self.narrow.spare("", WIDE_CHAT));
        }
        let turn = async {
            loop {
                self.wide.wait_with(&chat, || self.rate(place).0).await;
                if self.rate(place).1 {
                    self.narrow.wait("", WIDE_CHAT).await;
                }
                // A report may have come during the wait.
                if self.rests_for(place).is_none() {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, turn).await.is_ok()
    }

    /// Records that the server rate limited a chat.
    pub(super) fn rate_limited(&self, place: ChatTarget, retry_after: Option<Duration>) {
        let pause = retry_after.unwrap_or(UNNAMED);
        let now = Instant::now();
        let everybody = self.locked(|reports| reports.add(place, now, now + pause));
        let (rate, _) = self.rate(place);
        self.wide.pause(&place.chat.to_string(), rate, pause);
        if everybody {
            let pause = pause.min(LONGEST_FOR_ALL);
            tracing::warn!(secs = pause.as_secs(), "rate limited over all chats");
            self.locked(|reports| reports.rest = reports.rest.max(Some(now + pause)));
            self.wide.pause_all(pause);
        }
    }

    /// The remaining pause of a chat.
    pub(super) fn rests_for(&self, place: ChatTarget) -> Option<Duration> {
        let ends = self.locked(|reports| reports.rest.max(reports.chats.get(&place.chat).copied()));
        ends?.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    /// The same where it is too long to wait for.
    pub(super) fn rests_long(&self, place: ChatTarget) -> Option<Duration> {
        self.rests_for(place).filter(|left| *left > PATIENCE)
    }

    /// Waits for the end of a chat's pause; false when that is not within a reasonable time.
    pub(super) async fn rest(&self, place: ChatTarget) -> bool {
        let patience = Instant::now() + PATIENCE;
        while let Some(left) = self.rests_for(place) {
            let ends = Instant::now() + left;
            if ends > patience {
                return false;
            }
            // Another report may come meanwhile.
            tokio::time::sleep_until(ends).await;
        }
        true
    }

    /// The rate of a chat, and whether a rate over all chats applies.
    fn rate(&self, place: ChatTarget) -> (Rate, bool) {
        let now = Instant::now();
        let (narrow, all) = self.locked(|reports| {
            let narrow = reports.chats.get(&place.chat).is_some_and(|rested| *rested + REMEMBERED > now);
            (narrow, reports.all.is_some_and(|until| until > now))
        });
        let rate = if narrow { documented(place) } else { WIDE_CHAT };
        (rate, all)
    }

    fn locked<T>(&self, work: impl FnOnce(&mut RateLimitReports) -> T) -> T {
        work(&mut self.reports.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The documented rate for a chat of this kind.
fn documented(place: ChatTarget) -> Rate {
    if place.is_group() { NARROW_GROUP } else { NARROW_PRIVATE }
}

impl RateLimitReports {
    /// Records a report; true when it is one of several, about several chats.
    fn add(&mut self, place: ChatTarget, now: Instant, pause_ends: Instant) -> bool {
        if self.chats.len() >= MOST {
            self.chats.retain(|_, rested| *rested + REMEMBERED > now);
        }
        let rested = self.chats.entry(place.chat).or_insert(pause_ends);
        *rested = pause_ends.max(*rested);
        self.recent.push_back((now, place));
        self.recent.retain(|(at, _)| now.duration_since(*at) < WITHIN);
        let chats: BTreeSet<i64> = self.recent.iter().map(|(_, place)| place.chat).collect();
        let people = chats.iter().filter(|chat| **chat > 0).count();
        let everybody = people >= SEVERAL_PEOPLE || (self.recent.len() >= SEVERAL && chats.len() > 1);
        if everybody {
            self.recent.clear();
            self.all = Some(pause_ends + REMEMBERED);
        }
        everybody
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(chat: i64) -> ChatTarget {
        ChatTarget { chat, topic: None }
    }

    /// How many optional sends are possible at once in a chat.
    fn spare(limits: &ChatLimits, chat: i64) -> usize {
        let free = |_: &usize| {
            let (rate, all) = limits.rate(place(chat));
            limits.wide.spare(&chat.to_string(), rate) && (!all || limits.narrow.spare("", WIDE_CHAT))
        };
        (0..10_000).take_while(free).count()
    }

    #[tokio::test(start_paused = true)]
    async fn many_chats_are_not_slowed_down_by_limits_that_nobody_enforces() {
        let limits = ChatLimits::new();
        let began = Instant::now();
        for _ in 0..5 {
            for chat in 1..=200 {
                assert!(limits.turn(place(chat), SendPriority::Required).await);
            }
        }
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_brisk_conversation_never_waits_for_its_turn() {
        let limits = ChatLimits::new();
        for _ in 0..1000 {
            let asked = Instant::now();
            assert!(limits.turn(place(7), SendPriority::Required).await);
            assert_eq!(asked.elapsed(), Duration::ZERO);
            tokio::time::advance(WIDE_CHAT.every).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_chat_that_was_complained_about_rests_and_then_starts_slowly() {
        let limits = ChatLimits::new();
        limits.rate_limited(place(-5), Some(Duration::from_secs(7)));
        assert!(!limits.turn(place(-5), SendPriority::Optional).await);
        assert_eq!(limits.rests_for(place(-5)), Some(Duration::from_secs(7)));
        assert!(limits.turn(place(6), SendPriority::Optional).await, "it concerns that group");
        assert_eq!(limits.rests_for(place(6)), None);
        let began = Instant::now();
        assert!(limits.turn(place(-5), SendPriority::Required).await);
        assert_eq!(began.elapsed().as_secs(), 7);
        assert_eq!(limits.rests_for(place(-5)), None);
        assert!(limits.turn(place(-5), SendPriority::Required).await);
        assert_eq!(began.elapsed().as_secs(), 10);
        tokio::time::advance(REMEMBERED * 2).await;
        assert_eq!(spare(&limits, -5), 100, "forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_be_left_out_keeps_to_the_documented_rate_and_holds_up_nothing() {
        for (chat, rate) in [(7, NARROW_PRIVATE), (-7, NARROW_GROUP)] {
            let limits = ChatLimits::new();
            let mut sent = 0;
            while limits.turn(place(chat), SendPriority::Optional).await {
                sent += 1;
            }
            assert_eq!(sent, rate.burst, "{chat}");
            let asked = Instant::now();
            assert!(limits.turn(place(chat), SendPriority::Required).await);
            assert_eq!(asked.elapsed(), Duration::ZERO);
            assert!(!limits.turn(place(chat), SendPriority::Optional).await);
            tokio::time::advance(rate.every).await;
            assert!(limits.turn(place(chat), SendPriority::Optional).await);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_longer_than_is_reasonable() {
        let limits = ChatLimits::new();
        limits.rate_limited(place(5), Some(Duration::from_secs(100)));
        assert!(!limits.turn(place(5), SendPriority::Required).await);
        let (began, left) = (Instant::now(), limits.rests_long(place(5)).unwrap());
        assert!(!limits.rest(place(5)).await && began.elapsed().is_zero());
        tokio::time::advance(left - PATIENCE).await;
        assert_eq!(limits.rests_long(place(5)), None);
        assert!(limits.rest(place(5)).await);
        assert_eq!(began.elapsed(), left);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_hears_the_complaint_that_comes_meanwhile() {
        let limits = ChatLimits::new();
        limits.rate_limited(place(5), Some(Duration::from_secs(3)));
        let began = Instant::now();
        let ((turn, rest), ()) = tokio::join!(
            async { tokio::join!(limits.turn(place(5), SendPriority::Required), limits.rest(place(5))) },
            async {
                tokio::time::sleep(Duration::from_secs(2)).await;
                limits.rate_limited(place(5), Some(Duration::from_secs(8)));
            }
        );
        assert!(turn && rest);
        assert_eq!(began.elapsed().as_secs(), 10);
        // A sender at the wide rate is paused too.
        let limits = ChatLimits::new();
        while limits.wide.spare("6", WIDE_CHAT) {}
        let began = Instant::now();
        let (turn, ()) = tokio::join!(limits.turn(place(6), SendPriority::Required), async {
            limits.rate_limited(place(6), Some(Duration::from_secs(8)));
        });
        assert!(turn);
        assert_eq!(began.elapsed().as_secs(), 8);
    }

    #[tokio::test(start_paused = true)]
    async fn complaints_about_several_chats_hold_everybody() {
        for (chats, everybody) in [
            (vec![1], false),
            (vec![1, 1, 1, 1], false),
            (vec![1, 2], true),
            (vec![-1, -2], false),
            (vec![-1, 2], false),
            (vec![-1, -2, -1], true),
        ] {
            let limits = ChatLimits::new();
            for chat in &chats {
                limits.rate_limited(place(*chat), Some(Duration::from_secs(9)));
            }
            let held = Some(Duration::from_secs(9)).filter(|_| everybody);
            assert_eq!(limits.rests_for(place(9)), held, "{chats:?}");
            assert_eq!(limits.turn(place(9), SendPriority::Optional).await, !everybody, "{chats:?}");
            let began = Instant::now();
            assert!(limits.turn(place(9), SendPriority::Required).await);
            assert_eq!(began.elapsed().as_secs(), held.unwrap_or_default().as_secs(), "{chats:?}");
        }
    }
}
