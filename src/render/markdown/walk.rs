//! Converts Markdown to text with marks, in one pass over the parser's events; there is no recursion, so deep
//! nesting costs no stack.

use std::collections::BTreeMap;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::cjk_emphasis::{SpacedText, UNSEEN};
use super::flow::Flow;
use super::rich::{Mark, Rich};
use super::spoilers::{self, SpoilerMark};
use super::table::{Table, TableLayout};

/// What a platform can show.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// How tables are laid out.
    pub tables: TableLayout,
    /// URL schemes that can be linked, in lower case; other addresses are shown beside their text.
    pub schemes: &'static [&'static str],
}

/// Reads a Markdown text.
pub fn rich(markdown: &str, style: &Style) -> Rich {
    let source = SpacedText::of(markdown);
    let parser = Parser::new_ext(&source.text, options());
    let definitions = Definitions::of(&parser);
    let events: Vec<_> = parser.into_offset_iter().collect();
    let turns = spoilers::turns(&source.text, &events);
    let mut walk = MarkdownConverter::new(&source.text, style, turns, definitions);
    for (event, range) in events {
        walk.take(event, range);
    }
    walk.finish()
}

/// The enabled Markdown extensions.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
}

/// Link reference definitions. Unused ones are shown as text.
#[derive(Debug, Default)]
struct Definitions {
    unused: BTreeMap<String, Range<usize>>,
}

impl Definitions {
    fn of(parser: &Parser<'_>) -> Self {
        let named = parser.reference_definitions().iter();
        let unused = named.map(|(name, definition)| (name.to_lowercase(), definition.span.clone())).collect();
        Self { unused }
    }

    fn use_up(&mut self, name: &str) {
        if !self.unused.is_empty() {
            self.unused.remove(&name.to_lowercase());
        }
    }

    /// The offsets of unused ones, in order.
    fn left(self) -> Vec<Range<usize>> {
        let mut left: Vec<_> = self.unused.into_values().collect();
        left.sort_by_key(|span| span.start);
        left
    }
}

/// A link or image whose text is being written.
#[derive(Debug)]
struct OpenLink {
    start: usize,
    url: String,
}

/// A table whose cells are being written, and the enclosing text.
#[derive(Debug)]
struct OpenTable {
    table: Table,
    page: Flow,
}

#[derive(Debug)]
struct MarkdownConverter<'a> {
    source: &'a str,
    style: &'a Style,
    turns: std::iter::Peekable<std::vec::IntoIter<SpoilerMark>>,
    definitions: Definitions,
    flow: Flow,
    /// Open marks with their start. A mark inside an equal one is ignored.
    open: Vec<(Mark, usize, usize)>,
    /// For each open strikethrough, whether it counts: a single `~` does not.
    strikes: Vec<bool>,
    links: Vec<OpenLink>,
    /// The next item number of each open list.
    lists: Vec<Option<u64>>,
    /// The list depth at the start of the quote, from which its text is indented.
    outside: usize,
    code: Option<(Option<String>, String)>,
    table: Option<OpenTable>,
}

impl<'a> MarkdownConverter<'a> {
    fn new(source: &'a str, style: &'a Style, turns: Vec<SpoilerMark>, definitions: Definitions) -> Self {
        Self {
            source,
            style,
            turns: turns.into_iter().peekable(),
            definitions,
            flow: Flow::new(),
            open: Vec::new(),
            strikes: Vec::new(),
            links: Vec::new(),
            lists: Vec::new(),
            outside: 0,
            code: None,
            table: None,
        }
    }

    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, &range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, &range),
            Event::Code(text) => {
                let start = self.flow.settle();
                self.flow.write(&text);
                self.flow.rich.mark(start, Mark::Code);
            }
            Event::InlineHtml(html) | Event::Html(html) => self.html(&html),
            Event::SoftBreak | Event::HardBreak => self.flow.line_break(),
            Event::Rule => {
                self.flow.gap(2);
                self.flow.write("———");
                self.flow.gap(2);
            }
            Event::TaskListMarker(done) => {
                self.flow.retract("• ");
                self.flow.lead(if done { "☑ " } else { "☐ " });
            }
            Event::FootnoteReference(name) => self.flow.write(&format!("[{name}]")),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.flow.write(&text),
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: &Range<usize>) {
        match tag {
            Tag::BlockQuote(_) => {
                self.flow.gap(2);
                self.open(Mark::Quote);
            }
            Tag::Heading { .. } => {
                self.flow.gap(2);
                self.open(Mark::Bold);
            }
            Tag::CodeBlock(kind) => self.code = Some((language(&kind), String::new())),
            Tag::List(first) => {
                self.flow.gap(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push(first);
                self.flow.level = self.lists.len().saturating_sub(self.outside);
            }
            Tag::Item => self.item(),
            Tag::FootnoteDefinition(name) => {
                self.flow.gap(2);
                self.flow.lead(&format!("[{name}] "));
            }
            Tag::Table(alignments) => {
                self.flow.gap(2);
                let page = std::mem::replace(&mut self.flow, Flow::new());
                self.table = Some(OpenTable { table: Table { alignments, rows: Vec::new() }, page });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(open) = &mut self.table {
                    open.table.rows.push(Vec::new());
                }
            }
            Tag::TableCell => self.flow = Flow::new(),
            Tag::Emphasis => self.open(Mark::Italic),
            Tag::Strong => self.open(Mark::Bold),
            Tag::Strikethrough => {
                let real = self.source.get(range.clone()).is_some_and(|text| text.starts_with("~~"));
                self.strikes.push(real);
                if real { self.open(Mark::Strike) } else { self.flow.write("~") }
            }
            Tag::Link { link_type, dest_url, id, .. } | Tag::Image { link_type, dest_url, id, .. } => {
                self.definitions.use_up(&id);
                let start = self.flow.settle();
                self.links.push(OpenLink { start, url: address(link_type, &dest_url) });
            }
            _ => self.flow.gap(2),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::BlockQuote(_) => {
                self.close(&Mark::Quote);
                self.flow.gap(2);
            }
            TagEnd::Heading(_) => {
                self.close(&Mark::Bold);
                self.flow.gap(2);
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.flow.level = self.lists.len().saturating_sub(self.outside);
                self.flow.gap(if self.lists.is_empty() { 2 } else { 1 });
            }
            TagEnd::Item | TagEnd::FootnoteDefinition => {
                // An empty item keeps its marker.
                self.flow.flush_lead();
                self.flow.gap(1);
            }
            TagEnd::Table => self.end_table(),
            TagEnd::TableCell => {
                let cell = std::mem::replace(&mut self.flow, Flow::new()).rich.finish();
                if let Some(row) = self.table.as_mut().and_then(|open| open.table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {}
            TagEnd::Emphasis => self.close(&Mark::Italic),
            TagEnd::Strong => self.close(&Mark::Bold),
            TagEnd::Strikethrough => {
                if self.strikes.pop() == Some(true) {
                    self.close(&Mark::Strike)
                } else {
                    self.flow.write("~")
                }
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => self.flow.gap(2),
        }
    }

    fn item(&mut self) {
        self.flow.gap(1);
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.flow.lead(&format!("{number}. "));
                *number = number.saturating_add(1);
            }
            _ => self.flow.lead("• "),
        }
    }

    fn text(&mut self, text: &CowStr<'_>, range: &Range<usize>) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
            return;
        }
        if self.table.is_some() && text.contains('\t') {
            return self.flow.write(&text.replace('\t', " "));
        }
        let (mut from, mut at) = (range.start, 0);
        while let Some(turn) = self.turns.next_if(|turn| turn.at < range.end) {
            let until = at + turn.at.saturating_sub(from);
            self.flow.write(text.get(at..until).unwrap_or_default());
            (from, at) = (turn.at + spoilers::SIGN, until + spoilers::SIGN);
            if turn.opens { self.open(Mark::Spoiler) } else { self.close(&Mark::Spoiler) }
        }
        self.flow.write(text.get(at..).unwrap_or_default());
    }

    fn html(&mut self, html: &str) {
        let tag: String = html.chars().filter(|letter| !letter.is_whitespace()).collect();
        if ["<br>", "<br/>"].contains(&tag.to_lowercase().as_str()) {
            return self.flow.line_break();
        }
        for (index, line) in html.split('\n').enumerate() {
            if index > 0 {
                self.flow.line_break();
            }
            self.flow.write(line);
        }
    }

    fn open(&mut self, mark: Mark) {
        match self.open.iter_mut().find(|(open, ..)| *open == mark) {
            Some((_, _, depth)) => *depth += 1,
            None => {
                if mark == Mark::Quote {
                    self.flow.break_lead();
                    (self.outside, self.flow.level) = (self.lists.len(), 0);
                } else {
                    self.flow.flush_lead();
                }
                self.open.push((mark, self.flow.rich.len(), 1));
            }
        }
    }

    fn close(&mut self, mark: &Mark) {
        let Some(index) = self.open.iter().position(|(open, ..)| open == mark) else { return };
        if let Some((_, _, depth)) = self.open.get_mut(index).filter(|(_, _, depth)| *depth > 1) {
            *depth -= 1;
            return;
        }
        let (mark, start, _) = self.open.remove(index);
        if mark == Mark::Quote {
            (self.outside, self.flow.level) = (0, self.lists.len());
            return self.flow.rich.enclose(start, mark);
        }
        self.flow.rich.mark_words(start, mark);
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let code = code.trim_end();
        self.flow.gap(if self.lists.is_empty() { 2 } else { 1 });
        if !code.is_empty() {
            let start = self.flow.settle_block();
            self.flow.rich.push(code);
            self.flow.rich.mark(start, Mark::Pre { language });
        }
        self.flow.gap(if self.lists.is_empty() { 2 } else { 1 });
    }

    fn end_link(&mut self) {
        let Some(link) = self.links.pop() else { return };
        let words = self.flow.rich.text().get(link.start..).unwrap_or_default().trim().to_owned();
        if words.is_empty() {
            self.flow.write(&link.url);
        }
        // A link has no links inside.
        if !self.links.is_empty() {
            return;
        }
        if is_allowed(&link.url, self.style.schemes) {
            self.flow.rich.mark_words(link.start, Mark::Link { url: link.url });
        } else if !words.is_empty() && !names_itself(&words, &link.url) {
            self.flow.write(&format!(" ({})", link.url));
        }
    }

    fn end_table(&mut self) {
        if let Some(OpenTable { table, page }) = self.table.take() {
            self.flow = page;
            table.write(self.style.tables, &mut self.flow);
        }
        self.flow.gap(2);
    }

    fn finish(mut self) -> Rich {
        for (index, span) in std::mem::take(&mut self.definitions).left().into_iter().enumerate() {
            self.flow.gap(if index == 0 { 2 } else { 1 });
            self.html(self.source.get(span).unwrap_or_default().trim());
        }
        self.flow.flush_lead();
        self.flow.rich.finish()
    }
}

/// The language of the info string, if it is plausible.
fn language(kind: &CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(info) = kind else { return None };
    let word = info.split([' ', '\t', ',', '{']).next().unwrap_or_default();
    let name: String = word
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || "+#._-".contains(*letter))
        .take(32)
        .collect();
    (!name.is_empty()).then_some(name)
}

fn address(kind: LinkType, url: &str) -> String {
    let url: String = url.chars().filter(|letter| !letter.is_control() && *letter != UNSEEN).collect();
    let url = url.trim().replace(' ', "%20");
    if kind == LinkType::Email && !url.starts_with("mailto:") { format!("mailto:{url}") } else { url }
}

fn is_allowed(url: &str, schemes: &[&str]) -> bool {
    url.split_once(':').is_some_and(|(scheme, rest)| {
        !rest.trim_matches('/').is_empty() && schemes.contains(&scheme.to_ascii_lowercase().as_str())
    })
}

/// Whether the text of a link is its address.
fn names_itself(words: &str, url: &str) -> bool {
    url.is_empty() || url.starts_with('#') || words == url || url.strip_prefix("mailto:") == Some(words)
}
