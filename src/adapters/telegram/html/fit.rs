//! Renders messages within a length limit, with ever shorter layouts until one fits.

use super::write::{escape, write};
use crate::domain::LengthUnit;
use crate::render::markdown::{Style, TableLayout, rich};
use crate::render::split;

/// The longest message, in UTF-16 units after parsing.
pub const MESSAGE_LIMIT: usize = 4096;
/// The longest caption, in UTF-16 units after parsing.
pub const CAPTION_LIMIT: usize = 1024;
/// The longest piece of Markdown that should be asked to become one message.
pub const SOURCE_LIMIT: usize = 3600;

/// URL schemes that Telegram allows in links.
const SCHEMES: &[&str] = &["http", "https", "tg", "mailto"];

/// One message within Telegram's limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    pub html: String,
    /// The Markdown source, sent when the server refuses the markup.
    pub plain: String,
}

/// Renders a whole answer as messages of at most `limit` UTF-16 units, measured as Telegram does. A blank text
/// needs none.
pub fn render(markdown: &str, limit: usize) -> Vec<Rendered> {
    split(markdown, limit, LengthUnit::Utf16).iter().map(|part| render_one(part, limit)).collect()
}

/// Renders a text as one message. If neither its rendering nor its source fits, the beginning is shown.
pub fn render_one(markdown: &str, limit: usize) -> Rendered {
    let plain = beginning(&shown(markdown), limit);
    for tables in [TableLayout::Aligned, TableLayout::Compact, TableLayout::Records] {
        let rich = rich(markdown, &Style { tables, schemes: SCHEMES });
        if !rich.text().trim().is_empty() && LengthUnit::Utf16.measure(rich.text()) <= limit {
            return Rendered { html: write(&rich), plain };
        }
    }
    Rendered { html: escape(&plain), plain }
}

/// The source without what cannot be shown and the white space around it.
fn shown(markdown: &str) -> String {
    let text: String =
        markdown.chars().filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control()).collect();
    text.trim().to_owned()
}

/// As much as fits, ending in `…` if that is not all.
fn beginning(text: &str, limit: usize) -> String {
    if LengthUnit::Utf16.measure(text) <= limit {
        return text.to_owned();
    }
    let mut room = limit.saturating_sub(1);
    let fitting = text.chars().take_while(|letter| {
        let fits = letter.len_utf16() <= room;
        room = if fits { room - letter.len_utf16() } else { 0 };
        fits
    });
    let mut out: String = fitting.collect();
    if limit > 0 {
        out.push('…');
    }
    out
}
