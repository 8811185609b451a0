//! Renders partial Markdown: closes open constructs and holds back incomplete markers.

use super::fit::{Rendered, render_one};
use crate::domain::LengthUnit;
use crate::render::split;

/// Renders a growing text as one message of at most `limit` UTF-16 units. Of a long one the last page is shown, split
/// where [`render`](super::render) would split it: the newest text is always visible, and a page stays unchanged until
/// it is full. A blank text renders to an empty message.
pub fn render_partial(markdown: &str, limit: usize) -> Rendered {
    let Some(page) = split(markdown, limit, LengthUnit::Utf16).pop() else { return Rendered::default() };
    let rendered = render_one(&completed(&page), limit);
    Rendered { plain: render_one(&page, limit).plain, ..rendered }
}

/// The text with its open markers closed, as far as known.
fn completed(text: &str) -> String {
    let text = without_half_line(text);
    let (before, paragraph) = text.rsplit_once("\n\n").map_or(("", text), |(before, last)| (before, last));
    // Code on lines of its own is closed by the end of the text.
    let fences = |text: &str| text.lines().filter(|line| line.trim_start().starts_with("```")).count();
    if (fences(before) + fences(paragraph)) % 2 == 1 {
        return text.to_owned();
    }
    let mut open: Vec<&str> = Vec::new();
    let mut rest = paragraph;
    while let Some(letter) = rest.chars().next() {
        let sign = ["```", "``", "`", "**", "~~", "||"].into_iter().find(|sign| rest.starts_with(sign));
        let in_code = open.last().is_some_and(|sign| sign.starts_with('`'));
        let taken = match sign {
            Some(sign) if open.last() == Some(&sign) => {
                open.pop();
                sign.len()
            }
            Some(sign) if !in_code && opens(rest, sign) => {
                open.push(sign);
                sign.len()
            }
            Some(sign) => sign.len(),
            None if letter == '\\' && !in_code => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            None => letter.len_utf8(),
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    let closing: String = open.into_iter().rev().collect();
    format!("{}{closing}", text.trim_end())
}

/// A trailing marker opens nothing yet.
fn opens(rest: &str, sign: &str) -> bool {
    rest.get(sign.len()..).and_then(|after| after.chars().next()).is_some_and(|next| !next.is_whitespace())
}

/// A last line of `-` or `=` alone may become a list or a rule; until then it would make a heading of the line
/// above.
fn without_half_line(text: &str) -> &str {
    match text.rsplit_once('\n') {
        Some((before, last)) if !last.is_empty() && last.trim_matches(['-', '=', ' ']).is_empty() => before,
        _ => text,
    }
}
