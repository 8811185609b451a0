//! Dates that a question names, and words in a text that tell a time.

use std::rc::Rc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Stems and words by which a text says when or how long.
const TIME_WORDS: &[&str] = &[
    "yesterday",
    "today",
    "tonight",
    "tomorrow",
    "ago",
    "last",
    "next",
    "week",
    "weekend",
    "month",
    "year",
    "morning",
    "evening",
    "afternoon",
    "night",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "hour",
    "minute",
    "day",
    "sinc",
    "recent",
    "spring",
    "summer",
    "autumn",
    "winter",
    "christma",
];

const CHINESE_TIMES: &[&str] = &[
    "昨天", "今天", "明天", "前天", "后天", "上周", "下周", "上个", "下个", "去年", "今年", "明年", "月",
    "星期", "周末", "周一", "周二", "周三", "周四", "周五", "周六", "周日", "小时", "分钟", "点钟", "早上",
    "晚上", "下午", "年", "天",
];

/// A date of which a part may be unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CalendarDate {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
}

impl CalendarDate {
    /// Whether this time, in UTC, is in the period. People tell of a day on the days around it.
    pub(super) fn covers(&self, at_ms: i64) -> bool {
        let Ok(at) = Timestamp::from_millisecond(at_ms) else { return false };
        let date = at.to_zoned(TimeZone::UTC).date();
        if let (Some(year), Some(month), Some(day)) = (self.year, self.month, self.day)
            && let Ok(named) = Date::new(year, month, day)
        {
            let days = named.until(date).map_or(i32::MAX, |span| span.get_days());
            return (-1..=2).contains(&days);
        }
        self.year.is_none_or(|year| year == date.year())
            && self.month.is_none_or(|month| month == date.month())
            && self.day.is_none_or(|day| day == date.day())
    }
}

/// The dates that a normalized question names.
pub(super) fn dates_in(normalized: &str) -> Vec<CalendarDate> {
    let mut out = Vec::new();
    let words: Vec<&str> =
        normalized.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    for (at, word) in words.iter().enumerate() {
        let near = |offset: isize| {
            at.checked_add_signed(offset).and_then(|place| words.get(place)).copied().unwrap_or_default()
        };
        let (before, after, behind) = (near(-1), near(1), near(2));
        if let Some(month) = month_of(word) {
            let day = day_of(before).or_else(|| day_of(after));
            let year = year_of(after).or_else(|| year_of(behind));
            // "may" is a verb more often than a month.
            if *word != "may"
                || day.is_some()
                || year.is_some()
                || matches!(before, "in" | "last" | "since" | "of")
            {
                out.push(CalendarDate { year, month: Some(month), day });
            }
        } else if let (Some(year), Some(month), Some(day)) =
            (year_of(word), number(after, 12), number(behind, 31))
        {
            out.push(CalendarDate { year: Some(year), month: Some(month), day: Some(day) });
        }
    }
    out.extend(chinese_date(normalized));
    out
}

/// A date such as 2023年7月, 5月2号 or 10月.
fn chinese_date(normalized: &str) -> Option<CalendarDate> {
    let (before, after) = normalized.split_once('月')?;
    let month = number(trailing_digits(before), 12)?;
    let day = number(leading_digits(after), 31)
        .filter(|_| after.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['日', '号']));
    let year = before.split_once('年').and_then(|(year, _)| year_of(trailing_digits(year)));
    Some(CalendarDate { year, month: Some(month), day })
}

fn trailing_digits(text: &str) -> &str {
    let kept = text.trim_end_matches(|c: char| c.is_ascii_digit());
    text.get(kept.len()..).unwrap_or_default()
}

fn leading_digits(text: &str) -> &str {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.get(..text.len().saturating_sub(rest.len())).unwrap_or_default()
}

fn month_of(word: &str) -> Option<i8> {
    let at = MONTHS.iter().position(|month| {
        *month == word
            || (word.len() == 3 && *month != "may" && month.starts_with(word))
            || (*month == "september" && word == "sept")
    })?;
    i8::try_from(at).ok().map(|at| at.saturating_add(1))
}

fn day_of(word: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    number(digits, 31)
}

fn year_of(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..2200).contains(year))
}

fn number(word: &str, most: i8) -> Option<i8> {
    word.parse().ok().filter(|number| word.len() <= 2 && (1..=most).contains(number))
}

/// Whether a text tells a time, by its stems or, in Chinese, its characters.
pub(super) fn tells_time(normalized: &str, stems: &[Rc<str>]) -> bool {
    stems.iter().any(|stem| TIME_WORDS.contains(&&**stem) || MONTHS.contains(&&**stem))
        || CHINESE_TIMES.iter().any(|word| normalized.contains(word))
}

/// Whether a text has a number, in digits or words.
pub(super) fn tells_number(normalized: &str, stems: &[Rc<str>]) -> bool {
    const NUMBERS: &[&str] = &[
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelv",
        "twenti", "thirti", "forti", "fifti", "sixti", "hundr", "thousand", "doubl", "onc", "twice",
    ];
    normalized.chars().any(|c| c.is_ascii_digit() || "一二三四五六七八九十百千万两半".contains(c))
        || stems.iter().any(|stem| NUMBERS.contains(&&**stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn date(year: Option<i16>, month: i8, day: Option<i8>) -> CalendarDate {
        CalendarDate { year, month: Some(month), day }
    }

    #[test]
    fn dates_of_a_question_are_read() {
        for (question, expected) in [
            ("what did she do in july 2023", &[date(Some(2023), 7, None)][..]),
            ("on october 13, 2023", &[date(Some(2023), 10, Some(13))]),
            ("on 8 may 2023", &[date(Some(2023), 5, Some(8))]),
            ("on the 3rd of june", &[date(None, 6, None)]),
            ("since may", &[date(None, 5, None)]),
            ("may i ask", &[]),
            ("2023-05-08", &[date(Some(2023), 5, Some(8))]),
            ("2023年7月", &[date(Some(2023), 7, None)]),
            ("5月2号", &[date(None, 5, Some(2))]),
            ("13月", &[]),
            ("march of the penguins", &[date(None, 3, None)]),
            ("no date", &[]),
        ] {
            assert_eq!(dates_in(question), expected, "{question}");
        }
    }

    #[test]
    fn a_period_covers_its_days_and_a_day_those_around_it() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
        let july = date(Some(2023), 7, None);
        assert!(july.covers(at("2023-07-31T23:00:00Z")) && !july.covers(at("2023-08-01T00:00:00Z")));
        let day = date(Some(2023), 10, Some(13));
        for (when, covered) in
            [("2023-10-11", false), ("2023-10-12", true), ("2023-10-15", true), ("2023-10-16", false)]
        {
            assert_eq!(day.covers(at(&format!("{when}T12:00:00Z"))), covered, "{when}");
        }
        assert!(!july.covers(i64::MAX));
    }
}
