//! Markup that CommonMark does not have: `||spoilers||`.

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

/// A spoiler delimiter in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpoilerMark {
    pub(super) at: usize,
    pub(super) opens: bool,
}

/// The length of a delimiter.
pub(super) const SIGN: usize = 2;

/// The matched delimiters of a text, in order.
pub(super) fn turns(source: &str, events: &[(Event<'_>, Range<usize>)]) -> Vec<SpoilerMark> {
    let mut turns = Vec::new();
    // The open delimiter.
    let mut open = None;
    let mut in_code = false;
    for (event, range) in events {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(tag) if is_inline(tag) => {}
            Event::Start(_) => open = None,
            Event::Text(text) if !in_code && text.len() == range.len() => {
                for at in signs(source, range) {
                    pair(source, at, &mut open, &mut turns);
                }
            }
            _ => {}
        }
    }
    turns
}

/// Whether text is on both sides on the same line.
pub(super) fn is_inline(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. })
}

/// The offset of a delimiter in a text.
fn signs<'a>(source: &'a str, range: &Range<usize>) -> impl Iterator<Item = usize> + 'a {
    let start = range.start;
    let words = source.get(range.clone()).unwrap_or_default();
    words.match_indices("||").map(move |(at, _)| start + at).filter(|at| {
        let (before, after) = around(source, *at);
        !matches!(before, '|' | '\\') && after != '|'
    })
}

fn pair(source: &str, at: usize, open: &mut Option<usize>, turns: &mut Vec<SpoilerMark>) {
    let (before, after) = around(source, at);
    match *open {
        Some(start) if !before.is_whitespace() => {
            turns.extend([SpoilerMark { at: start, opens: true }, SpoilerMark { at, opens: false }]);
            *open = None;
        }
        _ if !after.is_whitespace() => *open = Some(at),
        _ => {}
    }
}

/// The characters around a delimiter.
fn around(source: &str, at: usize) -> (char, char) {
    let before = source.get(..at).and_then(|text| text.chars().next_back());
    let after = source.get(at + SIGN..).and_then(|text| text.chars().next());
    (before.unwrap_or(' '), after.unwrap_or(' '))
}
