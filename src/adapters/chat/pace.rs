//! How fast one may send: so many in a while, over all and in one chat, and not at all while the platform says so.
//! Whoever wants to send is told when; nobody is refused.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many chats are remembered before those that have rested are let go.
const MOST: usize = 4096;

/// So many at once, then one every `every`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many may go at once after a rest.
    pub burst: u32,
    /// How long one more takes to be allowed again.
    pub every: Duration,
}

/// Tells senders when their turn is. Cheap: one short lock and no waiting inside.
#[derive(Debug)]
pub struct Pace {
    overall: Rate,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    overall: Option<Instant>,
    /// When a pause of all ends.
    until: Option<Instant>,
    chats: HashMap<String, ChatRate>,
}

/// What was sent to one chat.
#[derive(Clone, Copy, Debug)]
struct ChatRate {
    /// When it has rested.
    full: Instant,
    /// What the platform said: not before then, whoever gives up waiting.
    floor: Instant,
    /// When that pause ends.
    until: Option<Instant>,
}

/// A turn in a chat that was counted and has not come: whoever gives up waiting for it gives it back.
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
    /// A pace with this rate over all chats.
    pub fn new(overall: Rate) -> Self {
        Self { overall, state: Mutex::default() }
    }

    /// Waits until one more may be sent to this chat. Its turn in the chat comes first: a chat that has to wait long
    /// holds nobody else up.
    pub async fn wait(&self, chat: &str, rate: Rate) {
        self.wait_with(chat, || rate).await;
    }

    /// The same at a rate that may change meanwhile. Whoever has waited and hears of a pause only now gets in line
    /// again behind it.
    pub async fn wait_with(&self, chat: &str, rate: impl Fn() -> Rate) {
        loop {
            let rate = rate();
            let at = self.locked(|state| state.take_chat(chat, rate, Instant::now()));
            let mut counted = Counted { pace: self, chat, every: rate.every, came: false };
            reach(at).await;
            // A turn that came within a pause is gone.
            counted.came = true;
            if self.locked(|state| state.chat_rests(chat, Instant::now())) {
                continue;
            }
            let at = self.locked(|state| state.take_overall(self.overall, Instant::now()));
            reach(at).await;
            let rests = |state: &mut State| {
                state.until.is_some_and(|until| until > Instant::now())
                    || state.chat_rests(chat, Instant::now())
            };
            if !self.locked(rests) {
                return;
            }
        }
    }

    /// Whether one more could be sent to this chat right now; if so, it counts as sent. For what may be left out.
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

    /// Sends nothing to this chat for a while.
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

    /// Sends nothing to anybody for a while.
    pub fn pause_all(&self, pause: Duration) {
        let until = Instant::now() + pause;
        let full = paid_after(self.overall, until);
        self.locked(|state| {
            state.overall = state.overall.max(Some(full));
            state.until = state.until.max(Some(until));
        });
    }

    fn locked<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    /// Counts one more in this chat, and says when it may go.
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

    /// Counts one more over all chats, and says when it may go.
    fn take_overall(&mut self, rate: Rate, now: Instant) -> Instant {
        let full = self.overall.replace(self.overall.unwrap_or(now).max(now) + rate.every);
        due(full, rate, now).max(self.until.unwrap_or(now))
    }
}

/// Waits for a moment. One that is there already costs nothing; the timer would round it up to its next tick.
async fn reach(at: Instant) {
    if at > Instant::now() {
        tokio::time::sleep_until(at).await;
    }
}

/// As if the whole burst had been used up at the end of a pause.
fn paid_after(rate: Rate, until: Instant) -> Instant {
    until + rate.every.saturating_mul(rate.burst.saturating_sub(1))
}

/// When one more may go. `full` is the moment at which everything sent so far is paid for.
fn due(full: Option<Instant>, rate: Rate, now: Instant) -> Instant {
    let credit = rate.every.saturating_mul(rate.burst.saturating_sub(1));
    full.and_then(|full| full.checked_sub(credit)).unwrap_or(now).max(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: Rate = Rate { burst: 2, every: Duration::from_secs(1) };
    const ALL: Rate = Rate { burst: 3, every: Duration::from_millis(100) };

    /// When each of these would go, in milliseconds from now.
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
