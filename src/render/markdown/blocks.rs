//! Splits the source of a text into blocks, and finds the spans that lose their
//! meaning when they are cut.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::cjk_emphasis::SpacedText;
use super::{spoilers, walk};
use crate::domain::LengthUnit;

/// The kind of a block, as far as platforms treat it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    Heading,
    Code,
    Table,
    /// A thematic break.
    Rule,
    /// Paragraphs, lists, quotes and others.
    Words,
}

/// A block of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkdownBlock<'a> {
    pub kind: BlockKind,
    /// Its source without trailing white space.
    pub source: &'a str,
}

/// The outermost blocks of a text, in order. All of the source is in one of them.
pub fn blocks(markdown: &str) -> Vec<MarkdownBlock<'_>> {
    let (mut starts, mut depth) = (Vec::new(), 0_usize);
    for (event, range) in Parser::new_ext(markdown, walk::options()).into_offset_iter() {
        let kind = match &event {
            Event::Start(Tag::Heading { .. }) => BlockKind::Heading,
            Event::Start(Tag::CodeBlock(_)) => BlockKind::Code,
            Event::Start(Tag::Table(_)) => BlockKind::Table,
            Event::Rule => BlockKind::Rule,
            _ => BlockKind::Words,
        };
        if depth == 0 && !matches!(event, Event::End(_)) {
            starts.push((line_start(markdown, range.start), kind));
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    match starts.first_mut() {
        Some((first, _)) => *first = 0,
        None => starts.push((0, BlockKind::Words)),
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([markdown.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|((start, kind), end)| MarkdownBlock {
            kind: *kind,
            source: markdown.get(*start..end).unwrap_or_default(),
        })
        .map(|block| MarkdownBlock { source: block.source.trim_end(), ..block })
        .filter(|block| !block.source.is_empty())
        .collect()
}

/// Spans of a text that should not be cut, and what a part of the text needs to stand alone.
#[derive(Debug, Default)]
pub(in crate::render) struct UncuttableSpans {
    /// Links, emphasis, table rows and the like, sorted and disjoint.
    atoms: Vec<Range<usize>>,
    tables: Vec<Header>,
    indented: Vec<Range<usize>>,
}

/// The header lines of a table, and the range of its rows.
#[derive(Debug)]
struct Header {
    lines: Range<usize>,
    rows: Range<usize>,
}

/// Most nested marks.
const DEEPEST: usize = 8;

impl UncuttableSpans {
    /// Scans a text that will be cut to parts of at most `limit` units. Longer spans have to
    /// be cut anyway.
    pub(in crate::render) fn of(text: &str, limit: usize, unit: LengthUnit) -> Self {
        let eased = SpacedText::of(text);
        let parser = Parser::new_ext(&eased.text, walk::options());
        let events: Vec<_> = parser.into_offset_iter().collect();
        let mut reader =
            SpanReader { text, limit, unit, depth: 0, atoms: Vec::new(), grain: Self::default() };
        for (event, range) in &events {
            reader.take(event, &(eased.original(range.start)..eased.original(range.end)));
        }
        for pair in spoilers::turns(&eased.text, &events).windows(2) {
            if let [opening, closing] = pair
                && opening.opens
                && !closing.opens
            {
                reader.atom(eased.original(opening.at)..eased.original(closing.at + spoilers::SIGN));
            }
        }
        reader.finish()
    }

    /// Whether an offset is inside a span.
    pub(in crate::render) fn is_solid(&self, at: usize) -> bool {
        let after = self.atoms.partition_point(|atom| atom.end <= at);
        self.atoms.get(after).is_some_and(|atom| atom.start < at)
    }

    /// The header that the row at this offset needs.
    pub(in crate::render) fn header(&self, at: usize) -> Option<Range<usize>> {
        let after = self.tables.partition_point(|table| table.rows.end <= at);
        self.tables.get(after).filter(|table| table.rows.start < at).map(|table| table.lines.clone())
    }

    /// Whether an offset is in indented code.
    pub(in crate::render) fn is_indented_code(&self, at: usize) -> bool {
        let after = self.indented.partition_point(|code| code.end <= at);
        self.indented.get(after).is_some_and(|code| code.start < at + 4)
    }
}

/// A single pass over a text.
#[derive(Debug)]
struct SpanReader<'a> {
    text: &'a str,
    limit: usize,
    unit: LengthUnit,
    /// The number of open marks.
    depth: usize,
    atoms: Vec<Range<usize>>,
    grain: UncuttableSpans,
}

impl SpanReader<'_> {
    fn take(&mut self, event: &Event<'_>, range: &Range<usize>) {
        match event {
            Event::Start(tag) if spoilers::is_inline(tag) => {
                self.depth += 1;
                if self.depth <= DEEPEST {
                    self.atom(range.clone());
                }
            }
            Event::End(
                TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image,
            ) => self.depth = self.depth.saturating_sub(1),
            Event::Code(_) | Event::InlineHtml(_) | Event::Start(Tag::Heading { .. }) => {
                self.atom(range.clone())
            }
            Event::Start(Tag::Table(_)) => self.table(range),
            Event::Start(Tag::TableRow) => self.row(range),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => self.grain.indented.push(range.clone()),
            _ => {}
        }
    }

    fn atom(&mut self, range: Range<usize>) {
        if self.fits(&range, self.limit) {
            self.atoms.push(range);
        }
    }

    fn fits(&self, range: &Range<usize>, limit: usize) -> bool {
        // No unit has more than four bytes.
        let part = || self.text.get(range.clone()).unwrap_or_default();
        range.len() <= limit || (range.len() / 4 <= limit && self.unit.measure(part()) <= limit)
    }

    fn table(&mut self, range: &Range<usize>) {
        let start = line_start(self.text, range.start);
        // The header row and the delimiter row.
        let below = self.text.get(start..).unwrap_or_default();
        let lines: usize = below.split_inclusive('\n').take(2).map(str::len).sum();
        let lines = start..start + lines;
        self.grain.tables.push(Header { rows: lines.end..range.end, lines });
    }

    fn row(&mut self, range: &Range<usize>) {
        let row = line_start(self.text, range.start)..range.end;
        // The header stays with the first row.
        if let Some(table) = self.grain.tables.last().filter(|table| table.rows.start == row.start) {
            self.atom(table.lines.start..row.end);
        }
        self.atom(row);
    }

    /// Only the outermost of nested marks count.
    fn finish(mut self) -> UncuttableSpans {
        self.atoms.sort_by_key(|atom| (atom.start, std::cmp::Reverse(atom.end)));
        for atom in std::mem::take(&mut self.atoms) {
            if self.grain.atoms.last().is_none_or(|last| last.end <= atom.start) {
                self.grain.atoms.push(atom);
            }
        }
        let mut tables = std::mem::take(&mut self.grain.tables);
        tables.retain(|table| self.fits(&table.lines, self.limit / 2));
        UncuttableSpans { tables, ..self.grain }
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
}
