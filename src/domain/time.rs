//! A time in whole milliseconds since the epoch. Passed in; nothing here reads a clock.

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

    #[must_use]
    pub fn plus_millis(self, millis: u64) -> Self {
        Self(self.0.saturating_add(i64::try_from(millis).unwrap_or(i64::MAX)))
    }
}
