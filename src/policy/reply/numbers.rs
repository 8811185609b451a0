//! Numbers as people write them: digits, Chinese numerals, `A1`, `第一个`, and durations. Each parser takes the remaining
//! characters and returns what it read and how many characters it consumed.

use std::num::NonZeroU32;

use super::word::Language;

/// A day, the longest duration of an approval.
pub(super) const LONGEST_MINUTES: u32 = 1440;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How an approval was numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberedReply {
    /// `A1`, `#1`, `1`, `1号`.
    Number(u32),
    /// `第一个`, `the first`: may be a number or a position in the list.
    Ordinal(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stretch {
    /// From now on, for this many minutes: `for 10 minutes`, `10 分钟内`.
    Minutes(NonZeroU32, Language),
    /// A bare duration: `10 minutes`.
    Length(NonZeroU32),
    /// Not a whole number of minutes from one to a day.
    OutOfRange(Language),
    /// A point in time (`10 minutes later`) or a deadline (`within 24 hours`), which permits nothing.
    Point,
}

/// The length of a prefix of the text.
pub(super) fn starts(rest: &[char], text: &str) -> Option<usize> {
    let mut taken = 0;
    for wanted in text.chars() {
        if rest.get(taken) != Some(&wanted) {
            return None;
        }
        taken += 1;
    }
    Some(taken)
}

/// `A1`, `#1`, `#A1`, `1`, `1号`, `第一个`, `第3条`.
pub(super) fn numbered(rest: &[char]) -> Option<(NumberedReply, usize)> {
    if let Some(taken) = starts(rest, "第") {
        let (value, more) = whole(rest.get(taken..)?)?;
        let taken = taken + more;
        let counted = ["个", "条", "项", "号"].iter().find_map(|word| starts(rest.get(taken..)?, word));
        return Some((NumberedReply::Ordinal(value), taken + counted.unwrap_or(0)));
    }
    let hash = starts(rest, "#").unwrap_or(0);
    let letter = starts(rest.get(hash..)?, "a").unwrap_or(0);
    let marked = hash + letter;
    let (value, digits) = digits(rest.get(marked..)?)?;
    let end = marked + digits;
    let after = rest.get(end).copied();
    if glued(after)
        || (matches!(after, Some('.' | ':')) && rest.get(end + 1).is_some_and(char::is_ascii_digit))
    {
        return None;
    }
    let counted = starts(rest.get(end..)?, "号").unwrap_or(0);
    Some((NumberedReply::Number(u32::try_from(value).unwrap_or(u32::MAX)), end + counted))
}

/// `10 分钟内`, `半小时`, `for 2h`, `90 min`, `1h30m`, `half an hour`.
pub(super) fn stretch(rest: &[char]) -> Option<(Stretch, usize)> {
    let lead = LEADS
        .iter()
        .filter_map(|(lead, means)| Some((starts(rest, lead)?, *means)))
        .max_by_key(|(taken, _)| *taken);
    let mut at = lead.map_or(0, |(taken, _)| taken);
    at += starts(rest.get(at..)?, " ").unwrap_or(0);
    let (mut seconds, taken) = piece(rest.get(at..)?)?;
    at += taken;
    // `1小时30分`, `1h30m`, `1 hour 30 minutes`: one more, smaller, piece.
    if seconds >= HOUR && seconds.is_multiple_of(HOUR) {
        let gap = [" and ", " "].iter().find_map(|gap| starts(rest.get(at..)?, gap)).unwrap_or(0);
        if let Some((more, taken)) = rest.get(at + gap..).and_then(piece)
            && more < HOUR
        {
            seconds = seconds.saturating_add(more);
            at += gap + taken;
        }
    }
    let after = rest.get(at..)?;
    if let Some(taken) = POINTS.iter().find_map(|word| starts(after, word)) {
        return Some((Stretch::Point, at + taken));
    }
    let inside = INSIDES.iter().find_map(|word| starts(after, word)).unwrap_or(0);
    let language = match lead {
        Some((_, Lead::Deadline)) => return Some((Stretch::Point, at + inside)),
        Some((_, Lead::For)) => Some(Language::English),
        Some((_, Lead::During)) => Some(Language::Chinese),
        None => (inside > 0).then_some(Language::Chinese),
    };
    let read = match (minutes(seconds), language) {
        (None, language) => Stretch::OutOfRange(language.unwrap_or(Language::Chinese)),
        (Some(minutes), Some(language)) => Stretch::Minutes(minutes, language),
        (Some(minutes), None) => Stretch::Length(minutes),
    };
    Some((read, at + inside))
}

/// The meaning of a word before a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    For,
    During,
    Deadline,
}

const LEADS: &[(&str, Lead)] = &[
    ("在", Lead::During),
    ("接下来", Lead::During),
    ("接下来的", Lead::During),
    ("未来", Lead::During),
    ("未来的", Lead::During),
    ("在接下来", Lead::During),
    ("在接下来的", Lead::During),
    ("for ", Lead::For),
    ("for the next ", Lead::For),
    ("in ", Lead::Deadline),
    ("in the next ", Lead::Deadline),
    ("the next ", Lead::Deadline),
    ("next ", Lead::Deadline),
    ("within ", Lead::Deadline),
    ("within the next ", Lead::Deadline),
];
const INSIDES: &[&str] = &["之内", "以内", "内", "里"];
const POINTS: &[&str] =
    &["以后", "之后", "后", "以前", "之前", "前", " later", " ago", " from now", " after", " before"];

fn minutes(seconds: u64) -> Option<NonZeroU32> {
    let whole = seconds.is_multiple_of(MINUTE).then_some(seconds / MINUTE);
    whole
        .and_then(|minutes| u32::try_from(minutes).ok())
        .filter(|minutes| *minutes <= LONGEST_MINUTES)
        .and_then(NonZeroU32::new)
}

/// One amount with its unit, in seconds.
fn piece(rest: &[char]) -> Option<(u64, usize)> {
    let (tenths, mut at) = amount(rest)?;
    at += starts(rest.get(at..)?, " ").unwrap_or(0);
    let (unit, taken) = unit(rest.get(at..)?)?;
    at += taken;
    let mut seconds = tenths.saturating_mul(unit) / 10;
    // `一小时半`, but not `10 分钟半小时`.
    if let Some(taken) = starts(rest.get(at..)?, "半")
        && unit_han(rest.get(at + taken..)?).is_none()
    {
        seconds = seconds.saturating_add(unit / 2);
        at += taken;
    }
    Some((seconds, at))
}

/// An amount, in tenths: `10`, `1.5`, `十五`, `半`, `一个半`, `ten`, `half an`.
fn amount(rest: &[char]) -> Option<(u64, usize)> {
    if let Some(taken) = ["半个", "半"].iter().find_map(|half| starts(rest, half)) {
        return Some((5, taken));
    }
    if let Some((tenths, taken)) = ENGLISH.iter().find_map(|(word, tenths)| {
        let taken = starts(rest, word)?;
        (rest.get(taken) == Some(&' ')).then_some((*tenths, taken))
    }) {
        return Some((tenths, taken));
    }
    if let Some((value, mut at)) = digits(rest) {
        let mut tenths = value.saturating_mul(10);
        if rest.get(at) == Some(&'.')
            && let Some(tenth) = rest.get(at + 1).and_then(|c| c.to_digit(10))
        {
            tenths = tenths.saturating_add(u64::from(tenth));
            at += 2;
        }
        return Some(half(rest, tenths, at));
    }
    let (value, at) = numeral(rest)?;
    Some(half(rest, u64::from(value).saturating_mul(10), at))
}

/// The `个` and `个半` after an amount.
fn half(rest: &[char], tenths: u64, at: usize) -> (u64, usize) {
    let left = rest.get(at..).unwrap_or_default();
    if let Some(taken) = starts(left, "个半") {
        return (tenths.saturating_add(5), at + taken);
    }
    (tenths, at + starts(left, "个").unwrap_or(0))
}

/// In tenths. Longer words first where one begins with the other.
const ENGLISH: &[(&str, u64)] = &[
    ("half an", 5),
    ("half a", 5),
    ("an", 10),
    ("a", 10),
    ("one", 10),
    ("two", 20),
    ("three", 30),
    ("four", 40),
    ("five", 50),
    ("six", 60),
    ("seven", 70),
    ("eight", 80),
    ("nine", 90),
    ("ten", 100),
    ("twelve", 120),
    ("fifteen", 150),
    ("twenty", 200),
    ("thirty", 300),
    ("forty", 400),
    ("forty-five", 450),
    ("fifty", 500),
    ("sixty", 600),
    ("ninety", 900),
];

const UNITS_HAN: &[(&str, u64)] = &[
    ("小时", HOUR),
    ("钟头", HOUR),
    ("分钟", MINUTE),
    ("刻钟", 15 * MINUTE),
    ("秒钟", 1),
    ("秒", 1),
    ("分", MINUTE),
    ("天", DAY),
    ("星期", 7 * DAY),
    ("周", 7 * DAY),
    ("月", 30 * DAY),
    ("年", 365 * DAY),
];

const UNITS_LATIN: &[(&str, u64)] = &[
    ("minutes", MINUTE),
    ("minute", MINUTE),
    ("mins", MINUTE),
    ("min", MINUTE),
    ("m", MINUTE),
    ("hours", HOUR),
    ("hour", HOUR),
    ("hrs", HOUR),
    ("hr", HOUR),
    ("h", HOUR),
    ("seconds", 1),
    ("second", 1),
    ("secs", 1),
    ("sec", 1),
    ("s", 1),
    ("days", DAY),
    ("day", DAY),
    ("d", DAY),
    ("weeks", 7 * DAY),
    ("week", 7 * DAY),
    ("months", 30 * DAY),
    ("month", 30 * DAY),
    ("years", 365 * DAY),
    ("year", 365 * DAY),
];

fn unit(rest: &[char]) -> Option<(u64, usize)> {
    unit_han(rest).or_else(|| {
        UNITS_LATIN.iter().find_map(|(word, seconds)| {
            let taken = starts(rest, word)?;
            let after = rest.get(taken).copied();
            // A digit may follow: `1h30m`.
            let ends = !glued(after) || after.is_some_and(|c| c.is_ascii_digit());
            ends.then_some((*seconds, taken))
        })
    })
}

fn unit_han(rest: &[char]) -> Option<(u64, usize)> {
    UNITS_HAN.iter().find_map(|(word, seconds)| Some((*seconds, starts(rest, word)?)))
}

/// A number without a unit: digits or a numeral.
fn whole(rest: &[char]) -> Option<(u32, usize)> {
    match digits(rest) {
        Some((value, taken)) => Some((u32::try_from(value).unwrap_or(u32::MAX), taken)),
        None => numeral(rest),
    }
}

fn digits(rest: &[char]) -> Option<(u64, usize)> {
    let mut value: u64 = 0;
    let mut taken = 0;
    while let Some(digit) = rest.get(taken).and_then(|c| c.to_digit(10)) {
        value = value.saturating_mul(10).saturating_add(u64::from(digit));
        taken += 1;
    }
    (taken > 0).then_some((value, taken))
}

/// `五`, `十五`, `二十`, `一百二十`.
pub(super) fn numeral(rest: &[char]) -> Option<(u32, usize)> {
    let mut total: u32 = 0;
    let mut digit: Option<u32> = None;
    let mut taken = 0;
    for c in rest {
        match c {
            '十' => total = total.saturating_add(digit.take().unwrap_or(1).saturating_mul(10)),
            '百' => total = total.saturating_add(digit.take()?.saturating_mul(100)),
            // Two digits in a row are no number here.
            _ => match HAN_DIGITS.iter().position(|han| han == c).map(u32::try_from) {
                Some(Ok(0)) => {}
                Some(Ok(value)) if digit.is_none() => digit = Some(if value == 10 { 2 } else { value }),
                Some(_) => return None,
                None => break,
            },
        }
        taken += 1;
    }
    (taken > 0).then_some((total.saturating_add(digit.unwrap_or(0)), taken))
}

/// The last one, 两, is another two.
const HAN_DIGITS: &[char] = &['零', '一', '二', '三', '四', '五', '六', '七', '八', '九', '两'];

/// Whether a character continues a word written in Latin letters.
pub(super) fn glued(c: Option<char>) -> bool {
    c.is_some_and(|c| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '\'' | '/' | '@' | '=' | '-' | '%' | '\\')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chars(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    #[test]
    fn stretches_of_time() {
        for (text, expected) in [
            ("10分钟内", 10),
            ("10 分钟", 10),
            ("在 10 分钟", 10),
            ("在10分钟内", 10),
            ("一小时", 60),
            ("一个小时内", 60),
            ("半小时", 30),
            ("半个小时", 30),
            ("一个半小时", 90),
            ("两个半小时", 150),
            ("一小时半", 90),
            ("十五分钟", 15),
            ("二十五分钟", 25),
            ("一百二十分钟", 120),
            ("一刻钟", 15),
            ("1小时30分", 90),
            ("1.5小时", 90),
            ("for 2h", 120),
            ("30m", 30),
            ("90 min", 90),
            ("1h30m", 90),
            ("an hour", 60),
            ("for half an hour", 30),
            ("for the next ten minutes", 10),
            ("1 day", 1440),
            ("120 seconds", 2),
        ] {
            let text = chars(text);
            let read = stretch(&text).map(|(read, taken)| match read {
                Stretch::Minutes(minutes, _) | Stretch::Length(minutes) => (minutes.get(), taken),
                other => panic!("{text:?} was read as {other:?}"),
            });
            assert_eq!(read, Some((expected, text.len())), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_stretch_of_ours_permits_nothing() {
        for text in ["0分钟", "30秒", "1441 minutes", "2天", "99999999999999999999 h", "1周", "90s"] {
            let read = stretch(&chars(text)).map(|(read, _)| read);
            assert!(matches!(read, Some(Stretch::OutOfRange(_))), "{text}: {read:?}");
        }
        for text in [
            "10分钟后",
            "10分钟以后",
            "十分钟之前",
            "10 minutes later",
            "2h ago",
            "within 24 hours",
            "in 10 minutes",
            "the next 5 min",
        ] {
            assert_eq!(stretch(&chars(text)).map(|(read, _)| read), Some(Stretch::Point), "{text}");
        }
        for text in ["10", "mins", "10 monkeys", "分钟", ""] {
            assert_eq!(stretch(&chars(text)), None, "{text}");
        }
    }

    #[test]
    fn numbers_of_approvals() {
        for (text, expected) in [
            ("a1", Some((NumberedReply::Number(1), 2))),
            ("#12", Some((NumberedReply::Number(12), 3))),
            ("#a3 ", Some((NumberedReply::Number(3), 3))),
            ("2号", Some((NumberedReply::Number(2), 2))),
            ("第一个", Some((NumberedReply::Ordinal(1), 3))),
            ("第十二条", Some((NumberedReply::Ordinal(12), 4))),
            ("第3", Some((NumberedReply::Ordinal(3), 2))),
            ("a1b", None),
            ("1.5", None),
            ("1-3", None),
            ("10:30", None),
            ("apple", None),
            ("99999999999999", Some((NumberedReply::Number(u32::MAX), 14))),
        ] {
            assert_eq!(numbered(&chars(text)), expected, "{text}");
        }
    }
}
