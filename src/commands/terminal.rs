//! Text for a terminal: colours, widths, and removal of control characters. Pure.

use std::borrow::Cow;
use std::io::IsTerminal;

use jiff::tz::TimeZone;
use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::config::Env;
use crate::domain::Timestamp;
use crate::policy::shell::is_invisible;

/// Most columns of a tool call.
const CALL_COLUMNS: usize = 100;

/// What an output stream is connected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Surface {
    /// A file or another program: text is written as it is.
    #[default]
    Stream,
    /// A terminal without colours.
    Plain,
    /// A terminal with colours.
    Colour,
}

impl Surface {
    /// Detects what a stream is connected to, and whether colours are wanted.
    pub(super) fn of(output: &impl IsTerminal, env: &Env) -> Self {
        let wanted = env.get("NO_COLOR").is_none_or(str::is_empty) && !is_dumb(env);
        match (output.is_terminal(), wanted) {
            (false, _) => Self::Stream,
            (true, false) => Self::Plain,
            (true, true) => Self::Colour,
        }
    }

    pub(super) fn is_terminal(self) -> bool {
        self != Self::Stream
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.styled("2", text)
    }

    pub(super) fn strong(self, text: &str) -> String {
        self.styled("1;36", text)
    }

    pub(super) fn alarm(self, text: &str) -> String {
        self.styled("31", text)
    }

    fn styled(self, code: &str, text: &str) -> String {
        match self {
            Self::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Stream | Self::Plain => text.to_owned(),
        }
    }

    /// Untrusted text, fit for this output: on a terminal without control characters, which could
    /// move the cursor or change what is on the screen.
    pub(super) fn clean(self, text: &str) -> Cow<'_, str> {
        let unfit = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        if self.is_terminal() && text.contains(unfit) {
            Cow::Owned(text.replace(unfit, ""))
        } else {
            Cow::Borrowed(text)
        }
    }
}

/// Whether the terminal has no cursor control (`TERM=dumb`).
pub(super) fn is_dumb(env: &Env) -> bool {
    matches!(env.get("TERM"), Some("dumb" | "cons25" | "emacs"))
}

/// Prose of a model, a tool or a person, safe to print: control characters and the characters that change the direction
/// of writing are spelled out (`\u{1b}`). Line feeds and tabs stay, carriage returns are removed.
pub(super) fn sanitized(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    spell_out(text.chars().filter(|c| *c != '\r'), |c| c.is_control() || turns(c))
}

/// What a person decides about, safe to print and complete: every control character and every invisible character is
/// spelled out. Line feeds and tabs stay.
pub(super) fn visible(text: &str) -> String {
    spell_out(text.chars(), |c| c.is_control() || is_invisible(c))
}

fn spell_out(text: impl Iterator<Item = char>, unfit: impl Fn(char) -> bool) -> String {
    let mut out = String::new();
    for c in text {
        if !matches!(c, '\n' | '\t') && unfit(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// A text on one line, without control characters, in at most so many columns.
pub(super) fn one_line(text: &str, columns: usize) -> String {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    clip(&words.join(" "), columns)
}

/// The beginning of a text that fits into so many columns, with a mark where something is left out.
pub(super) fn clip(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = text.chars().take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= columns
    });
    fits.chain(['…']).collect()
}

/// A text with spaces behind it, up to so many columns. Chinese characters take two.
pub(super) fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}

/// A tool call in one line: its name and what it is called with.
pub(super) fn call_line(name: &str, input: &Value) -> String {
    let mut line = name.to_owned();
    match input {
        Value::Object(fields) => {
            for (index, (key, value)) in fields.iter().enumerate() {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                line.push(' ');
                if index > 0 {
                    line.push_str(&format!("{key}="));
                }
                line.push_str(&value);
            }
        }
        Value::Null => {}
        other => line.push_str(&format!(" {other}")),
    }
    one_line(&line, CALL_COLUMNS)
}

/// A time in the reader's time zone.
pub(super) fn moment(at: Timestamp, zone: &TimeZone) -> String {
    let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        assert_eq!(Surface::Colour.dim("x"), "\u{1b}[2mx\u{1b}[0m");
        assert_eq!(Surface::Plain.dim("x"), "x");
        assert_eq!(Surface::Stream.alarm("x"), "x");
    }

    #[test]
    fn nothing_that_moves_the_cursor_reaches_a_terminal() {
        let nasty = "a\u{1b}[2Jb\r\u{9b}c\td\ne\u{7}";
        assert_eq!(Surface::Plain.clean(nasty), "a[2Jbc\td\ne");
        assert_eq!(Surface::Stream.clean(nasty), nasty);
    }

    #[test]
    fn escape_sequences_are_spelled_out_in_prose_and_everything_unseen_in_what_is_decided() {
        let prose = sanitized("a\u{1b}[2Jb\r\nc\td\u{202e}e\u{9b}");
        assert_eq!(prose, "a\\u{1b}[2Jb\nc\td\\u{202e}e\\u{9b}");
        // Joined emoji and right-to-left marks are ordinary in prose.
        assert_eq!(sanitized("👨\u{200d}👩 \u{200f}"), "👨\u{200d}👩 \u{200f}");
        let decided = visible("rm\u{200b} x\r\n\u{1b}]0;t\u{7}");
        assert_eq!(decided, "rm\\u{200b} x\\u{d}\n\\u{1b}]0;t\\u{7}");
    }

    #[test]
    fn a_call_is_one_line_however_it_is_called() {
        for (input, line) in [
            (json!({ "path": "Agent.md" }), "read_file Agent.md"),
            (json!({ "path": "a\n\u{1b}[2Jb", "start": 3 }), "read_file a [2Jb start=3"),
            (json!({}), "read_file"),
            (json!(null), "read_file"),
            (json!("oops"), "read_file \"oops\""),
        ] {
            assert_eq!(call_line("read_file", &input), line);
        }
        assert_eq!(call_line("t", &json!({ "q": "长".repeat(80) })).width(), 99);
    }

    #[test]
    fn chinese_takes_two_columns() {
        assert_eq!(pad("中文", 6), "中文  ");
        assert_eq!(pad("toolong", 3), "toolong");
        assert_eq!(clip("中文字", 5), "中文…");
        assert_eq!(clip("中文字", 6), "中文字");
    }

    #[test]
    fn a_moment_is_told_in_the_zone_of_the_reader() {
        let at = Timestamp::from_millis(1_700_000_000_000);
        assert_eq!(moment(at, &TimeZone::UTC), "2023-11-14 22:13");
        assert_eq!(moment(at, &TimeZone::get("Asia/Shanghai").unwrap()), "2023-11-15 06:13");
    }

    proptest! {
        #[test]
        fn a_clipped_line_fits(text in "\\PC{0,40}", columns in 1usize..30) {
            prop_assert!(one_line(&text, columns).width() <= columns);
        }
    }
}
