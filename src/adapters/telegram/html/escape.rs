//! Escapes text for HTML, and measures HTML as Telegram does.

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
