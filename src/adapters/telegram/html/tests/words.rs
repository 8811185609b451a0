//! The text of a document according to the Markdown parser alone, to compare the rendering with.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// Letters, digits and symbols: neither white space nor a character that Markdown or the layout could add.
pub(super) fn words(text: &str) -> String {
    const OWN: &str = "•☐☑—…·";
    text.chars()
        .filter(|letter| letter.is_alphanumeric() || (!letter.is_ascii() && !OWN.contains(*letter)))
        .filter(|letter| !letter.is_whitespace() && !letter.is_control() && *letter != '\u{fdd0}')
        .collect()
}

/// All text that a reader of the Markdown must see: text, code, tags as text, item numbers, URLs that cannot be linked,
/// links of tables once more, and unused definitions.
pub(super) fn expected(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let parser = Parser::new_ext(markdown, options);
    let mut unused: Vec<(String, std::ops::Range<usize>)> = parser
        .reference_definitions()
        .iter()
        .map(|(name, definition)| (name.to_lowercase(), definition.span.clone()))
        .collect();
    unused.sort_by_key(|(_, span)| span.start);
    let (mut out, mut lists, mut links, mut below) = (String::new(), Vec::new(), Vec::new(), String::new());
    let mut in_table = false;
    for event in parser {
        match event {
            Event::Text(text) | Event::Code(text) => out.push_str(&text),
            Event::Html(html) | Event::InlineHtml(html) => {
                let tag: String = html.to_lowercase().split_whitespace().collect();
                out.push_str(if ["<br>", "<br/>"].contains(&tag.as_str()) { "" } else { &html });
            }
            Event::FootnoteReference(name) | Event::Start(Tag::FootnoteDefinition(name)) => {
                out.push_str(&name)
            }
            Event::Start(Tag::List(first)) => lists.push(first),
            Event::End(TagEnd::List(_)) => drop(lists.pop()),
            Event::Start(Tag::Item) => {
                if let Some(Some(number)) = lists.last_mut() {
                    out.push_str(&number.to_string());
                    *number += 1;
                }
            }
            Event::Start(Tag::Table(_)) => in_table = true,
            Event::End(TagEnd::Table) => {
                in_table = false;
                out.push_str(&std::mem::take(&mut below));
            }
            Event::Start(
                Tag::Link { dest_url, id, link_type, .. } | Tag::Image { dest_url, id, link_type, .. },
            ) => {
                unused.retain(|(name, _)| *name != id.to_lowercase());
                links.push((out.len(), dest_url.to_string(), link_type));
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                let (start, url, kind) = links.pop().unwrap();
                let url = url.trim().replace(' ', "%20");
                let since = out.get(start..).unwrap();
                let shown: String = since.chars().filter(|letter| !letter.is_control()).collect();
                let shown = shown.trim();
                let linked = kind == LinkType::Email
                    || ["http:", "https:", "tg:", "mailto:"].iter().any(|scheme| {
                        url.to_lowercase()
                            .strip_prefix(scheme)
                            .is_some_and(|rest| !rest.trim_matches('/').is_empty())
                    });
                let hidden = linked || url.starts_with('#') || shown == url || !links.is_empty();
                if shown.is_empty() || !hidden {
                    out.push_str(&url);
                }
                if in_table && linked && links.is_empty() {
                    below.push_str(out.get(start..).unwrap());
                }
            }
            _ => {}
        }
    }
    for (_, span) in unused {
        out.push_str(markdown.get(span).unwrap());
    }
    words(&out)
}
