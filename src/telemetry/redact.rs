//! Redacts secrets from text: those that are known by value, in every likely spelling, and those that are recognisable
//! by their shape. Pure.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use regex::{Captures, Regex};

use super::automaton::Automaton;
use super::encodings::{ALPHANUMERIC, BASE64, alphanumeric_forms, base64_forms};
use super::views::{FoundSecrets, search_base64, search_letters, start_of_dump_line};
use crate::domain::Replaceable;

const MARK: &str = "[redacted]";

/// Shorter values are not searched for: they would match ordinary words.
const SHORTEST: usize = 6;

/// How many characters identify the beginning of a secret.
const BEGINNING: usize = 4;

/// Most bytes of one character of a secret in any spelling, except for escaped escapes.
const LONGEST_SPELLING: usize = 14;

/// Longest key or token that is recognised by its shape.
const LONGEST_SHAPE: usize = 4 * 1024;

/// Most bytes of a growing text that are held back.
const MOST_HELD: usize = 64 * 1024;

/// Recognisable secrets: a bearer token, an API key, a bot token (in a URL it follows a letter, and its colon may be
/// encoded). The first group is kept.
const SHAPES: &str = concat!(
    r"((?i:bearer)(?:[ \t+]|%20)+)[A-Za-z0-9._~+/=-]{16,}",
    r"|((?-u:\b)|\\[nrt])sk-[A-Za-z0-9_-]{20,}",
    r"|[0-9]{6,}(?::|%3[aA])[A-Za-z0-9_-]{30,}",
);

/// The secrets could not be compiled to a search expression.
#[derive(Debug, thiserror::Error)]
#[error("the secrets are too many or too long to be redacted from the logs")]
pub struct RedactError;

/// Redacts secrets from text. Cheap to clone; its debug output shows none of them.
#[derive(Clone)]
pub struct Redactor {
    // Shared, because a cloned expression allocates its own cache, and because all clones learn of new secrets.
    patterns: Arc<Replaceable<Patterns>>,
    by_shape: bool,
}

/// What is searched for.
struct Patterns {
    known: Option<Regex>,
    /// Encodings and spellings that are found by their letters alone.
    forms: Forms,
    shapes: Regex,
    /// The beginnings of secrets with more than one word, and the length of the longest.
    long: Option<(Regex, usize)>,
}

impl Patterns {
    fn of<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Result<Self, RedactError> {
        let mut secrets: Vec<String> = secrets
            .into_iter()
            .map(|secret| secret.as_ref().trim().to_owned())
            .filter(|secret| secret.chars().count() >= SHORTEST)
            .collect();
        // The longest first: where one secret contains another, all of it is redacted.
        secrets.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        secrets.dedup();
        let spellings: Vec<String> = secrets.iter().map(|secret| spelled(secret)).collect();
        let known = if spellings.is_empty() { None } else { Some(expression(&spellings.join("|"))?) };
        let shapes = expression(SHAPES)?;
        Ok(Self { known, forms: Forms::of(&secrets), shapes, long: beginnings(&secrets)? })
    }
}

impl Redactor {
    /// A redactor of these secrets. Values of fewer than 6 characters are ignored.
    pub fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Result<Self, RedactError> {
        let patterns = Arc::new(Replaceable::new(Patterns::of(secrets)?));
        Ok(Self { patterns, by_shape: true })
    }

    /// Searches for these secrets from now on, in all clones.
    pub fn replace_secrets<S: AsRef<str>>(
        &self,
        secrets: impl IntoIterator<Item = S>,
    ) -> Result<(), RedactError> {
        self.patterns.replace(Patterns::of(secrets)?);
        Ok(())
    }

    fn shapes(&self) -> Option<&Regex> {
        self.by_shape.then(|| &self.patterns.current().shapes)
    }

    /// A redactor of known secrets alone: for texts of people and models, where a text that only looks like a secret
    /// may be intended.
    #[must_use]
    pub fn only_known(mut self) -> Self {
        self.by_shape = false;
        self
    }

    /// The end of the part of a text in which no secret of several words can begin that continues after the text.
    pub(super) fn sure_of(&self, text: &str) -> usize {
        let Some((beginning, reach)) = &self.patterns.current().long else { return text.len() };
        let window = text.floor_char_boundary(text.len().saturating_sub(*reach));
        let begun = beginning.find_at(text, window).map_or(text.len(), |found| found.start());
        begun.min(text.floor_char_boundary(text.len().saturating_sub(BEGINNING * LONGEST_SPELLING)))
    }

    /// The last position, at or before `at`, where the text can be cut without cutting a secret, for every possible
    /// continuation of the text.
    fn cut_before(&self, text: &str, at: usize) -> usize {
        let looked = self.look(text);
        looked.cut_before(text, at.min(looked.pending))
    }

    /// A part of a searched text, redacted.
    pub(super) fn part(&self, text: &str, part: Range<usize>, looked: &Looked) -> String {
        let inside = |span: &Range<usize>| span.start.max(part.start)..span.end.min(part.end);
        let spans = looked.spans.iter().map(inside).filter(|span| span.start < span.end);
        let clean = without(text, &spans.collect::<Vec<_>>(), part.clone());
        match self.shapes().filter(|shapes| shapes.is_match(&clean)) {
            Some(shapes) => shapes.replace_all(&clean, replace_shape).into_owned(),
            None => clean,
        }
    }

    /// The part of a growing text that can be shown now: everything except the last `held` bytes and a possible
    /// beginning of a secret. Returns it redacted, with its length in the text.
    pub fn settled(&self, text: &str, held: usize) -> (String, usize) {
        let at = text.floor_char_boundary(text.len().saturating_sub(held));
        // A secret that is recognised by its shape is one word.
        let word =
            text.get(..at).unwrap_or_default().trim_end_matches(|letter: char| letter.is_ascii_graphic());
        let at = if at - word.len() <= LONGEST_SHAPE { word.len() } else { at };
        let at = self.cut_before(text, at);
        // Limits the text that is held back.
        let at = at.max(text.floor_char_boundary(text.len().saturating_sub(MOST_HELD)));
        (self.apply(text.get(..at).unwrap_or_default()).into_owned(), at)
    }

    /// The redacted text; the same text where there are no secrets.
    pub fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Looked { spans, .. } = self.look(text);
        let text = match spans.as_slice() {
            [] => Cow::Borrowed(text),
            spans => Cow::Owned(without(text, spans, 0..text.len())),
        };
        // Most texts have nothing to replace, and matching is much cheaper than replacing.
        let Some(shapes) = self.shapes().filter(|shapes| shapes.is_match(&text)) else { return text };
        Cow::Owned(shapes.replace_all(&text, replace_shape).into_owned())
    }

    /// Searches for known secrets.
    pub(super) fn look(&self, text: &str) -> Looked {
        let Patterns { known, forms, .. } = self.patterns.current();
        let mut spans: Vec<Range<usize>> = Vec::new();
        if let Some(known) = known {
            spans.extend(known.find_iter(text).map(|found| found.range()));
        }
        let letters = search_letters(text, &forms.letters, &spans);
        let base64 = search_base64(text, &forms.base64, &spans);
        let pending = letters.pending.min(base64.pending);
        let likely = letters.likely.min(base64.likely);
        for FoundSecrets { spans: found, .. } in [letters, base64] {
            spans.extend(found);
        }
        spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        let mut apart: Vec<Range<usize>> = Vec::with_capacity(spans.len());
        for span in spans {
            match apart.last_mut().filter(|last| span.start < last.end) {
                Some(last) => last.end = last.end.max(span.end),
                None => apart.push(span),
            }
        }
        Looked { spans: apart, pending, likely }
    }
}

/// The positions of known secrets in a text.
#[derive(Debug)]
pub(super) struct Looked {
    /// In order, without overlaps.
    spans: Vec<Range<usize>>,
    /// Where a possible beginning of a secret at the end of the text starts; the text's length for none.
    pub(super) pending: usize,
    /// The same, for beginnings that are unlikely to be chance.
    pub(super) likely: usize,
}

impl Looked {
    /// The last position, at or before `at`, that is inside no secret and no line of a dump.
    pub(super) fn cut_before(&self, text: &str, at: usize) -> usize {
        let at = text.floor_char_boundary(at);
        let crossed = self.spans.iter().find(|span| (span.start + 1..span.end).contains(&at));
        let at = crossed.map_or(at, |span| span.start);
        // A line of a dump is not recognised without its beginning.
        start_of_dump_line(text, at).unwrap_or(at)
    }
}

/// A part of a text with these spans replaced by the mark.
fn without(text: &str, spans: &[Range<usize>], part: Range<usize>) -> String {
    let (mut out, mut at) = (String::with_capacity(part.len()), part.start);
    for span in spans {
        out.push_str(text.get(at..span.start).unwrap_or_default());
        out.push_str(MARK);
        at = span.end;
    }
    out.push_str(text.get(at..part.end).unwrap_or_default());
    out
}

/// The automata for each view of a text.
#[derive(Debug)]
struct Forms {
    letters: Automaton,
    base64: Automaton,
}

impl Forms {
    fn of(secrets: &[String]) -> Self {
        let letters: Vec<Vec<u8>> = secrets.iter().flat_map(|secret| alphanumeric_forms(secret)).collect();
        let base64: Vec<Vec<u8>> = secrets.iter().flat_map(|secret| base64_forms(secret)).collect();
        Self { letters: Automaton::new(&letters, ALPHANUMERIC), base64: Automaton::new(&base64, BASE64) }
    }
}

fn expression(text: &str) -> Result<Regex, RedactError> {
    Regex::new(text).map_err(|_| RedactError)
}

/// The beginnings of secrets with characters other than visible ASCII: they are not limited to one word.
fn beginnings(secrets: &[String]) -> Result<Option<(Regex, usize)>, RedactError> {
    let long = || secrets.iter().filter(|secret| !secret.bytes().all(|byte| byte.is_ascii_graphic()));
    let Some(longest) = long().map(|secret| secret.chars().count()).max() else { return Ok(None) };
    let spelled: Vec<String> =
        long().map(|secret| spelled(&secret.chars().take(BEGINNING).collect::<String>())).collect();
    Ok(Some((expression(&spelled.join("|"))?, longest.saturating_mul(LONGEST_SPELLING))))
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

/// Keys and tokens contain digits; `sk-` and "bearer" before letters only are ordinary text.
fn replace_shape(found: &Captures<'_>) -> String {
    let whole = found.get(0).map_or("", |whole| whole.as_str());
    let kept = found.get(1).or_else(|| found.get(2)).map_or("", |kept| kept.as_str());
    let secret = whole.strip_prefix(kept).unwrap_or(whole);
    if secret.contains(|letter: char| letter.is_ascii_digit()) {
        format!("{kept}{MARK}")
    } else {
        whole.to_owned()
    }
}

/// An expression for a secret as it is, percent-encoded, or escaped as in JSON or Rust any number of times.
fn spelled(secret: &str) -> String {
    secret.chars().map(spelled_letter).collect()
}

fn spelled_letter(letter: char) -> String {
    let mut buffer = [0; 4];
    let text = letter.encode_utf8(&mut buffer);
    let itself = regex::escape(text);
    if letter.is_ascii_alphanumeric() {
        return itself;
    }
    let escaped = match letter {
        '\n' => r"|\\+n".to_owned(),
        '\r' => r"|\\+r".to_owned(),
        '\t' => r"|\\+t".to_owned(),
        '\\' => r"|\\+".to_owned(),
        ' ' => r"|\+".to_owned(),
        '"' | '\'' | '/' => format!(r"|\\+{itself}"),
        _ => String::new(),
    };
    let percent: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let unicode = format!(r"\\+u\{{?0*{:x}\}}?", u32::from(letter));
    let halves: String =
        letter.encode_utf16(&mut [0; 2]).iter().map(|half| format!(r"\\+u{half:04x}")).collect();
    format!("(?:{itself}{escaped}|(?i:{percent}|{unicode}|{halves}))")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "pa55/w\"or\\d é🦀+=";

    fn redactor() -> Redactor {
        Redactor::new([SECRET, "hunter2hunter2", "hunter2", "abc"]).unwrap()
    }

    #[test]
    fn a_secret_is_found_in_every_spelling() {
        let json = |text: &str| serde_json::to_string(text).unwrap();
        let percent =
            percent_encoding::utf8_percent_encode(SECRET, percent_encoding::NON_ALPHANUMERIC).to_string();
        for text in [
            SECRET.to_owned(),
            json(SECRET),
            json(&json(SECRET)),
            json(&json(&json(SECRET))),
            format!("{SECRET:?}"),
            json(&format!("{SECRET:?}")),
            percent.to_lowercase(),
            percent,
            r#"pa55\/w\"or\\d\u0020\u00E9\ud83e\udd80+="#.to_owned(),
            r"pa55%2Fw%22or%5cd+%C3%a9%F0%9F%A6%80%2b%3D".to_owned(),
        ] {
            let clean = redactor().apply(&text).replace(['"', '\\'], "");
            assert_eq!(clean, MARK, "{text}");
        }
    }

    #[test]
    fn longer_secrets_go_whole_and_short_ones_stay() {
        let text = "hunter2hunter2, hunter2 and abc";
        assert_eq!(redactor().apply(text), "[redacted], [redacted] and abc");
        assert!(matches!(redactor().apply("nothing to see"), Cow::Borrowed(_)));
    }

    #[test]
    fn secrets_give_themselves_away_by_their_shape() {
        let redactor = Redactor::new([""; 0]).unwrap();
        let token = "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1";
        for (text, expected) in [
            ("Authorization: Bearer abcdef0123456789.xyz!", "Authorization: Bearer [redacted]!"),
            ("authorization=bearer%20abcdef0123456789", "authorization=bearer%20[redacted]"),
            ("key sk-proj-0123456789abcdefghij.", "key [redacted]."),
            (r#"{"m":"key:\nsk-0123456789abcdefghij"}"#, r#"{"m":"key:\n[redacted]"}"#),
            (
                &format!("https://api.telegram.org/bot12345678:{token}/getMe"),
                "https://api.telegram.org/bot[redacted]/getMe",
            ),
            (&format!("bot12345678%3A{token}"), "bot[redacted]"),
            ("bearer authentication is needed", "bearer authentication is needed"),
            ("bearer internationalization", "bearer internationalization"),
            ("task-0123456789abcdefghijklm", "task-0123456789abcdefghijklm"),
            ("sk-learn-contrib-is-a-package", "sk-learn-contrib-is-a-package"),
            (
                "src/lib.rs:12:fn_with_a_name_that_is_very_long_indeed()",
                "src/lib.rs:12:fn_with_a_name_that_is_very_long_indeed()",
            ),
        ] {
            assert_eq!(redactor.apply(text), expected);
            assert_eq!(redactor.apply(expected), expected, "redacting twice changes nothing");
        }
    }

    #[test]
    fn clones_learn_of_new_secrets() {
        let redactor = redactor();
        let clone = redactor.clone().only_known();
        redactor.replace_secrets(["hunter2", "swordfish"]).unwrap();
        assert_eq!(clone.apply("hunter2 swordfish"), "[redacted] [redacted]");
    }

    #[test]
    fn printing_a_redactor_shows_no_secret() {
        assert!(!format!("{:?}", redactor()).contains("hunter2"));
    }

    fn base64(bytes: &[u8], letters: [char; 2]) -> String {
        let all: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(letters).collect();
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let mut three = [0; 3];
            three[..chunk.len()].copy_from_slice(chunk);
            let value = u32::from_be_bytes([0, three[0], three[1], three[2]]);
            text.extend((0..=chunk.len()).map(|i| all[(value >> (18 - 6 * i) & 63) as usize]));
        }
        text
    }

    proptest! {
        // Each case compiles an expression, which is slow in debug builds.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_secret_inside_of_base64_is_found(before in "[ -~]{0,9}", secret in "[!-~]{8,20}", after in "[ -~]{0,9}") {
            let redactor = Redactor::new([&secret]).unwrap();
            for letters in [['+', '/'], ['-', '_']] {
                let text = base64(format!("{before}{secret}{after}").as_bytes(), letters);
                prop_assert!(redactor.apply(&text).contains(MARK), "{text}");
            }
        }

        #[test]
        fn a_secret_in_a_json_text_is_found(before in "[a-z ]{0,9}", secret in "\\PC{6,20}", after in "[a-z ]{0,9}") {
            let secret = secret.trim();
            prop_assume!(secret.chars().count() >= SHORTEST);
            let redactor = Redactor::new([secret]).unwrap();
            for text in [
                serde_json::to_string(&format!("{before}{secret}{after}")).unwrap(),
                format!("{before}{secret:?}{after}"),
                percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC).to_string(),
            ] {
                prop_assert!(redactor.apply(&text).contains(MARK), "{text}");
            }
        }
    }
}
