//! Splits a text into chunks that stand alone.

use super::super::fence::Fence;
use super::super::markdown::UncuttableSpans;
use super::scan::{Cut, Scan, ScanResult, length};
use crate::domain::LengthUnit;

/// Splits a text into chunks of at most `limit` units: between paragraphs if it can, else between lines,
/// sentences, words or characters; inside a link, strong words, code in a line or a row of a table only if that
/// is longer than a chunk. A limit too small for a single character is taken as one character; one too small for
/// code to be opened again leaves fences as they fall. A blank text has no chunks.
pub fn split(text: &str, limit: usize, unit: LengthUnit) -> Vec<String> {
    pieces(text, limit, unit).into_iter().map(|piece| piece.text()).collect()
}

/// A part of the text, and what was added so that it stands alone.
#[derive(Debug)]
pub(super) struct ChunkPart<'a> {
    opening: Option<String>,
    pub(super) body: &'a str,
    closing: Option<String>,
    /// Whether it continues a list, whose indentation would read as code.
    inner: bool,
}

impl ChunkPart<'_> {
    pub(super) fn text(&self) -> String {
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
        if self.inner { outdented(&text) } else { text }
    }
}

pub(super) fn pieces(text: &str, limit: usize, unit: LengthUnit) -> Vec<ChunkPart<'_>> {
    let rest = without_blank_lines(text);
    let fits = text.len() <= limit || unit.measure(text) <= limit;
    let grain = if fits { UncuttableSpans::default() } else { UncuttableSpans::of(text, limit, unit) };
    let mut splitter = Splitter {
        text,
        grain: &grain,
        rest,
        fence: None,
        at_line_start: true,
        mind_fences: true,
        limit,
        unit,
    };
    std::iter::from_fn(|| splitter.next()).collect()
}

/// The rest of the text.
#[derive(Debug)]
pub(super) struct Splitter<'a, 'g> {
    text: &'a str,
    pub(super) grain: &'g UncuttableSpans,
    /// The end of the text.
    pub(super) rest: &'a str,
    /// The code block that `rest` begins in.
    pub(super) fence: Option<Fence>,
    pub(super) at_line_start: bool,
    /// Whether cut code is closed and opened again; off where the limit is too small.
    pub(super) mind_fences: bool,
    limit: usize,
    pub(super) unit: LengthUnit,
}

impl<'a> Splitter<'a, '_> {
    fn next(&mut self) -> Option<ChunkPart<'a>> {
        if self.rest.trim().is_empty() {
            return None;
        }
        let opening = self.fence.as_ref().map(Fence::opening).or_else(|| self.header());
        let added = opening.as_ref().map_or(0, |line| self.unit.measure(line) + 1);
        let inner = self.is_inner();
        match self.limit.checked_sub(added).map_or(ScanResult::Nothing, |room| Scan::of(self, room).run()) {
            ScanResult::Everything => {
                let body = std::mem::take(&mut self.rest).trim_end();
                Some(ChunkPart { opening, body, closing: None, inner })
            }
            ScanResult::Cut(cut) => {
                let closing = cut.fence.as_ref().map(Fence::closing);
                Some(ChunkPart { opening, body: self.cut(cut), closing, inner })
            }
            ScanResult::Nothing if self.mind_fences => {
                (self.mind_fences, self.fence) = (false, None);
                self.next()
            }
            ScanResult::Nothing => {
                self.rest = self.rest.trim_start();
                let at = self.as_much_as_fits();
                let body = self.cut(Cut { at, solid: 0, fence: None, at_line_start: false });
                Some(ChunkPart { opening: None, body, closing: None, inner: false })
            }
        }
    }

    /// Where in the text `rest` begins.
    pub(super) fn offset(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    /// The first lines of the table whose rows `rest` begins with.
    fn header(&self) -> Option<String> {
        let lines = self.grain.header(self.offset()).filter(|_| self.at_line_start && self.mind_fences)?;
        self.text.get(lines).map(|lines| lines.trim_end().to_owned())
    }

    fn is_inner(&self) -> bool {
        let offset = self.offset();
        let cut = !self.text.get(..offset).unwrap_or_default().trim().is_empty();
        cut && self.at_line_start && (self.fence.is_some() || !self.grain.is_indented_code(offset))
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

    /// A forced cut: at least one character is taken.
    fn as_much_as_fits(&self) -> usize {
        let mut used = 0;
        let end = self.rest.char_indices().find(|(at, letter)| {
            used += length(*letter, self.unit);
            *at > 0 && used > self.limit
        });
        end.map_or(self.rest.len(), |(at, _)| at)
    }
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

/// Moves the lines at the beginning to the left, as far as the first of them goes, if they are so far to the
/// right that they would read as code.
fn outdented(text: &str) -> String {
    let indentation = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let by = indentation(text);
    let first = text.get(..by).unwrap_or_default();
    if by < 4 && !first.contains('\t') {
        return text.to_owned();
    }
    let (mut out, mut left) = (String::with_capacity(text.len()), false);
    for line in text.split_inclusive('\n') {
        let spaces = indentation(line);
        left |= spaces < by && !line.trim().is_empty();
        out.push_str(line.get(if left { 0 } else { spaces.min(by) }..).unwrap_or_default());
    }
    out
}
