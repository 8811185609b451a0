//! Parses `--since`.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::domain::Timestamp;

/// Parses a duration before now (`30m`, `2h`, `7d`), a day, or a time.
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
}
