//! A span of time as people write it: its beginning and its end, or the usual one for a grouping. Pure.

use jiff::Span;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::Dimension;
use crate::domain::Timestamp;

/// How many days are shown where no beginning is given.
const USUAL_DAYS: i64 = 30;
/// How many months are shown by month where no beginning is given.
const USUAL_MONTHS: i64 = 12;

/// From `since` on, before `until`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

/// A text that names no time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no time: write 30m, 2h, 7d, a date such as 2026-11-18, or a time such as 2026-11-18T09:00:00Z"
)]
pub struct BadTime(pub String);

impl TimeRange {
    /// Reads both ends. A date as the end belongs to the range as a whole. Without a beginning the range has the usual
    /// length for these groupings.
    pub fn read(
        since: Option<&str>,
        until: Option<&str>,
        by: &[Dimension],
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Self, BadTime> {
        let bad = |text: &str| BadTime(text.chars().take(40).collect());
        let until = match until {
            None => None,
            Some(text) => Some(match text.trim().parse::<Date>() {
                Ok(day) => {
                    day.tomorrow().ok().and_then(|next| start_of(next, zone)).ok_or_else(|| bad(text))?
                }
                Err(_) => Timestamp::read_or_ago(text, now, zone).ok_or_else(|| bad(text))?,
            }),
        };
        let since = match since {
            None => usual_start(by, until.unwrap_or(now), zone),
            Some(text) => Some(Timestamp::read_or_ago(text, now, zone).ok_or_else(|| bad(text))?),
        };
        Ok(Self { since, until })
    }

    pub fn contains(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }
}

fn usual_start(by: &[Dimension], end: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let end = jiff::Timestamp::from_millisecond(end.as_millis()).ok()?.to_zoned(zone.clone()).date();
    let first = if by.contains(&Dimension::Month) {
        end.first_of_month().checked_sub(Span::new().months(USUAL_MONTHS - 1))
    } else {
        end.checked_sub(Span::new().days(USUAL_DAYS - 1))
    };
    start_of(first.ok()?, zone)
}

fn start_of(day: Date, zone: &TimeZone) -> Option<Timestamp> {
    let midnight = day.to_zoned(zone.clone()).ok()?;
    Some(Timestamp::from_millis(midnight.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_read_and_a_last_day_belongs_to_the_range() {
        let zone = TimeZone::get("Asia/Shanghai").unwrap();
        let now = Timestamp::parse_rfc3339("2026-11-18T10:00:00Z").unwrap();
        let read = |since: Option<&str>, until: Option<&str>, by: Dimension| {
            let range = TimeRange::read(since, until, &[by], now, &zone).unwrap();
            (range.since.map(Timestamp::rfc3339), range.until.map(Timestamp::rfc3339))
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(read(None, None, Dimension::Day), (text("2026-10-19T16:00:00Z"), None));
        assert_eq!(read(None, None, Dimension::Month), (text("2025-11-30T16:00:00Z"), None));
        assert_eq!(
            read(Some("2026-11-01"), Some("2026-11-18"), Dimension::Day),
            (text("2026-10-31T16:00:00Z"), text("2026-11-18T16:00:00Z"))
        );
        assert_eq!(
            read(Some("2h"), Some("2026-11-18T09:00:00Z"), Dimension::Task),
            (text("2026-11-18T08:00:00Z"), text("2026-11-18T09:00:00Z"))
        );
        for wrong in ["yesterday", "", "2026-13-01", "-3d"] {
            assert!(TimeRange::read(Some(wrong), None, &[], now, &zone).is_err(), "{wrong}");
            assert!(TimeRange::read(None, Some(wrong), &[], now, &zone).is_err(), "{wrong}");
        }
    }
}
