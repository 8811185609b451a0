//! Long CommonMark text to chunks that fit a platform. Nothing is lost but white space at the cuts, and code
//! that is cut is closed in one chunk and opened again in the next.

use super::fence::Fence;
use crate::domain::LengthUnit;

/// Splits a text into chunks of at most `limit` units: between paragraphs if it can, else between lines,
/// sentences, words or characters. A limit too small for a single character is taken as one character;
/// one too small for code to be opened again leaves fences as they fall. A blank text has no chunks.
pub fn split(text: &str, limit: usize, unit: LengthUnit) -> Vec<String> {
    pieces(text, limit, unit).into_iter().map(|piece| piece.text()).collect()
}

/// A chunk: a part of the text, and what was added so that it stands alone.
#[derive(Debug)]
struct Piece<'a> {
    opening: Option<String>,
    body: &'a str,
    closing: Option<String>,
}

impl Piece<'_> {
    fn text(&self) -> String {
        let mut text = String::with_capacity(self.body.len() + 16);
        if let Some(opening) = &self.opening {
            text.push_str(opening);
            text.push('\n');
        }
        text.push_str(self.body);
        if let Some(closing) = &self.closing {
            text.push('\n');
            text.push_str(closing);
        }
        text
    }
}

fn pieces(text: &str, limit: usize, unit: LengthUnit) -> Vec<Piece<'_>> {
    let rest = without_blank_lines(text);
    let mut splitter = Splitter { rest, fence: None, at_line_start: true, mind_fences: true, limit, unit };
    std::iter::from_fn(|| splitter.next()).collect()
}

/// What is left to split.
#[derive(Debug)]
struct Splitter<'a> {
    rest: &'a str,
    /// The code that `rest` begins in.
    fence: Option<Fence>,
    at_line_start: bool,
    /// Whether code is closed and opened again; given up where there is no room for it.
    mind_fences: bool,
    limit: usize,
    unit: LengthUnit,
}

impl<'a> Splitter<'a> {
    fn next(&mut self) -> Option<Piece<'a>> {
        if self.rest.trim().is_empty() {
            return None;
        }
        let opening = self.fence.as_ref().map(Fence::opening);
        let added = opening.as_ref().map_or(0, |line| self.unit.measure(line) + 1);
        match self.limit.checked_sub(added).map_or(Found::Nothing, |room| Scan::of(self, room).run()) {
            Found::Everything => {
                let body = std::mem::take(&mut self.rest).trim_end();
                Some(Piece { opening, body, closing: None })
            }
            Found::Cut(cut) => {
                let closing = cut.fence.as_ref().map(Fence::closing);
                Some(Piece { opening, body: self.cut(cut), closing })
            }
            Found::Nothing if self.mind_fences => {
                (self.mind_fences, self.fence) = (false, None);
                self.next()
            }
            Found::Nothing => {
                self.rest = self.rest.trim_start();
                let at = self.as_much_as_fits();
                let body = self.cut(Cut { at, solid: 0, fence: None, at_line_start: false });
                Some(Piece { opening: None, body, closing: None })
            }
        }
    }

    /// Takes the text up to the cut, without the white space around it. Indentation of the next line stays,
    /// and so do empty lines of code.
    fn cut(&mut self, cut: Cut) -> &'a str {
        let (body, rest) = self.rest.split_at_checked(cut.at).unwrap_or((self.rest, ""));
        self.rest = if cut.fence.is_some() { rest } else { without_blank_lines(rest) };
        self.at_line_start = cut.at_line_start || self.rest.len() < rest.len();
        self.fence = cut.fence;
        body.trim_end()
    }

    /// Where the text must be cut though there is no good place: at least one character is taken.
    fn as_much_as_fits(&self) -> usize {
        let mut used = 0;
        let end = self.rest.char_indices().find(|(at, letter)| {
            used += length(*letter, self.unit);
            *at > 0 && used > self.limit
        });
        end.map_or(self.rest.len(), |(at, _)| at)
    }
}

fn length(letter: char, unit: LengthUnit) -> usize {
    unit.measure(letter.encode_utf8(&mut [0; 4]))
}

/// How good a place is to cut at, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Paragraph,
    Line,
    Sentence,
    Word,
    Letter,
}

/// A place to cut at.
#[derive(Clone, Debug)]
struct Cut {
    at: usize,
    /// How much is before it, white space at its end aside.
    solid: usize,
    /// The code that is cut.
    fence: Option<Fence>,
    at_line_start: bool,
}

#[derive(Debug)]
enum Found {
    /// All of it fits.
    Everything,
    Cut(Cut),
    Nothing,
}

/// What kind of line the scan is in.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    Text,
    Opens(Fence),
    Closes,
}

/// One look over the text, as far as it fits, for the best place to cut.
#[derive(Debug)]
struct Scan<'a, 's> {
    splitter: &'s Splitter<'a>,
    room: usize,
    used: usize,
    solid: usize,
    fence: Option<Fence>,
    line: Line,
    /// Whether the line so far, and the line before it, are blank.
    blank: bool,
    blank_before: bool,
    /// Whether the line before opened the code.
    opened_before: bool,
    previous: char,
    /// Whether a sentence has just ended, its closing quotes and brackets included.
    sentence_ended: bool,
    best: [Option<Cut>; 5],
}

impl<'a, 's> Scan<'a, 's> {
    fn of(splitter: &'s Splitter<'a>, room: usize) -> Self {
        Self {
            splitter,
            room,
            used: 0,
            solid: 0,
            fence: splitter.fence.clone(),
            line: Line::Text,
            blank: true,
            blank_before: false,
            opened_before: false,
            previous: '\n',
            sentence_ended: false,
            best: [const { None }; 5],
        }
    }

    fn run(mut self) -> Found {
        let text = self.splitter.rest;
        let mut line_start = self.splitter.at_line_start;
        for (at, letter) in text.char_indices() {
            let ahead = text.get(at..).unwrap_or_default();
            if line_start {
                self.begin_line(at, ahead);
            } else if self.line == Line::Text && at > 0 {
                self.look_inside_line(at, letter, ahead);
            }
            self.used += length(letter, self.splitter.unit);
            if !letter.is_whitespace() {
                (self.solid, self.blank) = (self.used, false);
                self.sentence_ended = ends_sentence(letter) || (self.sentence_ended && clings(letter));
            }
            if self.solid > self.room {
                return self.choose();
            }
            line_start = letter == '\n';
            if line_start {
                self.end_line();
            }
            self.previous = letter;
        }
        Found::Everything
    }

    fn begin_line(&mut self, at: usize, ahead: &str) {
        let line = ahead.split('\n').next().unwrap_or_default();
        if self.fence.as_ref().is_some_and(|fence| fence.is_left_by(line)) {
            self.fence = None;
        }
        self.line = match &self.fence {
            Some(fence) if fence.is_closed_by(line) => Line::Closes,
            None if self.splitter.mind_fences => Fence::opened_by(line).map_or(Line::Text, Line::Opens),
            _ => Line::Text,
        };
        // Code without a line of its own in this chunk, or in the next, would be an empty box.
        let empty_box = self.fence.is_some() && (self.opened_before || self.line == Line::Closes);
        if !empty_box {
            let between = self.fence.is_none() && self.blank_before;
            self.consider(if between { Class::Paragraph } else { Class::Line }, at, true);
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::replace(&mut self.line, Line::Text);
        self.opened_before = matches!(line, Line::Opens(_));
        match line {
            Line::Opens(fence) => self.fence = Some(fence),
            Line::Closes => self.fence = None,
            Line::Text => {}
        }
        self.blank_before = std::mem::replace(&mut self.blank, true);
    }

    fn look_inside_line(&mut self, at: usize, letter: char, ahead: &str) {
        // The next chunk must not begin with what would read as a fence.
        if letter.is_whitespace() || ahead.starts_with("```") || ahead.starts_with("~~~") {
            return;
        }
        let class = if self.previous.is_whitespace() {
            if self.sentence_ended { Class::Sentence } else { Class::Word }
        } else if self.sentence_ended && is_wide(self.previous) && !clings(letter) {
            Class::Sentence
        } else if matches!(self.previous, '，' | '、' | '：') && !clings(letter) {
            Class::Word
        } else if joins(self.previous, letter) {
            return;
        } else {
            Class::Letter
        };
        self.consider(class, at, false);
    }

    fn consider(&mut self, class: Class, at: usize, at_line_start: bool) {
        let unit = self.splitter.unit;
        let closing = self.fence.as_ref().map_or(0, |fence| unit.measure(&fence.closing()) + 1);
        if self.solid == 0 || self.solid + closing > self.room {
            return;
        }
        if let Some(best) = self.best.get_mut(class as usize) {
            *best = Some(Cut { at, solid: self.solid, fence: self.fence.clone(), at_line_start });
        }
    }

    /// The best class that fills a fair part of the chunk; a small chunk is better than a word cut in two.
    fn choose(self) -> Found {
        let fair = self.room / 3;
        let [paragraph, line, sentence, word, letter] = self.best;
        let soft = [&paragraph, &line, &sentence, &word];
        let good = soft.into_iter().flatten().find(|cut| cut.solid >= fair).cloned();
        match good.or(paragraph).or(line).or(letter).or(sentence).or(word) {
            Some(cut) => Found::Cut(cut),
            None => Found::Nothing,
        }
    }
}

fn ends_sentence(letter: char) -> bool {
    matches!(letter, '.' | '!' | '?' | '。' | '！' | '？' | '；' | '…')
}

/// Belongs to what stands before it: the quote or bracket that ends with the sentence, or one more mark.
fn clings(letter: char) -> bool {
    ends_sentence(letter)
        || matches!(
            letter,
            '”' | '’' | '」' | '』' | '）' | '》' | '】' | '，' | '、' | ')' | ']' | '"' | '\''
        )
}

/// Whether it is written in text that has no spaces between sentences; `1.5` and `"a."` are not.
fn is_wide(letter: char) -> bool {
    !letter.is_ascii()
}

/// Whether two characters are seen as one, as far as can be told without tables.
fn joins(previous: char, letter: char) -> bool {
    const JOINER: char = '\u{200d}';
    let mark = matches!(u32::from(letter),
        0x300..=0x36F | 0x483..=0x489 | 0x591..=0x5BD | 0x610..=0x61A | 0x64B..=0x65F | 0x93A..=0x94F
        | 0xE31..=0xE3A | 0xE47..=0xE4E | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x200D | 0x20D0..=0x20FF
        | 0x3099..=0x309A | 0xFE00..=0xFE0F | 0xFE20..=0xFE2F | 0x1F3FB..=0x1F3FF | 0xE0020..=0xE007F
        | 0xE0100..=0xE01EF);
    let flag = |c: char| matches!(u32::from(c), 0x1F1E6..=0x1F1FF);
    mark || previous == JOINER || (flag(previous) && flag(letter)) || previous == '\\'
}

fn without_blank_lines(text: &str) -> &str {
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        if !line.trim().is_empty() {
            break;
        }
        rest = after;
    }
    rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UNITS: [LengthUnit; 3] = [LengthUnit::Chars, LengthUnit::Utf16, LengthUnit::Bytes];

    fn chars(text: &str, limit: usize) -> Vec<String> {
        split(text, limit, LengthUnit::Chars)
    }

    #[test]
    fn a_text_that_fits_stays_whole() {
        assert_eq!(chars("short\n\ntext\n", 100), ["short\n\ntext"]);
        assert_eq!(chars("", 10), Vec::<String>::new());
        assert_eq!(chars(" \n\n ", 10), Vec::<String>::new());
    }

    #[test]
    fn the_best_place_to_cut_is_taken() {
        for (text, limit, expected) in [
            ("one one.\n\ntwo two\nthree", 20, vec!["one one.", "two two\nthree"]),
            ("one one\ntwo two\nthree", 16, vec!["one one\ntwo two", "three"]),
            ("One two. Three four five", 15, vec!["One two.", "Three four five"]),
            ("one two three four", 10, vec!["one two", "three four"]),
            ("今天天气很好。我们去公园吧！好的", 10, vec!["今天天气很好。", "我们去公园吧！好的"]),
            ("他说：“好。”然后走了很远很远", 10, vec!["他说：“好。”", "然后走了很远很远"]),
            ("abcdefghij", 4, vec!["abcd", "efgh", "ij"]),
            ("- one\n  - two two\n  - three", 18, vec!["- one\n  - two two", "  - three"]),
        ] {
            assert_eq!(chars(text, limit), expected, "{text:?}");
        }
    }

    #[test]
    fn code_that_is_cut_is_closed_and_opened_again() {
        let text = "Look:\n\n```rust\nfn a() {\n    one();\n}\n\nfn b() {}\n```\nDone.";
        assert_eq!(
            chars(text, 40),
            ["Look:\n\n```rust\nfn a() {\n    one();\n}\n```", "```rust\nfn b() {}\n```\nDone."]
        );
        assert_eq!(
            chars("> ```sh\n> echo one\n> echo two\n> ```", 26),
            ["> ```sh\n> echo one\n> ```", "> ```sh\n> echo two\n> ```"]
        );
    }

    #[test]
    fn indentation_of_code_survives_a_cut() {
        let chunks = chars("```py\nif a:\n    one()\n    two()\n```", 26);
        assert_eq!(chunks, ["```py\nif a:\n    one()\n```", "```py\n    two()\n```"]);
    }

    #[test]
    fn characters_made_of_several_are_not_cut() {
        let family = "👩\u{200d}👩\u{200d}👧";
        assert_eq!(split(&family.repeat(2), 12, LengthUnit::Utf16), [family, family]);
        assert_eq!(chars("e\u{301}e\u{301}e\u{301}", 3), ["e\u{301}", "e\u{301}", "e\u{301}"]);
    }

    #[test]
    fn a_long_text_is_split_in_reasonable_time() {
        for text in
            ["x".repeat(300_000), "中文。".repeat(100_000), "```\n".repeat(50_000), " ".repeat(300_000) + "x"]
        {
            assert!(!chars(&text, 4_000).is_empty());
        }
    }

    fn token() -> impl Strategy<Value = String> {
        prop_oneof![
            3 => "[a-z]{1,12}",
            2 => "\\PC{1,8}",
            2 => Just(" ".to_owned()),
            2 => Just("\n".to_owned()),
            1 => Just("\n\n".to_owned()),
            1 => Just("\n```rust\n".to_owned()),
            1 => Just("\n```\n".to_owned()),
            1 => Just("\n~~~~ text\n".to_owned()),
            1 => Just("\n> ```sh\n> ".to_owned()),
            1 => Just("\n- ```\n  ".to_owned()),
            1 => "[。！？，.!?] ?",
            1 => Just("中文字符".to_owned()),
            1 => Just("👩\u{200d}👧🇨🇳e\u{301}".to_owned()),
        ]
    }

    fn text() -> impl Strategy<Value = String> {
        proptest::collection::vec(token(), 0..80).prop_map(|tokens| tokens.concat())
    }

    fn solid(text: &str) -> String {
        text.chars().filter(|letter| !letter.is_whitespace()).collect()
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_every_chunk_fits(text in text(), limit in 0usize..120, unit in 0usize..3) {
            let unit = UNITS[unit];
            let pieces = pieces(&text, limit, unit);
            let bodies: String = pieces.iter().map(|piece| piece.body).collect();
            prop_assert_eq!(solid(&bodies), solid(&text));
            for piece in &pieces {
                let chunk = piece.text();
                prop_assert!(!piece.body.trim().is_empty());
                let one = piece.body.chars().count() == 1;
                prop_assert!(unit.measure(&chunk) <= limit || one, "{chunk:?} is too long for {limit}");
            }
        }

        #[test]
        fn every_chunk_closes_the_code_it_opens(text in text(), limit in 60usize..200) {
            let chunks = chars(&text, limit);
            for chunk in chunks.iter().rev().skip(1) {
                let mut open: Option<Fence> = None;
                for line in chunk.lines() {
                    open = match open {
                        Some(fence) if fence.is_left_by(line) => Fence::opened_by(line),
                        Some(fence) if fence.is_closed_by(line) => None,
                        None => Fence::opened_by(line),
                        open => open,
                    };
                }
                // Code in a quote ends with the quote.
                prop_assert_eq!(open.filter(|fence| !fence.is_left_by("")), None, "{:?}", chunk);
            }
        }
    }
}
