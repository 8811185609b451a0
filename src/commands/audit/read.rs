//! Finding the lines that are wanted, from the newest file back.

use std::collections::VecDeque;
use std::path::Path;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::domain::Timestamp;
use crate::ports::{StoreError, StoreErrorKind};
use crate::store::audit_files;

/// Which lines are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) since: Option<Timestamp>,
    pub(super) thread: Option<&'a str>,
    /// Of this event, or of the family of events it begins.
    pub(super) event: Option<&'a str>,
    /// At most so many.
    pub(super) limit: usize,
}

impl Wanted<'_> {
    fn fits(&self, facts: &Value) -> bool {
        let text = |key: &str| facts.get(key).and_then(Value::as_str).unwrap_or_default();
        let of_family = |wanted: &str| {
            let rest = text("event").strip_prefix(wanted);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        self.since.is_none_or(|since| Timestamp::parse_rfc3339(text("at")).is_some_and(|at| at >= since))
            && self.thread.is_none_or(|thread| text("threadId") == thread)
            && self.event.is_none_or(of_family)
    }
}

/// A line of the trail.
#[derive(Debug)]
pub(super) struct Line {
    /// As it stands in the file.
    pub(super) text: String,
    pub(super) facts: Value,
}

/// The lines that were found.
#[derive(Debug, Default)]
pub(super) struct AuditLines {
    pub(super) lines: Vec<Line>,
    /// How many could not be read.
    pub(super) unreadable: usize,
}

impl AuditLines {
    /// Reads the newest lines that are wanted.
    pub(super) fn read(state: &Path, wanted: &Wanted<'_>) -> Result<Self, StoreError> {
        let mut found = VecDeque::new();
        let mut unreadable = 0;
        for path in audit_files(state, wanted.since)?.iter().rev() {
            if found.len() >= wanted.limit {
                break;
            }
            let bytes = std::fs::read(path).map_err(|source| {
                StoreError::new(StoreErrorKind::Unavailable, path.to_string_lossy(), source)
            })?;
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
            // The newest of a file first, so that nothing is kept that is not shown.
            for line in lines.rev() {
                match serde_json::from_slice::<Value>(line) {
                    Ok(facts) if facts.is_object() => {
                        if found.len() < wanted.limit && wanted.fits(&facts) {
                            found
                                .push_front(Line { text: String::from_utf8_lossy(line).into_owned(), facts });
                        }
                    }
                    Ok(_) | Err(_) => unreadable += 1,
                }
            }
        }
        Ok(Self { lines: found.into(), unreadable })
    }
}

/// Reads a beginning: so long ago (`30m`, `2h`, `7d`), a day, or a moment.
pub(super) fn since(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    if let Some(moment) = Timestamp::parse_rfc3339(text) {
        return Some(moment);
    }
    if let Ok(day) = text.parse::<Date>() {
        let midnight = day.to_zoned(zone.clone()).ok()?;
        return Some(Timestamp::from_millis(midnight.timestamp().as_millisecond()));
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
    Some(Timestamp::from_millis(now.as_millis().saturating_sub(ago)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_beginning_is_a_span_a_day_or_a_moment() {
        let now = Timestamp::parse_rfc3339("2026-11-16T12:00:00Z").unwrap();
        let shanghai = TimeZone::get("Asia/Shanghai").unwrap();
        for (text, expected) in [
            ("90s", Some("2026-11-16T11:58:30Z")),
            ("30m", Some("2026-11-16T11:30:00Z")),
            ("2h", Some("2026-11-16T10:00:00Z")),
            ("7d", Some("2026-11-09T12:00:00Z")),
            ("2026-11-16", Some("2026-11-15T16:00:00Z")),
            ("2026-11-16T09:30:00Z", Some("2026-11-16T09:30:00Z")),
            ("2", None),
            ("h", None),
            ("-2h", None),
            ("2 weeks", None),
            ("", None),
            ("两小时", None),
        ] {
            let expected = expected.map(|text| Timestamp::parse_rfc3339(text).unwrap());
            assert_eq!(since(text, now, &shanghai), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_are_told_apart_by_time_thread_and_kind() {
        let line = json!({ "at": "2026-11-16T12:00:00Z", "event": "grant-used", "threadId": "web:chat:1" });
        let all = Wanted { since: None, thread: None, event: None, limit: 1 };
        assert!(all.fits(&line));
        assert!(Wanted { event: Some("grant"), ..all }.fits(&line));
        assert!(Wanted { event: Some("grant-used"), ..all }.fits(&line));
        assert!(!Wanted { event: Some("gran"), ..all }.fits(&line));
        assert!(!Wanted { thread: Some("web:chat:2"), ..all }.fits(&line));
        let later = Timestamp::parse_rfc3339("2026-11-16T12:00:01Z");
        assert!(!Wanted { since: later, ..all }.fits(&line));
    }
}
