//! Times in whole milliseconds since the epoch, time zones and retry delays. Nothing here reads a clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

/// The time zone of this IANA name. Abbreviations are refused: `CST` is China, Cuba and Chicago.
pub fn time_zone(name: &str) -> Option<jiff::tz::TimeZone> {
    if name != "UTC" && !name.contains('/') {
        return None;
    }
    jiff::tz::TimeZone::get(name).ok()
}

impl Timestamp {
    /// From milliseconds since the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Milliseconds from `earlier` to this moment; zero when the clock went back.
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    /// RFC 3339 in UTC, the format of all files and answers.
    pub fn rfc3339(self) -> String {
        jiff::Timestamp::from_millisecond(self.0).unwrap_or_default().to_string()
    }

    /// The day in UTC, as `2026-11-18`.
    pub fn day(self) -> String {
        self.rfc3339().chars().take(10).collect()
    }

    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|at| Self(at.as_millisecond()))
    }

    /// A time as people write it: a duration before now (`30m`, `2h`, `7d`), a day, or RFC 3339.
    pub fn read_or_ago(text: &str, now: Self, zone: &jiff::tz::TimeZone) -> Option<Self> {
        let text = text.trim();
        if let Some(moment) = Self::parse_rfc3339(text) {
            return Some(moment);
        }
        if let Ok(day) = text.parse::<jiff::civil::Date>() {
            let midnight = day.to_zoned(zone.clone()).ok()?;
            return Some(Self(midnight.timestamp().as_millisecond()));
        }
        let unit = text.chars().last()?;
        let count: i64 = text.strip_suffix(unit)?.parse().ok().filter(|count| *count >= 0)?;
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            _ => return None,
        };
        let ago = count.checked_mul(seconds)?.checked_mul(1000)?;
        Some(Self(now.0.saturating_sub(ago)))
    }

    #[must_use]
    pub fn plus_millis(self, millis: u64) -> Self {
        Self(self.0.saturating_add(i64::try_from(millis).unwrap_or(i64::MAX)))
    }
}

/// A wait that doubles up to a limit.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The wait after the first failure.
    pub first: Duration,
    pub longest: Duration,
    /// A run of this length resets the wait.
    pub stable_after: Duration,
}

impl Backoff {
    /// For adapters: short enough that a brief failure goes unnoticed, long enough not to overload a platform.
    pub const ADAPTERS: Self = Self {
        first: Duration::from_secs(1),
        longest: Duration::from_secs(60),
        stable_after: Duration::from_secs(120),
    };

    /// The wait after the `breaks`th failure in a row, counted from 1. `dice` from 0 to 1 takes up to half of it away,
    /// so that clients that failed together do not restart together.
    pub fn delay(&self, breaks: u32, dice: f64) -> Duration {
        let doubled =
            self.first.saturating_mul(1_u32.checked_shl(breaks.saturating_sub(1)).unwrap_or(u32::MAX));
        doubled.min(self.longest).mul_f64(1.0 - dice.clamp(0.0, 1.0) / 2.0)
    }

    /// The number of failures in a row, after a run of this length.
    pub fn breaks_after(&self, earlier: u32, ran: Duration) -> u32 {
        if ran >= self.stable_after { 1 } else { earlier.saturating_add(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_its_limit() {
        let waits: Vec<u64> = [1, 2, 3, 6, 7, 31, 32, 33, u32::MAX]
            .map(|breaks| Backoff::ADAPTERS.delay(breaks, 0.0).as_secs())
            .into();
        assert_eq!(waits, [1, 2, 4, 32, 60, 60, 60, 60, 60]);
    }

    #[test]
    fn the_dice_take_up_to_half_away() {
        for (dice, millis) in [(0.0, 4000), (0.5, 3000), (1.0, 2000), (7.0, 2000), (-1.0, 4000)] {
            assert_eq!(Backoff::ADAPTERS.delay(3, dice), Duration::from_millis(millis), "{dice}");
        }
    }

    #[test]
    fn a_stable_run_forgets_the_breaks_before_it() {
        let backoff = Backoff::ADAPTERS;
        assert_eq!(backoff.breaks_after(5, Duration::from_secs(119)), 6);
        assert_eq!(backoff.breaks_after(5, Duration::from_secs(120)), 1);
    }
}
