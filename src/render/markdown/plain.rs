//! Markdown as plain text.

use super::rich::Mark;
use super::table::TableLayout;
use super::walk::{Style, rich};

/// The plain text of a Markdown text: no emphasis, links followed by their address, quotes with `> `.
pub fn plain(markdown: &str, tables: TableLayout) -> String {
    let rich = rich(markdown, &Style { tables, schemes: &[] });
    let mut quotes =
        rich.spans().iter().filter(|span| span.mark == Mark::Quote).map(|span| span.range.clone()).peekable();
    let mut out = String::with_capacity(rich.text().len());
    let mut at = 0;
    for line in rich.text().split_inclusive('\n') {
        // A quote inside a list begins after the indentation.
        let end = at + line.len();
        while quotes.next_if(|quote| quote.end <= at).is_some() {}
        if quotes.peek().is_some_and(|quote| quote.start < end) {
            out.push_str("> ");
        }
        out.push_str(line);
        at = end;
    }
    out
}
