//! Emphasis in scripts without spaces. CommonMark looks at the characters around a delimiter: in `**注意：**请` the
//! second one follows punctuation and precedes a letter, so it can only open. An invisible character between the
//! two lets it close.

use std::borrow::Cow;

/// A placeholder that the parser takes for a letter; it is removed before the text is shown.
pub(super) const UNSEEN: char = '\u{fdd0}';

/// A text with placeholders beside its delimiters.
#[derive(Debug)]
pub(super) struct SpacedText<'a> {
    pub(super) text: Cow<'a, str>,
    /// The offsets of the placeholders.
    added: Vec<usize>,
}

impl<'a> SpacedText<'a> {
    pub(super) fn of(source: &'a str) -> Self {
        let mut eased = Self { text: Cow::Borrowed(source), added: Vec::new() };
        if source.is_ascii() || !["**", "~~"].iter().any(|sign| source.contains(sign)) {
            return eased;
        }
        let mut scan =
            DelimiterScan { out: String::with_capacity(source.len() + 64), ..DelimiterScan::default() };
        for line in source.split_inclusive('\n') {
            scan.line(line);
        }
        if !scan.added.is_empty() {
            (eased.text, eased.added) = (Cow::Owned(scan.out), scan.added);
        }
        eased
    }

    /// Maps an offset of this text to the source.
    pub(super) fn original(&self, at: usize) -> usize {
        at - self.added.partition_point(|added| *added < at) * UNSEEN.len_utf8()
    }
}

/// A pass over a text that tracks open delimiters.
#[derive(Debug, Default)]
struct DelimiterScan {
    out: String,
    added: Vec<usize>,
    strong: bool,
    strike: bool,
    /// The length of the backtick run that opened inline code.
    code: usize,
}

impl DelimiterScan {
    fn line(&mut self, line: &str) {
        if line.trim().is_empty() {
            // Delimiters do not match across paragraphs.
            (self.strong, self.strike, self.code) = (false, false, 0);
        }
        let (mut rest, mut before) = (line, ' ');
        while let Some(letter) = rest.chars().next() {
            let run = rest.len() - rest.trim_start_matches(letter).len();
            let run = if matches!(letter, '*' | '~' | '`') { run } else { letter.len_utf8() };
            let (sign, after) = rest.split_at_checked(run).unwrap_or((rest, ""));
            match letter {
                '`' if self.code == run => self.code = 0,
                '`' if self.code == 0 && before != '\\' => self.code = run,
                '*' | '~' if run == 2 && self.code == 0 && before != '\\' => {
                    self.sign(sign, before, after.chars().next().unwrap_or(' '));
                    (rest, before) = (after, letter);
                    continue;
                }
                _ => {}
            }
            self.out.push_str(sign);
            // A list marker, a quote mark or an escape gets no placeholder.
            (rest, before) = (after, if letter == '\\' && before == '\\' { ' ' } else { letter });
        }
    }

    fn sign(&mut self, sign: &str, before: char, after: char) {
        let open = if sign == "**" { &mut self.strong } else { &mut self.strike };
        let closes = *open && !before.is_whitespace();
        let opens = !*open && !after.is_whitespace();
        *open = if closes { false } else { *open || opens };
        if closes && is_wide_mark(before) && !after.is_whitespace() {
            self.unseen();
        }
        self.out.push_str(sign);
        if opens && is_wide_mark(after) && !before.is_whitespace() {
            self.unseen();
        }
    }

    fn unseen(&mut self) {
        self.added.push(self.out.len());
        self.out.push(UNSEEN);
    }
}

/// Non-ASCII punctuation and symbols.
fn is_wide_mark(letter: char) -> bool {
    !letter.is_ascii() && !letter.is_alphanumeric() && !letter.is_whitespace()
}
