//! Text with marks. The marks are stored beside the text, so that it can be measured and cut
//! independently of a platform's markup.

use std::ops::Range;

use super::cjk_emphasis::UNSEEN;

/// The meaning of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A quote; quotes inside it are part of it.
    Quote,
    Pre {
        /// The info string: letters, digits and `+#._-` only.
        language: Option<String>,
    },
    Link {
        url: String,
    },
    Spoiler,
    /// Strong emphasis and headings.
    Bold,
    Italic,
    Strike,
    Code,
}

impl Mark {
    /// The nesting order of marks on the same text.
    fn rank(&self) -> usize {
        match self {
            Self::Quote => 0,
            Self::Pre { .. } => 1,
            Self::Link { .. } => 2,
            Self::Spoiler => 3,
            Self::Bold => 4,
            Self::Italic => 5,
            Self::Strike => 6,
            Self::Code => 7,
        }
    }
}

/// A mark and its byte range; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub range: Range<usize>,
    pub mark: Mark,
}

/// A text with marks, without control characters except line breaks and tabs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rich {
    text: String,
    spans: Vec<Span>,
}

impl Rich {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The marks, sorted by their start; enclosing marks first.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds text without control characters.
    pub(super) fn push(&mut self, text: &str) {
        self.text.extend(text.chars().filter_map(|letter| match letter {
            '\n' | '\t' => Some(letter),
            letter => (!letter.is_control() && letter != UNSEEN).then_some(letter),
        }));
    }

    /// Adds another text with its marks.
    pub(super) fn append(&mut self, other: &Self) {
        let by = self.text.len();
        self.text.push_str(&other.text);
        self.spans.extend(
            other.spans.iter().map(|span| Span {
                range: span.range.start + by..span.range.end + by,
                mark: span.mark.clone(),
            }),
        );
    }

    /// Marks the text since `start`.
    pub(super) fn mark(&mut self, start: usize, mark: Mark) {
        let end = self.text.len();
        if start < end {
            self.spans.push(Span { range: start..end, mark });
        }
    }

    /// Marks the text since `start`, without surrounding white space.
    pub(super) fn mark_words(&mut self, start: usize, mark: Mark) {
        let words = self.text.get(start..).unwrap_or_default();
        let start = start + (words.len() - words.trim_start().len());
        let end = start + words.trim().len();
        if start < end {
            self.spans.push(Span { range: start..end, mark });
        }
    }

    /// Marks the text since `start` as an enclosing block: no mark inside extends beyond it, not even code
    /// that begins with white space.
    pub(super) fn enclose(&mut self, start: usize, mark: Mark) {
        let inner = self.spans.iter().rev().take_while(|span| span.range.start >= start);
        let inner =
            inner.map(|span| span.range.clone()).reduce(|a, b| a.start.min(b.start)..a.end.max(b.end));
        let marks = self.spans.len();
        self.mark_words(start, mark);
        if let (Some(block), Some(inner)) = (self.spans.get_mut(marks), inner) {
            block.range = block.range.start.min(inner.start)..block.range.end.max(inner.end);
        }
    }

    /// Sorts the marks and removes trailing white space.
    pub(super) fn finish(mut self) -> Self {
        let end = self.text.trim_end().len();
        self.text.truncate(end);
        for span in &mut self.spans {
            span.range.end = span.range.end.min(end);
        }
        self.spans.retain(|span| span.range.start < span.range.end);
        self.spans
            .sort_by_key(|span| (span.range.start, std::cmp::Reverse(span.range.end), span.mark.rank()));
        self
    }
}
