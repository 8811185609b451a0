//! When a task is due: a cron expression, an interval, or given times. Pure: the time is passed in.
//!
//! A *slot* is one instant at which a task is due. Slots depend on the schedule and its time zone alone, so that a
//! restart neither moves nor repeats them.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp, Zoned};

use crate::domain::time_zone;

/// The shortest interval.
const SHORTEST: SignedDuration = SignedDuration::from_mins(1);
/// Most times in one `at` list.
const MOST_TIMES: usize = 100;

/// When a task is due.
#[derive(Clone, Debug)]
pub enum Schedule {
    Cron(Box<Cron>),
    /// Every `interval`, counted from `anchor`.
    Every {
        interval: Interval,
        anchor: Zoned,
    },
    /// At these times, ascending.
    At(Vec<Timestamp>),
}

/// The distance of two slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Elapsed time; a change to summer time moves the time of day.
    Exact(SignedDuration),
    /// Whole days: the time of day stays the same over a change to summer time.
    Days(i32),
}

/// Why a schedule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    #[error("not a cron expression of five fields: {0}")]
    Cron(String),
    /// Such as 30 February.
    #[error("this schedule never happens")]
    Never,
    #[error("not an interval such as 30m, 2h or 1d")]
    Interval,
    #[error("the shortest interval is one minute")]
    TooShort,
    #[error(
        "an interval is either in days and weeks or in hours and minutes; use a cron expression for months"
    )]
    MixedInterval,
    #[error("not a date with a time, such as 2026-12-01 09:00")]
    Time(String),
    #[error("a date without a time of day")]
    DateWithoutTime(String),
    #[error("no time is given")]
    NoTimes,
    #[error("more than {MOST_TIMES} times are given")]
    TooManyTimes,
    /// An abbreviation such as CST names several zones.
    #[error("not a time zone of the IANA database, such as Asia/Shanghai")]
    Zone(String),
}

/// The zone of this name.
pub fn zone(name: &str) -> Result<TimeZone, ScheduleError> {
    time_zone(name).ok_or_else(|| ScheduleError::Zone(name.to_owned()))
}

impl Schedule {
    /// A cron expression of five fields or a nickname such as `@daily`. Refuses one without any time after `now`.
    pub fn cron(expression: &str, zone: &TimeZone, now: Timestamp) -> Result<Self, ScheduleError> {
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(expression.trim()).map_err(|error| ScheduleError::Cron(error.to_string()))?;
        let schedule = Self::Cron(Box::new(cron));
        if schedule.next_after(now, zone).is_none() {
            return Err(ScheduleError::Never);
        }
        Ok(schedule)
    }

    /// An interval such as `30m`, `1h30m`, `2 hours`, `PT30M`, `1d` or `2w`. Without an anchor it is counted from
    /// midnight of 1 January 1970 in its zone, so that `2h` means the even hours.
    pub fn every(interval: &str, anchor: Option<&str>, zone: &TimeZone) -> Result<Self, ScheduleError> {
        let interval = Interval::parse(interval)?;
        let anchor = match anchor {
            Some(text) => time(text, zone)?.at.to_zoned(zone.clone()),
            None => Date::constant(1970, 1, 1)
                .to_zoned(zone.clone())
                .map_err(|error| ScheduleError::Time(error.to_string()))?,
        };
        Ok(Self::Every { interval, anchor })
    }

    /// One or more times, each read by [`time`].
    pub fn at<'a>(times: impl IntoIterator<Item = &'a str>, zone: &TimeZone) -> Result<Self, ScheduleError> {
        let mut all = times
            .into_iter()
            .take(MOST_TIMES.saturating_add(1))
            .map(|text| time(text, zone).map(|given| given.at))
            .collect::<Result<Vec<_>, _>>()?;
        if all.len() > MOST_TIMES {
            return Err(ScheduleError::TooManyTimes);
        }
        all.sort_unstable();
        all.dedup();
        if all.is_empty() { Err(ScheduleError::NoTimes) } else { Ok(Self::At(all)) }
    }

    /// The first slot after this time.
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Cron(cron) => {
                let found = cron.find_next_occurrence(&after.to_zoned(zone.clone()), false).ok()?;
                // Slots are whole minutes, and later than what was asked for.
                Some(found.timestamp()).filter(|slot| *slot > after)
            }
            Self::Every { interval, anchor } => interval.next_after(anchor, after),
            Self::At(times) => times.iter().copied().find(|slot| *slot > after),
        }
    }

    /// The slots after `after`, up to and with `until`, at most `most`.
    pub fn slots(&self, after: Timestamp, until: Timestamp, zone: &TimeZone, most: usize) -> Vec<Timestamp> {
        let next = |from: &Timestamp| self.next_after(*from, zone).filter(|slot| *slot <= until);
        std::iter::successors(next(&after), next).take(most).collect()
    }

    /// Whether there is an end to its slots.
    pub fn is_one_shot(&self) -> bool {
        matches!(self, Self::At(_))
    }
}

impl Interval {
    fn parse(text: &str) -> Result<Self, ScheduleError> {
        let span: Span = text.trim().parse().map_err(|_| ScheduleError::Interval)?;
        if span.get_years() != 0 || span.get_months() != 0 {
            return Err(ScheduleError::MixedInterval);
        }
        let days = i64::from(span.get_weeks()).saturating_mul(7).saturating_add(i64::from(span.get_days()));
        let rest = SignedDuration::try_from(span.weeks(0).days(0)).map_err(|_| ScheduleError::Interval)?;
        match (days, rest) {
            (days, rest) if days < 0 || rest.is_negative() => Err(ScheduleError::TooShort),
            (0, rest) if rest < SHORTEST => Err(ScheduleError::TooShort),
            (0, rest) => Ok(Self::Exact(rest)),
            (days, SignedDuration::ZERO) => i32::try_from(days)
                .ok()
                .filter(|days| *days <= 3_660)
                .map(Self::Days)
                .ok_or(ScheduleError::Interval),
            _ => Err(ScheduleError::MixedInterval),
        }
    }

    /// The longest time between two slots.
    pub fn length(self) -> SignedDuration {
        match self {
            Self::Exact(length) => length,
            Self::Days(days) => SignedDuration::from_hours(i64::from(days).saturating_mul(24)),
        }
    }

    fn next_after(self, anchor: &Zoned, after: Timestamp) -> Option<Timestamp> {
        if after < anchor.timestamp() {
            return Some(anchor.timestamp());
        }
        let passed = after.duration_since(anchor.timestamp()).as_secs();
        match self {
            Self::Exact(length) => {
                let length = length.as_secs();
                let slots = passed.checked_div(length)?.checked_add(1)?;
                anchor.timestamp().checked_add(SignedDuration::from_secs(slots.checked_mul(length)?)).ok()
            }
            Self::Days(days) => {
                // Days have 23 to 25 hours: begin a day early.
                let length = i64::from(days).checked_mul(86_400)?;
                let first = passed.checked_sub(86_400)?.max(0).checked_div(length)?;
                (first..=first.checked_add(3)?).find_map(|number| {
                    let days = number.checked_mul(i64::from(days))?;
                    let slot = anchor.checked_add(Span::new().try_days(days).ok()?).ok()?.timestamp();
                    (slot > after).then_some(slot)
                })
            }
        }
    }
}

/// A time as a person wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenTime {
    pub at: Timestamp,
    /// The wall clock skips the written time on that day; it was moved forward.
    pub moved: bool,
}

/// A time: with a zone in brackets, with an offset, or else of the wall clock of `zone`.
pub fn time(text: &str, zone: &TimeZone) -> Result<GivenTime, ScheduleError> {
    let text = text.trim();
    // State files keep milliseconds: a finer time would never count as settled.
    let whole = |at: Timestamp| Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at);
    let fixed = |at| GivenTime { at: whole(at), moved: false };
    if let Ok(zoned) = text.parse::<Zoned>() {
        return Ok(fixed(zoned.timestamp()));
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(fixed(at));
    }
    let wrong = || ScheduleError::Time(text.to_owned());
    // The civil parser drops an offset without a word, so what contains one must not come here.
    let after_date = text.split_once(['T', 't', ' ']).map(|(_, time)| time);
    let Some(time) = after_date else {
        return Err(match text.parse::<Date>() {
            Ok(_) => ScheduleError::DateWithoutTime(text.to_owned()),
            Err(_) => wrong(),
        });
    };
    if time.contains(['+', '-', 'Z', 'z', '[']) {
        return Err(wrong());
    }
    let civil: DateTime = text.parse().map_err(|_| wrong())?;
    let ambiguous = zone.to_ambiguous_zoned(civil);
    let moved = matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. });
    let at = ambiguous.compatible().map_err(|_| wrong())?.timestamp();
    Ok(GivenTime { at: whole(at), moved })
}
