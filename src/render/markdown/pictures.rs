//! Turns pictures into links. A client or platform fetches the address of a picture without a click, so an address
//! that a model was talked into writing would carry data away or report that the message was read. Pure.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::walk;

/// Separates characters that would otherwise form markup. It takes no space.
pub const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// Stands for a picture that has no description.
const PICTURE: &str = "🖼";

/// How much is shown of an address that cannot be linked to.
const SHOWN_ADDRESS: usize = 80;

/// The same CommonMark with a link in place of every picture: inline, by reference, or inside a link. No `![` is left
/// that a more tolerant parser than ours could read as a picture, in code neither.
pub fn without_pictures(markdown: &str) -> String {
    if !markdown.contains("![") {
        return markdown.to_owned();
    }
    let edits = edits(markdown);
    separate_signs(&apply(markdown, &edits))
}

/// A picture whose description is being parsed.
struct OpenPicture {
    range: Range<usize>,
    address: String,
    description: String,
}

/// The replacements, in the order of the source.
fn edits(markdown: &str) -> Vec<(Range<usize>, String)> {
    let mut edits = Vec::new();
    let mut picture: Option<OpenPicture> = None;
    let mut nested = 0_usize;
    // The links of pictures that stand inside a link come behind it: links do not nest.
    let mut link: Option<(usize, String)> = None;
    for (event, range) in Parser::new_ext(markdown, walk::options()).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { .. }) if picture.is_none() => link = Some((range.end, String::new())),
            Event::End(TagEnd::Link) if picture.is_none() => {
                if let Some((end, links)) = link.take().filter(|(_, links)| !links.is_empty()) {
                    edits.push((end..end, links));
                }
            }
            Event::Start(Tag::Image { .. }) if picture.is_some() => nested += 1,
            Event::Start(Tag::Image { dest_url, .. }) => {
                let address = address(&dest_url);
                picture = Some(OpenPicture { range, address, description: String::new() });
            }
            Event::End(TagEnd::Image) if nested > 0 => nested -= 1,
            Event::End(TagEnd::Image) => {
                let Some(OpenPicture { range, address, description }) = picture.take() else { continue };
                let words = description.split_whitespace().collect::<Vec<_>>().join(" ");
                match &mut link {
                    Some((_, links)) => {
                        let words = if words.is_empty() { PICTURE.to_owned() } else { words };
                        edits.push((range, words));
                        links.push(' ');
                        links.push_str(&linked(PICTURE, &address));
                    }
                    None => edits.push((range, linked(&words, &address))),
                }
            }
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => {
                if let Some(open) = &mut picture {
                    open.description.extend(text.chars().map(plain_letter));
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(open) = &mut picture {
                    open.description.push(' ');
                }
            }
            _ => {}
        }
    }
    edits
}

/// A link with this text; where the address is not a URL, the text and the address.
fn linked(words: &str, address: &str) -> String {
    let web = ["http://", "https://"]
        .iter()
        .any(|scheme| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let words = if words.is_empty() { PICTURE } else { words };
    if web {
        return format!("[{words}]({address})");
    }
    let shown: String = address.chars().take(SHOWN_ADDRESS).collect();
    let cut = if shown.len() < address.len() { "…" } else { "" };
    if shown.is_empty() { words.to_owned() } else { format!("{words} ({shown}{cut})") }
}

/// A character of a description, escaped if it is markup.
fn plain_letter(letter: char) -> char {
    match letter {
        '[' => '(',
        ']' => ')',
        '<' | '>' | '`' | '\\' | '!' | '|' | '\n' | '\r' => ' ',
        letter => letter,
    }
}

/// An address that is escaped for use between parentheses.
fn address(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for letter in raw.trim().chars() {
        match letter {
            '(' => out.push_str("%28"),
            ')' => out.push_str("%29"),
            '<' => out.push_str("%3C"),
            '>' => out.push_str("%3E"),
            ' ' => out.push_str("%20"),
            letter if letter.is_control() || letter.is_whitespace() => {}
            letter => out.push(letter),
        }
    }
    out
}

/// Separates `!` from `[` wherever a link could follow in the same paragraph, or a reference be defined, for a parser
/// that knows neither code nor escapes.
fn separate_signs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let defines = text.replace(['\\', '`'], "").contains("]:");
    let mut rest = text;
    while let Some(at) = rest.find("![") {
        let (before, after) = rest.split_at_checked(at + 1).unwrap_or((rest, ""));
        out.push_str(before);
        let paragraph = after.split("\n\n").next().unwrap_or(after).replace(['\\', '`'], "");
        if defines || paragraph.contains("](") || paragraph.contains("][") {
            out.push(ZERO_WIDTH_SPACE);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn apply(source: &str, edits: &[(Range<usize>, String)]) -> String {
    let (mut out, mut at) = (String::with_capacity(source.len()), 0);
    for (range, text) in edits {
        out.push_str(source.get(at..range.start).unwrap_or_default());
        out.push_str(text);
        at = range.end.max(at);
    }
    out.push_str(source.get(at..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn has_picture(markdown: &str) -> bool {
        Parser::new_ext(markdown, walk::options())
            .any(|event| matches!(event, Event::Start(Tag::Image { .. })))
    }

    #[test]
    fn every_kind_of_picture_becomes_a_link() {
        for (source, expected) in [
            ("no picture! [docs](https://e.x)", "no picture! [docs](https://e.x)"),
            ("see ![a cat](https://e.x/c.png)!", "see [a cat](https://e.x/c.png)!"),
            ("![](https://e.x/c.png)", "[🖼](https://e.x/c.png)"),
            ("![a #20px #30px](https://e.x/c.png \"t\")", "[a #20px #30px](https://e.x/c.png)"),
            ("![a](<https://e.x/a (b).png>)", "[a](https://e.x/a%20%28b%29.png)"),
            ("![a][r]\n\n[r]: https://e.x/r.png", "[a](https://e.x/r.png)\n\n[r]: https://e.x/r.png"),
            ("![r]\n\n[r]: https://e.x/r.png", "[r](https://e.x/r.png)\n\n[r]: https://e.x/r.png"),
            ("[![a](https://e.x/i.png)](https://e.x/p)", "[a](https://e.x/p) [🖼](https://e.x/i.png)"),
            ("[![](https://e.x/i.png) b](https://e.x/p).", "[🖼 b](https://e.x/p) [🖼](https://e.x/i.png)."),
            ("![a ![b](https://e.x/b)](https://e.x/a)", "[a b](https://e.x/a)"),
            ("![**a** `b`](https://e.x/a)", "[a b](https://e.x/a)"),
            ("![a](data:image/png;base64,AA)", "a (data:image/png;base64,AA)"),
            ("![a](out/a.png)", "a (out/a.png)"),
            ("- ![a](https://e.x/1)\n- ![b](https://e.x/2)", "- [a](https://e.x/1)\n- [b](https://e.x/2)"),
        ] {
            assert_eq!(without_pictures(source), expected, "{source}");
        }
    }

    #[test]
    fn what_another_parser_could_take_for_a_picture_is_separated() {
        for (source, expected) in [
            ("!![a](https://e.x/c)", "!\u{200b}[a](https://e.x/c)"),
            ("\\![a](https://e.x/c)", "\\!\u{200b}[a](https://e.x/c)"),
            ("    ![a](https://e.x/c)", "    !\u{200b}[a](https://e.x/c)"),
            ("`![a](https://e.x/c)`", "`!\u{200b}[a](https://e.x/c)`"),
            ("```\n![a](https://e.x/c)\n```", "```\n!\u{200b}[a](https://e.x/c)\n```"),
            ("![]`(https://e.x/c)", "!\u{200b}[]`(https://e.x/c)"),
            ("`![a]`\n\n    [a]: https://e.x/c", "`!\u{200b}[a]`\n\n    [a]: https://e.x/c"),
            ("```rs\nvec![1, 2]\n```", "```rs\nvec![1, 2]\n```"),
        ] {
            assert_eq!(without_pictures(source), expected, "{source}");
        }
    }

    proptest! {
        #[test]
        fn no_picture_is_left(source in "(!|\\[|\\]|\\(|\\)|https://e\\.x/i|<img src=https://e\\.x>|`|\\\\|\n| |a|\\]: ){0,40}") {
            let out = without_pictures(&source);
            prop_assert!(!has_picture(&out), "{out}");
            // Nor for a reader that knows neither code nor escapes.
            let naive = out.replace(['\\', '`'], "");
            prop_assert!(!has_picture(&naive.replace("\n    ", "\n")) || !out.contains("!["), "{out}");
        }
    }
}
