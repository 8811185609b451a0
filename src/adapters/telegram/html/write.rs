//! Writes marked text as properly nested tags, also for overlapping marks; escapes it, and measures it as Telegram does.

use crate::render::markdown::{Mark, Rich, Span};

/// Writes a text as Telegram's HTML.
pub(super) fn write(rich: &Rich) -> String {
    let mut writer = HtmlWriter { out: String::with_capacity(rich.text().len() * 2), tags: Vec::new() };
    let mut waiting = rich.spans().iter().peekable();
    // Marks on the words at hand, in the order they began.
    let mut active: Vec<&Span> = Vec::new();
    let mut at = 0;
    while at < rich.text().len() {
        active.retain(|span| span.range.end > at);
        while let Some(span) = waiting.next_if(|span| span.range.start <= at) {
            active.push(span);
        }
        let ends = active.iter().map(|span| span.range.end);
        let starts = waiting.peek().map(|span| span.range.start);
        let until = ends.chain(starts).min().unwrap_or(rich.text().len());
        writer.words(rich.text().get(at..until).unwrap_or_default(), &shown(&active));
        at = until;
    }
    writer.finish()
}

/// The marks that Telegram shows together: nothing is inside of code, and a link is more than code.
fn shown<'a>(active: &[&'a Span]) -> Vec<&'a Span> {
    let has = |wanted: fn(&Mark) -> bool| active.iter().any(|span| wanted(&span.mark));
    let pre = has(|mark| matches!(mark, Mark::Pre { .. }));
    let link = has(|mark| matches!(mark, Mark::Link { .. }));
    let code = has(|mark| matches!(mark, Mark::Code)) && !link;
    let keeps = |mark: &Mark| match mark {
        Mark::Quote => true,
        Mark::Pre { .. } => pre,
        Mark::Code => code && !pre,
        _ => !pre && !code,
    };
    active.iter().copied().filter(|span| keeps(&span.mark)).collect()
}

#[derive(Debug)]
struct HtmlWriter<'a> {
    out: String,
    tags: Vec<&'a Span>,
}

impl<'a> HtmlWriter<'a> {
    fn words(&mut self, text: &str, spans: &[&'a Span]) {
        let same =
            self.tags.iter().zip(spans).take_while(|(open, wanted)| std::ptr::eq(**open, **wanted)).count();
        self.close_to(same);
        for span in spans.iter().skip(same) {
            self.open(&span.mark);
            self.tags.push(span);
        }
        escape_into(text, &mut self.out);
    }

    fn close_to(&mut self, depth: usize) {
        while self.tags.len() > depth {
            if let Some(span) = self.tags.pop() {
                self.out.push_str(closing(&span.mark));
            }
        }
    }

    fn open(&mut self, mark: &Mark) {
        match mark {
            Mark::Link { url } => {
                self.out.push_str("<a href=\"");
                escape_into(url, &mut self.out);
                self.out.push_str("\">");
            }
            Mark::Pre { language: Some(language) } => {
                self.out.push_str("<pre><code class=\"language-");
                escape_into(language, &mut self.out);
                self.out.push_str("\">");
            }
            Mark::Pre { language: None } => self.out.push_str("<pre>"),
            Mark::Quote => self.out.push_str("<blockquote>"),
            Mark::Spoiler => self.out.push_str("<tg-spoiler>"),
            Mark::Bold => self.out.push_str("<b>"),
            Mark::Italic => self.out.push_str("<i>"),
            Mark::Strike => self.out.push_str("<s>"),
            Mark::Code => self.out.push_str("<code>"),
        }
    }

    fn finish(mut self) -> String {
        self.close_to(0);
        self.out
    }
}

fn closing(mark: &Mark) -> &'static str {
    match mark {
        Mark::Link { .. } => "</a>",
        Mark::Pre { language: Some(_) } => "</code></pre>",
        Mark::Pre { language: None } => "</pre>",
        Mark::Quote => "</blockquote>",
        Mark::Spoiler => "</tg-spoiler>",
        Mark::Bold => "</b>",
        Mark::Italic => "</i>",
        Mark::Strike => "</s>",
        Mark::Code => "</code>",
    }
}

/// Escapes a text. Characters that cannot be shown are left out.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape_into(text, &mut out);
    out
}

pub(super) fn escape_into(text: &str, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(letter),
            letter if letter.is_control() => {}
            letter => out.push(letter),
        }
    }
}

/// The visible length of HTML in UTF-16 units: tags do not count, an entity counts as its character.
pub fn visible_len(html: &str) -> usize {
    let (mut count, mut rest) = (0, html);
    while let Some(letter) = rest.chars().next() {
        let (units, taken) = match letter {
            '<' => (0, rest.find('>').map_or(rest.len(), |end| end + 1)),
            '&' => (1, entity(rest).unwrap_or(1)),
            letter => (letter.len_utf16(), letter.len_utf8()),
        };
        count += units;
        rest = rest.get(taken..).unwrap_or_default();
    }
    count
}

/// The length of the entity at the beginning of a text.
fn entity(text: &str) -> Option<usize> {
    ["&lt;", "&gt;", "&amp;", "&quot;"].iter().find(|name| text.starts_with(**name)).map(|name| name.len())
}
