//! Client-side rate limits: a rate over all chats, a rate per chat, and pauses that the platform asks for. A sender
//! waits for its turn and is never refused.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many chats are tracked before idle ones are dropped.
const MOST: usize = 4096;

/// A token bucket: `burst` at once, then one every `every`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub burst: u32,
    /// How long one token takes to refill.
    pub every: Duration,
}

/// Schedules sends. Cheap: one short lock, never held while waiting.
#[derive(Debug)]
pub struct Pace {
    overall: Rate,
    state: Mutex<PaceState>,
}

#[derive(Debug, Default)]
struct PaceState {
    overall: Option<Instant>,
    /// End of the pause of all chats.
    until: Option<Instant>,
    chats: HashMap<String, ChatRate>,
}

/// The bucket of one chat.
#[derive(Clone, Copy, Debug)]
struct ChatRate {
    /// When the bucket is full again.
    full: Instant,
    /// The earliest send after a pause; it stays when a waiting sender gives up.
    floor: Instant,
    /// End of the pause.
    until: Option<Instant>,
}

/// A turn of a chat that was taken and has not come yet. Dropping it returns the turn.
#[derive(Debug)]
struct Counted<'a> {
    pace: &'a Pace,
    chat: &'a str,
    every: Duration,
    came: bool,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if self.came {
            return;
        }
        self.pace.locked(|state| {
            if let Some(account) = state.chats.get_mut(self.chat) {
                let less = account.full.checked_sub(self.every).unwrap_or(account.floor);
                account.full = less.max(account.floor);
            }
        });
    }
}

impl Pace {
    /// Limits with this rate over all chats.
    pub fn new(overall: Rate) -> Self {
        Self { overall, state: Mutex::default() }
    }

    /// Waits until one more may be sent to this chat. The chat's own turn comes first, so that a chat with a long wait
    /// does not block others.
    pub async fn wait(&self, chat: &str, rate: Rate) {
        self.wait_with(chat, || rate).await;
    }

    /// The same with a rate that may change meanwhile. A sender whose turn falls into a new pause queues again behind
    /// it.
    pub async fn wait_with(&self, chat: &str, rate: impl Fn() -> Rate) {
        loop {
            let rate = rate();
            let at = self.locked(|state| state.take_chat(chat, rate, Instant::now()));
            let mut counted = Counted { pace: self, chat, every: rate.every, came: false };
            reach(at).await;
            // A turn that came within a pause is used up.
            counted.came = true;
            if self.locked(|state| state.chat_rests(chat, Instant::now())) {
                continue;
            }
            let at = self.locked(|state| state.take_overall(self.overall, Instant::now()));
            reach(at).await;
            let rests = |state: &mut PaceState| {
                state.until.is_some_and(|until| until > Instant::now())
                    || state.chat_rests(chat, Instant::now())
            };
            if !self.locked(rests) {
                return;
            }
        }
    }

    /// Whether one more could be sent to this chat right now; if so, it counts as sent. For messages that may be
    /// dropped.
    pub fn spare(&self, chat: &str, rate: Rate) -> bool {
        let now = Instant::now();
        self.locked(|state| {
            let chat_at = due(state.chats.get(chat).map(|account| account.full), rate, now);
            let free = chat_at.max(due(state.overall, self.overall, now)) <= now;
            if free {
                state.take_chat(chat, rate, now);
                state.take_overall(self.overall, now);
            }
            free
        })
    }

    pub fn pause(&self, chat: &str, rate: Rate, pause: Duration) {
        let until = Instant::now() + pause;
        let full = paid_after(rate, until);
        self.locked(|state| {
            let fresh = ChatRate { full, floor: full, until: None };
            let account = state.chats.entry(chat.to_owned()).or_insert(fresh);
            account.full = account.full.max(full);
            account.floor = account.floor.max(full);
            account.until = account.until.max(Some(until));
        });
    }

    /// Pauses all chats.
    pub fn pause_all(&self, pause: Duration) {
        let until = Instant::now() + pause;
        let full = paid_after(self.overall, until);
        self.locked(|state| {
            state.overall = state.overall.max(Some(full));
            state.until = state.until.max(Some(until));
        });
    }

    fn locked<T>(&self, work: impl FnOnce(&mut PaceState) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PaceState {
    /// Takes a turn in this chat and returns its time.
    fn take_chat(&mut self, chat: &str, rate: Rate, now: Instant) -> Instant {
        if self.chats.len() >= MOST {
            self.chats.retain(|_, account| account.full > now);
        }
        let known = self.chats.get(chat).copied();
        let full = known.map(|account| account.full);
        let floor = known.map_or(now, |account| account.floor);
        let until = known.and_then(|account| account.until);
        let account = ChatRate { full: full.unwrap_or(now).max(now) + rate.every, floor, until };
        self.chats.insert(chat.to_owned(), account);
        due(full, rate, now).max(until.unwrap_or(now))
    }

    fn chat_rests(&self, chat: &str, now: Instant) -> bool {
        let until = self.chats.get(chat).and_then(|account| account.until);
        until.is_some_and(|until| until > now)
    }

    /// Takes a turn over all chats and returns its time.
    fn take_overall(&mut self, rate: Rate, now: Instant) -> Instant {
        let full = self.overall.replace(self.overall.unwrap_or(now).max(now) + rate.every);
        due(full, rate, now).max(self.until.unwrap_or(now))
    }
}

/// Waits for a moment. A past moment costs nothing; the timer would round it up to its next tick.
async fn reach(at: Instant) {
    if at > Instant::now() {
        tokio::time::sleep_until(at).await;
    }
}

/// The state in which the whole burst is used up at the end of a pause.
fn paid_after(rate: Rate, until: Instant) -> Instant {
    until + rate.every.saturating_mul(rate.burst.saturating_sub(1))
}

/// When one more may be sent. `full` is when the bucket is full again.
fn due(full: Option<Instant>, rate: Rate, now: Instant) -> Instant {
    let credit = rate.every.saturating_mul(rate.burst.saturating_sub(1));
    full.and_then(|full| full.checked_sub(credit)).unwrap_or(now).max(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: Rate = Rate { burst: 2, every: Duration::from_secs(1) };
    const ALL: Rate = Rate { burst: 3, every: Duration::from_millis(100) };

    /// The wait of each send, in milliseconds.
    async fn waits(pace: &Pace, chats: &[&str]) -> Vec<u128> {
        let now = Instant::now();
        let turns = chats.iter().map(|chat| async {
            pace.wait(chat, CHAT).await;
            (Instant::now() - now).as_millis()
        });
        futures_util::future::join_all(turns).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_at_once_and_the_rest_in_turn() {
        let pace = Pace::new(ALL);
        assert_eq!(waits(&pace, &["a", "a", "a", "a"]).await, [0, 0, 1000, 2000]);
    }

    #[tokio::test(start_paused = true)]
    async fn all_chats_together_have_a_rate_too() {
        let pace = Pace::new(ALL);
        assert_eq!(waits(&pace, &["a", "b", "c", "d", "e"]).await, [0, 0, 0, 100, 200]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_holds_one_chat_or_all() {
        let pace = Pace::new(ALL);
        pace.pause("a", CHAT, Duration::from_secs(30));
        assert_eq!(waits(&pace, &["a", "b"]).await, [30_000, 0]);
        pace.pause_all(Duration::from_secs(5));
        assert_eq!(waits(&pace, &["c"]).await, [5_000]);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_gives_up_waiting_gives_the_turn_back_but_no_pause() {
        let pace = Pace::new(ALL);
        assert_eq!(waits(&pace, &["a", "a"]).await, [0, 0]);
        for _ in 0..50 {
            let impatient = tokio::time::timeout(Duration::from_millis(10), pace.wait("a", CHAT)).await;
            assert!(impatient.is_err());
        }
        assert_eq!(waits(&pace, &["a"]).await, [500], "half a second has passed, and nobody stands before");
        pace.pause("a", CHAT, Duration::from_secs(30));
        assert!(tokio::time::timeout(Duration::from_secs(1), pace.wait("a", CHAT)).await.is_err());
        assert_eq!(waits(&pace, &["a"]).await, [29_000]);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_already_hears_of_a_pause_and_gets_in_line_behind_it() {
        for everybody in [false, true] {
            let pace = Pace::new(ALL);
            assert_eq!(waits(&pace, &["a", "a"]).await, [0, 0]);
            let (waited, ()) = tokio::join!(waits(&pace, &["a", "a", "b"]), async {
                tokio::time::sleep(Duration::from_millis(200)).await;
                if everybody {
                    pace.pause_all(Duration::from_secs(10));
                } else {
                    pace.pause("a", CHAT, Duration::from_secs(10));
                }
            });
            let expected = if everybody { [10_200, 10_300, 0] } else { [10_200, 11_200, 0] };
            assert_eq!(waited, expected, "{everybody}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_be_left_out_never_takes_a_turn_that_is_not_free() {
        let pace = Pace::new(ALL);
        assert!(pace.spare("a", CHAT) && pace.spare("a", CHAT));
        assert!(!pace.spare("a", CHAT));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(pace.spare("a", CHAT));
    }
}
