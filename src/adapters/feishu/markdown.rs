//! Converts CommonMark to the platform's markdown: the source stays unchanged except for what the platform would not
//! show, or would act on, such as a mention of everyone in the group. Pure.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr as _;

use crate::render::markdown::without_pictures;

/// Most tables in one card.
pub(super) const CARD_TABLES: usize = 3;

/// The source for a card or a post with at most `tables` tables; further ones become text.
pub(super) fn card_markdown(markdown: &str, tables: usize) -> String {
    let markdown = &without_pictures(markdown);
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let (mut in_code, mut seen) = (false, 0);
    let mut events = parser(markdown).into_offset_iter();
    while let Some((event, range)) = events.next() {
        let source = markdown.get(range.clone()).unwrap_or_default();
        let next = markdown.get(range.end..).and_then(|after| after.chars().next());
        match event {
            // The platform does not support indented code blocks: their content is converted like other text.
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(Tag::Table(_)) => {
                seen += 1;
                if seen > tables {
                    let inside = events.by_ref().map(|(event, _)| event);
                    edits.push((range, format!("{}\n", text_table(inside))));
                }
            }
            Event::Start(Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. }) => {
                edits.push((range, source.trim_matches(['<', '>']).to_owned()));
            }
            Event::Html(_) | Event::InlineHtml(_) if !is_break(source) => {
                edits.push((range, without_tags(source, next)));
            }
            Event::Text(_) if !in_code && source.contains('<') => {
                edits.push((range, without_tags(source, next)));
            }
            _ => {}
        }
    }
    apply(markdown, edits)
}

/// Whether a text means the same with and without markup.
pub(super) fn is_plain(markdown: &str) -> bool {
    let plain = |event: Event<'_>| {
        matches!(
            event,
            Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) | Event::Text(_) | Event::SoftBreak
        )
    };
    !markdown.contains(['\\', '&']) && parser(markdown).all(plain)
}

pub(super) fn has_tables(markdown: &str) -> bool {
    parser(markdown).any(|event| matches!(event, Event::Start(Tag::Table(_))))
}

/// Escapes `<at …>`, so that a text mentions no one.
pub(super) fn without_mentions(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        out.push('<');
        let word: String = after.trim_start_matches('/').chars().take(2).collect();
        if word.eq_ignore_ascii_case("at") {
            out.push('\u{200b}');
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn parser(markdown: &str) -> Parser<'_> {
    Parser::new_ext(
        markdown,
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS,
    )
}

fn is_break(html: &str) -> bool {
    matches!(html.trim().to_ascii_lowercase().as_str(), "<br>" | "<br/>" | "<br />")
}

/// Escapes what reads as a tag; `next` is the character that follows.
fn without_tags(source: &str, next: Option<char>) -> String {
    let mut out = String::with_capacity(source.len());
    let mut letters = source.chars().peekable();
    while let Some(letter) = letters.next() {
        let follows = letters.peek().copied().or(next);
        let opens = follows.is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?'));
        match letter {
            '<' if opens => out.push_str("&#60;"),
            letter => out.push(letter),
        }
    }
    out
}

fn apply(source: &str, edits: Vec<(Range<usize>, String)>) -> String {
    let (mut out, mut at) = (String::with_capacity(source.len()), 0);
    for (range, text) in edits {
        // An edit inside a replaced range is dropped.
        if range.start < at {
            continue;
        }
        out.push_str(source.get(at..range.start).unwrap_or_default());
        out.push_str(&text);
        at = range.end;
    }
    out.push_str(source.get(at..).unwrap_or_default());
    out
}

/// A table as aligned text in a code block. Consumes the events up to the table's end.
fn text_table<'a>(events: impl Iterator<Item = Event<'a>>) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for event in events {
        match event {
            Event::End(TagEnd::Table) => break,
            Event::Start(Tag::TableHead | Tag::TableRow) => rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => {
                if let Some(row) = rows.last_mut() {
                    row.push(String::new());
                }
            }
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => {
                if let Some(cell) = rows.last_mut().and_then(|row| row.last_mut()) {
                    cell.push_str(if is_break(&text) { " " } else { &text });
                }
            }
            _ => {}
        }
    }
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    let line = |cells: &[String], fill: &str| {
        let cell = |(column, width): (usize, &usize)| {
            let text = cells.get(column).map_or("", String::as_str);
            format!("{text}{}", fill.repeat(width.saturating_sub(text.width())))
        };
        let cells: Vec<String> = widths.iter().enumerate().map(cell).collect();
        cells.join(" | ").trim_end().to_owned()
    };
    let mut lines: Vec<String> = rows.iter().map(|row| line(row, " ")).collect();
    if !lines.is_empty() {
        lines.insert(1, line(&[], "-"));
    }
    let body = lines.join("\n");
    let longest = body.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{body}\n{fence}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_would_not_be_shown_or_would_call_somebody_is_changed() {
        for (source, expected) in [
            ("# Title\n\n- a\n- **b** `c`\n", "# Title\n\n- a\n- **b** `c`\n"),
            ("see ![a cat](https://x/c.png)!", "see [a cat](https://x/c.png)!"),
            ("go to <https://x.y/z>", "go to https://x.y/z"),
            ("hi <at id=all></at>", "hi &#60;at id=all>&#60;/at>"),
            ("<font color='red'>x</font>", "&#60;font color='red'>x&#60;/font>"),
            ("a < b and a <b", "a < b and a &#60;b"),
            ("one<br>two", "one<br>two"),
            ("```html\n<at id=all></at>\n```\n", "```html\n<at id=all></at>\n```\n"),
            ("`<b>`", "`<b>`"),
            ("中文 **加粗**", "中文 **加粗**"),
        ] {
            assert_eq!(card_markdown(source, CARD_TABLES), expected, "{source:?}");
        }
    }

    #[test]
    fn tables_beyond_the_limit_become_text() {
        let table = "| a | 名字 |\n|---|---|\n| `x` | 中 |\n| long <b> | y |\n";
        assert_eq!(card_markdown(table, 1), table.replace("<b>", "&#60;b>"));
        let text = "```\na        | 名字\n-------- | ----\nx        | 中\nlong <b> | y\n```\n";
        assert_eq!(card_markdown(table, 0), text);
        let two = format!("{table}\nbetween\n\n{table}\nafter");
        let expected = format!("{}\nbetween\n\n{text}\nafter", table.replace("<b>", "&#60;b>"));
        assert_eq!(card_markdown(&two, 1), expected);
        assert!(has_tables(table) && !has_tables("a | b"));
    }

    #[test]
    fn plain_words_are_known() {
        for (text, plain) in [
            ("hello", true),
            ("two\nlines\n\nand more: https://x.y", true),
            ("**bold**", false),
            ("- item", false),
            ("`code`", false),
            ("a \\* b", false),
            ("# h", false),
            ("1. one", false),
        ] {
            assert_eq!(is_plain(text), plain, "{text:?}");
        }
    }

    #[test]
    fn a_plain_text_calls_nobody() {
        assert_eq!(
            without_mentions("<at user_id=\"all\">x</at> a<b"),
            "<\u{200b}at user_id=\"all\">x</\u{200b}at> a<b".replace("</\u{200b}at", "<\u{200b}/at")
        );
        assert_eq!(without_mentions("<AT x"), "<\u{200b}AT x");
    }

    fn assert_nobody_is_called(source: &str) {
        let shown = card_markdown(source, CARD_TABLES).to_ascii_lowercase();
        assert!(!shown.contains("<at") && !shown.contains("</at"), "{shown}");
    }

    #[test]
    fn a_call_behind_the_spaces_of_indented_code_calls_nobody() {
        assert_nobody_is_called("    <at x");
    }

    fn words(text: &str) -> String {
        text.chars().filter(|letter| letter.is_alphanumeric()).collect()
    }

    proptest! {
        #[test]
        fn no_word_is_lost(pieces in proptest::collection::vec(prop_oneof![
            "[a-z中]{1,6}", Just(" ".to_owned()), Just("\n\n".to_owned()), Just("\n| a | b |\n|---|---|\n| c | d |\n".to_owned()),
            Just("<b>".to_owned()), Just("`".to_owned()), Just("\n```\n".to_owned()), Just("![x](y)".to_owned()),
            Just("\n- ".to_owned()), Just("> ".to_owned()), Just("**".to_owned()),
        ], 0..30)) {
            let source: String = pieces.concat();
            let escaped = card_markdown(&source, 1).replace("&#60;", "<");
            let kept = words(&escaped);
            for piece in &pieces {
                if piece.chars().all(|c| c.is_ascii_lowercase()) && !piece.is_empty() {
                    prop_assert!(kept.contains(piece.as_str()));
                }
            }
        }

        #[test]
        fn nobody_is_called_outside_of_code(before in "[a-z ]{0,8}", tag in "</?(at|AT|At)[ a-z=\"']{0,12}/?>?") {
            assert_nobody_is_called(&format!("{before}{tag} x"));
        }
    }
}
