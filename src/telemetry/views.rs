//! A text as a sequence of symbols with their positions. Escapes are decoded and separators skipped, so that one search
//! finds a secret in any spelling. Pure.

use std::ops::Range;

use super::automaton::Automaton;
use super::encodings::symbol_of;

/// Largest gap between letters of one sequence, in bytes.
const WIDEST_GAP: usize = 40;

/// How many matching symbols are unlikely to be chance.
const LIKELY: usize = 4;

/// Longest escape, without backslashes.
const LONGEST_ESCAPE: usize = 48;

const LONGEST_DUMP_LINE: usize = 96;

/// The result of a search.
#[derive(Debug, Default)]
pub(super) struct FoundSecrets {
    /// The positions of patterns, ordered by their ends.
    pub(super) spans: Vec<Range<usize>>,
    /// Where a possible beginning of a pattern at the end of the text starts; the text's length for none.
    pub(super) pending: usize,
    /// The same, for beginnings that are unlikely to be chance.
    pub(super) likely: usize,
}

impl FoundSecrets {
    /// Records that the last `depth` of the symbols at these positions may be the beginning of a pattern.
    fn begun(&mut self, starts: &[usize], depth: usize) {
        let start = starts.len().checked_sub(depth).and_then(|at| starts.get(at)).filter(|_| depth > 0);
        if let Some(start) = start {
            self.pending = self.pending.min(*start);
            if depth >= LIKELY {
                self.likely = self.likely.min(*start);
            }
        }
    }
}

/// Finds sequences of letters and digits in any case, with any separators and escapes.
pub(super) fn search_letters(text: &str, automaton: &Automaton, masked: &[Range<usize>]) -> FoundSecrets {
    let mut found = search(text, automaton, masked, WIDEST_GAP, letter_at);
    for span in &mut found.spans {
        // The text column of a dump is redacted as well.
        if let Some(end) = text_of_dump(text.as_bytes(), span.end) {
            span.end = end;
        }
    }
    found
}

/// Searches for sequences of base64 digits, in either alphabet, also across line breaks.
pub(super) fn search_base64(text: &str, automaton: &Automaton, masked: &[Range<usize>]) -> FoundSecrets {
    search(text, automaton, masked, usize::MAX, base64_at)
}

/// What is at a position of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EncodedItem {
    /// A symbol, and its length in bytes.
    Symbol(u8, usize),
    /// Bytes that are skipped.
    Skip(usize),
    /// Bytes that end every sequence.
    Stop(usize),
}

/// Searches a text symbol by symbol. Masked spans, which are in order and do not overlap, are skipped.
fn search(
    text: &str,
    automaton: &Automaton,
    masked: &[Range<usize>],
    widest: usize,
    item_at: fn(&[u8], usize) -> EncodedItem,
) -> FoundSecrets {
    let bytes = text.as_bytes();
    let mut found = FoundSecrets { spans: Vec::new(), pending: text.len(), likely: text.len() };
    if automaton.is_empty() {
        return found;
    }
    let mut state = automaton.start();
    // The positions of the symbols that the state covers.
    let mut starts: Vec<usize> = Vec::new();
    let (mut at, mut last_end) = (0, 0);
    let mut masked = masked.iter().peekable();
    while at < bytes.len() {
        if let Some(mask) = masked.next_if(|mask| mask.start <= at) {
            last_end += mask.end.saturating_sub(at);
            at = mask.end.max(at);
            continue;
        }
        if bytes.len() - at <= LONGEST_ESCAPE && is_unfinished(bytes, at) {
            found.begun(&starts, automaton.depth(state));
            found.pending = found.pending.min(at);
        }
        let length = match item_at(bytes, at) {
            EncodedItem::Symbol(symbol, length) => {
                if at.saturating_sub(last_end) > widest {
                    state = automaton.start();
                }
                state = automaton.next(state, symbol);
                let end = at + length;
                last_end = end;
                match automaton.depth(state) {
                    0 => starts.clear(),
                    depth => {
                        starts.push(at);
                        if starts.len() > 4096 + 2 * depth {
                            starts.drain(..starts.len() - depth);
                        }
                    }
                }
                let matched = automaton.matched(state);
                if matched > 0
                    && let Some(start) = starts.len().checked_sub(matched).and_then(|at| starts.get(at))
                {
                    found.spans.push(*start..end);
                }
                length
            }
            EncodedItem::Skip(length) => length,
            EncodedItem::Stop(length) => {
                state = automaton.start();
                starts.clear();
                length
            }
        };
        at += length.max(1);
    }
    if bytes.len().saturating_sub(last_end) <= widest {
        found.begun(&starts, automaton.depth(state));
    }
    found
}

/// Whether an escape or the offset of a dump begins here and may continue after the end of the text.
fn is_unfinished(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    let all = |rest: &[u8], most: usize, is: fn(&u8) -> bool| rest.len() <= most && rest.iter().all(is);
    let hex = |rest: &[u8], most: usize| all(rest, most, u8::is_ascii_hexdigit);
    match rest {
        [b'\\', ..] => {
            let letter = rest.iter().position(|byte| *byte != b'\\').unwrap_or(rest.len());
            match rest.get(letter..).unwrap_or_default() {
                [] => true,
                [b'x', digits @ ..] => hex(digits, 1),
                [b'u', b'{', digits @ ..] => hex(digits, 6),
                [b'u', digits @ ..] => hex(digits, 3),
                [b'U', digits @ ..] => hex(digits, 7),
                digits => all(digits, 2, |byte| matches!(byte, b'0'..=b'7')),
            }
        }
        [b'%', digits @ ..] => {
            let mut digits = digits;
            while let [b'2', b'5', more @ ..] = digits {
                digits = more;
            }
            hex(digits, 1) || matches!(digits, [b'u' | b'U', digits @ ..] if hex(digits, 3))
        }
        [b'&', name @ ..] => {
            let mut name = name;
            while let [b'a', b'm', b'p', b';', more @ ..] = name {
                name = more;
            }
            match name {
                [b'#', b'x' | b'X', digits @ ..] => hex(digits, 8),
                [b'#', digits @ ..] => all(digits, 8, u8::is_ascii_digit),
                letters => all(letters, 24, u8::is_ascii_alphabetic),
            }
        }
        [b'0', b'x' | b'X', digits @ ..] if alone(bytes, at) => hex(digits, 1),
        [b'u' | b'U', b'+', digits @ ..] if alone(bytes, at) => hex(digits, 6),
        [b'0' | b'u' | b'U'] => alone(bytes, at),
        [b'0', ..] => begins_line(bytes, at) && hex(rest, 8),
        _ => false,
    }
}

/// The letter or digit at a position, with escapes decoded; anything else is a separator.
fn letter_at(bytes: &[u8], at: usize) -> EncodedItem {
    let Some(byte) = bytes.get(at).copied() else { return EncodedItem::Skip(1) };
    let decoded = match byte {
        b' ' if is_after_number(bytes, at) => {
            return EncodedItem::Skip(text_of_dump(bytes, at).map_or(1, |end| end - at));
        }
        b'0' if offset(bytes, at) > 0 => {
            return EncodedItem::Skip(offset(bytes, at));
        }
        b'0' if is_hex_mark(bytes, at) => return EncodedItem::Skip(2),
        b'U' | b'u' if bytes.get(at + 1) == Some(&b'+') && alone(bytes, at) => {
            number(bytes, at + 2, 16, 4..=6)
        }
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => return EncodedItem::Symbol(symbol_of(byte), 1),
        b'%' => percent(bytes, at),
        b'\\' => backslash(bytes, at),
        b'&' => entity(bytes, at),
        0xEF => return full_width(bytes, at),
        _ => None,
    };
    match decoded {
        Some((code, end)) => match u8::try_from(code).ok().filter(u8::is_ascii_alphanumeric) {
            Some(letter) => EncodedItem::Symbol(symbol_of(letter), end - at),
            None => EncodedItem::Skip(end - at),
        },
        None => EncodedItem::Skip(1),
    }
}

/// The start of a dump's line, if the position is among its numbers.
pub(super) fn start_of_dump_line(text: &str, at: usize) -> Option<usize> {
    offset_before(text.as_bytes(), at)
}

/// Whether two spaces follow a hexadecimal digit.
fn is_after_number(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    bytes.get(at + 1) == Some(&b' ') && before.is_some_and(u8::is_ascii_hexdigit)
}

/// The length of the offset at the start of a dump's line: `00000010:` or `0000020 `. 0 for none.
fn offset(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let digits = rest.iter().take(9).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let ends = matches!(rest.get(digits), Some(b':' | b' '));
    if (6..=8).contains(&digits) && ends && begins_line(bytes, at) && rest.starts_with(b"000") {
        digits
    } else {
        0
    }
}

/// Whether a line can begin here: no letter or digit before it, or an escaped line break.
fn begins_line(bytes: &[u8], at: usize) -> bool {
    alone(bytes, at) || at.checked_sub(2).and_then(|before| bytes.get(before..at)) == Some(b"\\n")
}

/// The position of the offset that the numbers before a position belong to.
fn offset_before(bytes: &[u8], at: usize) -> Option<usize> {
    let is_number = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b' ');
    let from = at.saturating_sub(LONGEST_DUMP_LINE);
    let before = bytes.get(from..at)?;
    let start = at - before.iter().rev().take_while(|byte| is_number(byte)).count();
    (start..at).rev().find(|place| offset(bytes, *place) > 0)
}

/// The end of a dump's line, from the end of its numbers on.
fn text_of_dump(bytes: &[u8], at: usize) -> Option<usize> {
    let line = offset_before(bytes, at)?;
    let numbers = bytes.get(line + offset(bytes, line)..at)?;
    let rest = bytes.get(at..)?.iter().take(LONGEST_DUMP_LINE);
    let text = rest.take_while(|byte| !matches!(byte, b'\n' | b'\\')).count();
    numbers.iter().any(u8::is_ascii_hexdigit).then_some(at + text)
}

/// Whether no letter or digit precedes a position.
fn alone(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|before| bytes.get(before))
        .is_none_or(|before| !before.is_ascii_alphanumeric())
}

/// `0x` before a byte in hexadecimal digits.
fn is_hex_mark(bytes: &[u8], at: usize) -> bool {
    alone(bytes, at)
        && matches!(bytes.get(at + 1), Some(b'x' | b'X'))
        && number(bytes, at + 2, 16, 2..=2).is_some()
}

/// `%73`, `%2573` and `%u0073`.
fn percent(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    if matches!(bytes.get(at + 1), Some(b'u' | b'U')) {
        return number(bytes, at + 2, 16, 4..=4);
    }
    let mut digits = at + 1;
    while bytes.get(digits..digits + 2) == Some(b"25") && number(bytes, digits + 2, 16, 2..=2).is_some() {
        digits += 2;
    }
    number(bytes, digits, 16, 2..=2)
}

/// `\x73`, `\u0073`, `\u{73}`, `\U00000073`, `\163`, `\n`, behind any number of backslashes.
fn backslash(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let rest = bytes.get(at..)?;
    let letter = at + rest.iter().take_while(|byte| **byte == b'\\').count();
    match bytes.get(letter)? {
        b'x' => number(bytes, letter + 1, 16, 2..=2),
        b'u' if bytes.get(letter + 1) == Some(&b'{') => {
            let (code, end) = number(bytes, letter + 2, 16, 1..=6)?;
            (bytes.get(end) == Some(&b'}')).then_some((code, end + 1))
        }
        b'u' => number(bytes, letter + 1, 16, 4..=4),
        b'U' => number(bytes, letter + 1, 16, 8..=8),
        b'0'..=b'7' => number(bytes, letter, 8, 3..=3),
        b'n' | b'r' | b't' => Some((0, letter + 1)),
        _ => None,
    }
}

/// `&#115;`, `&#x73;`, `&amp;#115;` and names, which all stand for symbols.
fn entity(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let mut name = at + 1;
    while bytes.get(name..name + 4) == Some(b"amp;") && bytes.get(name + 4) == Some(&b'#') {
        name += 4;
    }
    if bytes.get(name) == Some(&b'#') {
        let hex = matches!(bytes.get(name + 1), Some(b'x' | b'X'));
        let (code, end) =
            if hex { number(bytes, name + 2, 16, 1..=8)? } else { number(bytes, name + 1, 10, 1..=8)? };
        let end = if bytes.get(end) == Some(&b';') { end + 1 } else { end };
        return Some((code, end));
    }
    let letters = bytes.get(name..)?.iter().take(25).take_while(|byte| byte.is_ascii_alphabetic()).count();
    ((2..=24).contains(&letters) && bytes.get(name + letters) == Some(&b';'))
        .then_some((0, name + letters + 1))
}

/// A number of this many digits and its end.
fn number(
    bytes: &[u8],
    at: usize,
    base: u32,
    digits: std::ops::RangeInclusive<usize>,
) -> Option<(u32, usize)> {
    let rest = bytes.get(at..)?;
    let mut code: u32 = 0;
    let mut count = 0;
    for byte in rest.iter().take(*digits.end()) {
        let Some(digit) = char::from(*byte).to_digit(base) else { break };
        code = code.checked_mul(base)?.checked_add(digit)?;
        count += 1;
    }
    digits.contains(&count).then_some((code, at + count))
}

fn full_width(bytes: &[u8], at: usize) -> EncodedItem {
    let code = match (bytes.get(at + 1), bytes.get(at + 2)) {
        (Some(high @ (0xBC | 0xBD)), Some(low)) => (u32::from(*high) - 0xBC) << 6 | u32::from(*low & 0x3F),
        _ => return EncodedItem::Skip(3),
    };
    // U+FF01 stands for `!`, and so on.
    match u8::try_from(code + 0x20).ok().filter(u8::is_ascii_alphanumeric) {
        Some(letter) => EncodedItem::Symbol(symbol_of(letter), 3),
        None => EncodedItem::Skip(3),
    }
}

/// The base64 digit at a position. White space and its escapes are skipped; anything else ends the sequence.
fn base64_at(bytes: &[u8], at: usize) -> EncodedItem {
    let Some(byte) = bytes.get(at).copied() else { return EncodedItem::Stop(1) };
    match byte {
        b'A'..=b'Z' => EncodedItem::Symbol(byte - b'A', 1),
        b'a'..=b'z' => EncodedItem::Symbol(byte - b'a' + 26, 1),
        b'0'..=b'9' => EncodedItem::Symbol(byte - b'0' + 52, 1),
        b'+' | b'-' => EncodedItem::Symbol(62, 1),
        b'/' | b'_' => EncodedItem::Symbol(63, 1),
        b' ' | b'\n' | b'\r' | b'\t' | b'"' | b'\'' => EncodedItem::Skip(1),
        b'\\' => {
            let run = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| **byte == b'\\').count();
            EncodedItem::Skip(run + usize::from(matches!(bytes.get(at + run), Some(b'n' | b'r' | b't'))))
        }
        b'%' => match percent(bytes, at) {
            Some((0x2B | 0x2D, end)) => EncodedItem::Symbol(62, end - at),
            Some((0x2F | 0x5F, end)) => EncodedItem::Symbol(63, end - at),
            Some((0x0A | 0x0D | 0x20, end)) => EncodedItem::Skip(end - at),
            _ => EncodedItem::Stop(1),
        },
        // Zero-width spaces and joiners, and the byte order mark.
        0xE2 if matches!(bytes.get(at + 1..at + 3), Some([0x80, 0x8B..=0x8F] | [0x81, 0xA0])) => {
            EncodedItem::Skip(3)
        }
        0xEF if bytes.get(at + 1..at + 3) == Some(&[0xBB, 0xBF]) => EncodedItem::Skip(3),
        _ => EncodedItem::Stop(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(text: &str) -> String {
        let bytes = text.as_bytes();
        let (mut at, mut out) = (0, String::new());
        while at < bytes.len() {
            at += match letter_at(bytes, at) {
                EncodedItem::Symbol(symbol, length) => {
                    out.push(char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[usize::from(symbol)]));
                    length
                }
                EncodedItem::Skip(length) | EncodedItem::Stop(length) => length,
            };
        }
        out
    }

    #[test]
    fn escapes_are_decoded_and_what_stands_between_letters_is_left_out() {
        for (text, expected) in [
            ("Key-1 k_2", "key1k2"),
            ("%6b%65%79", "key"),
            ("%256B%2565%252579", "key"),
            ("%u006b", "k"),
            (r"\u006b\u{65}\x79\171\U0000006b", "keyyk"),
            (r"\\u006b\\\\x65", "ke"),
            (r"k\ne\ty", "key"),
            ("&#107;&#x65;&#0121;&amp;#107;", "keyk"),
            ("k&nbsp;e&ZeroWidthSpace;y&lowbar;", "key"),
            ("k\u{200b}e\u{feff}y\u{2060}", "key"),
            ("ｋｅｙ１", "key1"),
            ("0x6b 0x65, 0X79", "6b6579"),
            ("6b:65:79", "6b6579"),
            ("U+006B U+0065", "ke"),
            ("100% of 5", "100of5"),
            ("a & b; c\\", "abc"),
            ("\"ke\" + 'y'", "key"),
            ("00000000: 6b65 7931  key1\n00000004: 6b65  ke\n", "6b6579316b65"),
            ("00000000  6b 65 79  |key|\n00000003\n", "6b657900000003"),
        ] {
            assert_eq!(letters(text), expected, "{text}");
        }
    }
}
