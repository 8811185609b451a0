//! Marks that CommonMark leaves as words, though people mean them: `||spoilers||`, and `**strong：**` beside
//! characters that have no spaces around them.

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

use super::rich::Mark;

/// A mark that begins or ends at a place of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) at: usize,
    pub(super) mark: Mark,
    pub(super) opens: bool,
}

/// The length of every sign.
pub(super) const SIGN: usize = 2;

/// The pairs of signs in a text, in order of their places.
pub(super) fn turns(source: &str, events: &[(Event<'_>, Range<usize>)]) -> Vec<Turn> {
    let mut turns = Vec::new();
    // The place of a sign that waits for its like.
    let (mut spoiler, mut strong) = (None, None);
    let mut in_code = false;
    for (event, range) in events {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(tag) if is_inline(tag) => {}
            Event::Start(_) => (spoiler, strong) = (None, None),
            Event::Text(text) if !in_code && text.len() == range.len() => {
                for at in signs(source, range, "||") {
                    pair(source, at, &mut spoiler, &Mark::Spoiler, &mut turns);
                }
                for at in signs(source, range, "**") {
                    pair(source, at, &mut strong, &Mark::Bold, &mut turns);
                }
            }
            _ => {}
        }
    }
    turns.sort_by_key(|turn| turn.at);
    turns
}

/// Whether it stands inside a line.
pub(super) fn is_inline(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. })
}

/// Where a sign stands alone in a stretch of words.
fn signs<'a>(source: &'a str, range: &Range<usize>, sign: &'a str) -> impl Iterator<Item = usize> + 'a {
    let (start, end) = (range.start, range.end);
    let words = source.get(range.clone()).unwrap_or_default();
    words.match_indices(sign).map(move |(at, _)| start + at).filter(move |at| {
        let letter = sign.chars().next();
        let before = source.get(..*at).and_then(|text| text.chars().next_back());
        let after = source.get(at + SIGN..).and_then(|text| text.chars().next());
        before != letter && before != Some('\\') && after != letter && at + SIGN <= end
    })
}

fn pair(source: &str, at: usize, open: &mut Option<usize>, mark: &Mark, turns: &mut Vec<Turn>) {
    let before = source.get(..at).and_then(|text| text.chars().next_back()).unwrap_or(' ');
    let after = source.get(at + SIGN..).and_then(|text| text.chars().next()).unwrap_or(' ');
    // Where spaces are written, CommonMark's own rules are right: `f(**a, **b)` is not strong.
    let ends = !before.is_whitespace() && (*mark == Mark::Spoiler || !before.is_ascii() || !after.is_ascii());
    match *open {
        Some(start) if ends => {
            turns.push(Turn { at: start, mark: mark.clone(), opens: true });
            turns.push(Turn { at, mark: mark.clone(), opens: false });
            *open = None;
        }
        _ if !after.is_whitespace() => *open = Some(at),
        _ => {}
    }
}
