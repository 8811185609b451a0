//! Finds the best place to cut a text.

use super::super::fence::Fence;
use super::splitter::Splitter;
use crate::domain::LengthUnit;

/// Kinds of places to cut at, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CutKind {
    Paragraph,
    Line,
    Sentence,
    Word,
    Letter,
}

/// The last place of each class.
type BestCuts = [Option<Cut>; 5];

/// A place to cut at.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    pub(super) at: usize,
    /// The size before it, without trailing white space.
    pub(super) solid: usize,
    /// The open code block at the cut.
    pub(super) fence: Option<Fence>,
    pub(super) at_line_start: bool,
}

#[derive(Debug)]
pub(super) enum ScanResult {
    /// All of it fits.
    Everything,
    Cut(Cut),
    Nothing,
}

/// The kind of the current line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SourceLineKind {
    Text,
    Opens(Fence),
    Closes,
}

/// A pass over the text, as far as it fits, for the best place to cut.
#[derive(Debug)]
pub(super) struct Scan<'a, 's> {
    splitter: &'s Splitter<'a, 's>,
    /// The offset of the scan in the whole text.
    offset: usize,
    room: usize,
    used: usize,
    solid: usize,
    fence: Option<Fence>,
    line: SourceLineKind,
    /// Whether the line so far, and the line before it, are blank.
    blank: bool,
    blank_before: bool,
    /// Whether the line before opened the code.
    opened_before: bool,
    previous: char,
    /// Whether a sentence has just ended, its closing quotes and brackets included.
    sentence_ended: bool,
    best: BestCuts,
    /// Places inside spans that should stay whole.
    inside: BestCuts,
}

impl<'a, 's> Scan<'a, 's> {
    pub(super) fn of(splitter: &'s Splitter<'a, 's>, room: usize) -> Self {
        Self {
            splitter,
            offset: splitter.offset(),
            room,
            used: 0,
            solid: 0,
            fence: splitter.fence.clone(),
            line: SourceLineKind::Text,
            blank: true,
            blank_before: false,
            opened_before: false,
            previous: '\n',
            sentence_ended: false,
            best: [const { None }; 5],
            inside: [const { None }; 5],
        }
    }

    pub(super) fn run(mut self) -> ScanResult {
        let text = self.splitter.rest;
        let mut line_start = self.splitter.at_line_start;
        for (at, letter) in text.char_indices() {
            let ahead = text.get(at..).unwrap_or_default();
            if line_start {
                self.begin_line(at, ahead);
            } else if self.line == SourceLineKind::Text && at > 0 {
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
        ScanResult::Everything
    }

    fn begin_line(&mut self, at: usize, ahead: &str) {
        let line = ahead.split('\n').next().unwrap_or_default();
        if self.fence.as_ref().is_some_and(|fence| fence.is_left_by(line)) {
            self.fence = None;
        }
        self.line = match &self.fence {
            Some(fence) if fence.is_closed_by(line) => SourceLineKind::Closes,
            None if self.splitter.mind_fences => {
                Fence::opened_by(line).map_or(SourceLineKind::Text, SourceLineKind::Opens)
            }
            _ => SourceLineKind::Text,
        };
        // A code block needs at least one line in this chunk and in the next.
        let empty_box = self.fence.is_some() && (self.opened_before || self.line == SourceLineKind::Closes);
        if !empty_box {
            let between = self.fence.is_none() && self.blank_before;
            self.consider(if between { CutKind::Paragraph } else { CutKind::Line }, at, true);
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::replace(&mut self.line, SourceLineKind::Text);
        self.opened_before = matches!(line, SourceLineKind::Opens(_));
        match line {
            SourceLineKind::Opens(fence) => self.fence = Some(fence),
            SourceLineKind::Closes => self.fence = None,
            SourceLineKind::Text => {}
        }
        self.blank_before = std::mem::replace(&mut self.blank, true);
    }

    fn look_inside_line(&mut self, at: usize, letter: char, ahead: &str) {
        // The next chunk must not begin with what would read as a fence.
        if letter.is_whitespace() || ahead.starts_with("```") || ahead.starts_with("~~~") {
            return;
        }
        let class = if self.previous.is_whitespace() {
            if self.sentence_ended { CutKind::Sentence } else { CutKind::Word }
        } else if self.sentence_ended && is_wide(self.previous) && !clings(letter) {
            CutKind::Sentence
        } else if matches!(self.previous, '，' | '、' | '：') && !clings(letter) {
            CutKind::Word
        } else if joins(self.previous, letter) {
            return;
        } else {
            CutKind::Letter
        };
        self.consider(class, at, false);
    }

    fn consider(&mut self, class: CutKind, at: usize, at_line_start: bool) {
        let unit = self.splitter.unit;
        let closing = self.fence.as_ref().map_or(0, |fence| unit.measure(&fence.closing()) + 1);
        if self.solid == 0 || self.solid + closing > self.room {
            return;
        }
        let solid = self.fence.is_none() && self.splitter.grain.is_solid(self.offset + at);
        let places = if solid { &mut self.inside } else { &mut self.best };
        if let Some(best) = places.get_mut(class as usize) {
            *best = Some(Cut { at, solid: self.solid, fence: self.fence.clone(), at_line_start });
        }
    }

    fn choose(self) -> ScanResult {
        let fair = self.room / 3;
        match choice(self.best, fair).or_else(|| choice(self.inside, fair)) {
            Some(cut) => ScanResult::Cut(cut),
            None => ScanResult::Nothing,
        }
    }
}

/// The best kind that fills a fair part of the chunk; a small chunk is better than a cut word.
fn choice(places: BestCuts, fair: usize) -> Option<Cut> {
    let [paragraph, line, sentence, word, letter] = places;
    let is_fair = |cut: &&Cut| cut.solid >= fair;
    let soft = [&paragraph, &line, &sentence, &word];
    let good = soft.into_iter().flatten().find(is_fair).cloned();
    let long = letter.as_ref().filter(is_fair).cloned();
    good.or(paragraph).or(line).or(long).or(sentence).or(word).or(letter)
}

/// The size of a character in the limit's unit.
pub(super) fn length(letter: char, unit: LengthUnit) -> usize {
    unit.measure(letter.encode_utf8(&mut [0; 4]))
}

/// Whether it can end a sentence.
pub(super) fn ends_sentence(letter: char) -> bool {
    matches!(letter, '.' | '!' | '?' | '。' | '！' | '？' | '；' | '…')
}

/// Whether it belongs to the preceding sentence end: a closing quote or bracket, or another mark.
pub(super) fn clings(letter: char) -> bool {
    ends_sentence(letter)
        || matches!(
            letter,
            '”' | '’' | '」' | '』' | '）' | '》' | '】' | '，' | '、' | ')' | ']' | '"' | '\''
        )
}

/// Whether it belongs to a script without spaces between sentences.
pub(super) fn is_wide(letter: char) -> bool {
    !letter.is_ascii()
}

/// Whether two characters form one grapheme, as far as can be told without tables.
pub(super) fn joins(previous: char, letter: char) -> bool {
    const JOINER: char = '\u{200d}';
    let mark = matches!(u32::from(letter),
        0x300..=0x36F | 0x483..=0x489 | 0x591..=0x5BD | 0x610..=0x61A | 0x64B..=0x65F | 0x93A..=0x94F
        | 0xE31..=0xE3A | 0xE47..=0xE4E | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x200D | 0x20D0..=0x20FF
        | 0x3099..=0x309A | 0xFE00..=0xFE0F | 0xFE20..=0xFE2F | 0x1F3FB..=0x1F3FF | 0xE0020..=0xE007F
        | 0xE0100..=0xE01EF);
    let flag = |c: char| matches!(u32::from(c), 0x1F1E6..=0x1F1FF);
    mark || previous == JOINER || (flag(previous) && flag(letter)) || previous == '\\'
}
