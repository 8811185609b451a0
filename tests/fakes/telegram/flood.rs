//! The rate limits of a bot: a bucket per chat and one for all, and a record of violations.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The burst and the refill rate of a bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// Largest burst.
    pub(crate) burst: f64,
    /// Refill per second.
    pub(crate) per_second: f64,
}

#[derive(Debug)]
struct Bucket {
    room: f64,
    filled: Instant,
}

impl Bucket {
    fn full(rate: Rate, now: Instant) -> Self {
        Self { room: rate.burst, filled: now }
    }

    /// Takes one, or returns how long to wait for it.
    fn take(&mut self, rate: Rate, now: Instant) -> Result<(), Duration> {
        let gained = now.duration_since(self.filled).as_secs_f64() * rate.per_second;
        self.room = (self.room + gained).min(rate.burst);
        self.filled = now;
        if self.room >= 1.0 {
            self.room -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - self.room) / rate.per_second))
    }
}

/// The limits in force.
#[derive(Debug)]
pub(crate) struct Flood {
    per_chat: Rate,
    overall: Rate,
    chats: BTreeMap<i64, Bucket>,
    all: Bucket,
    violations: Vec<(i64, String)>,
}

impl Flood {
    /// Unused limits.
    pub(crate) fn new(per_chat: Rate, overall: Rate, now: Instant) -> Self {
        let all = Bucket::full(overall, now);
        Self { per_chat, overall, chats: BTreeMap::new(), all, violations: Vec::new() }
    }

    /// Allows a call, or returns after how many seconds it may be retried.
    pub(crate) fn pass(&mut self, chat: i64, method: &str, now: Instant) -> Result<(), u64> {
        let rate = self.per_chat;
        let bucket = self.chats.entry(chat).or_insert_with(|| Bucket::full(rate, now));
        let passed = bucket.take(rate, now).and_then(|()| self.all.take(self.overall, now));
        passed.map_err(|wait| {
            self.violations.push((chat, method.to_owned()));
            wait.as_secs() + 1
        })
    }

    /// Each call that exceeded a limit: its chat and its method.
    pub(crate) fn violations(&self) -> &[(i64, String)] {
        &self.violations
    }
}

/// Whether a method counts against the limits.
pub(crate) fn counts(method: &str) -> bool {
    let sends = method.starts_with("send") && !matches!(method, "sendchataction" | "sendmessagedraft");
    sends || method.starts_with("editmessage")
}
