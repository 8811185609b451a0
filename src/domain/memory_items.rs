//! The items of a memory file: `- text <!-- id at author -->`. A line that begins with two spaces goes on with the item
//! above it. Time and author are optional; an item without a comment was written by hand and has no id. Pure.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::short_digest;

/// What may not stand in a field of the comment. Text of other scripts stays readable: only ASCII is encoded.
const RESERVED: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'<').add(b'>');

const COMMENT: &str = "<!-- ";
const COMMENT_END: &str = " -->";

/// How many hexadecimal digits the handle of an item without an id has.
const HANDLE_DIGITS: usize = 6;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryItem {
    pub id: Option<String>,
    /// When it was said or written, in milliseconds.
    pub at: Option<i64>,
    pub author: Option<String>,
    pub text: String,
}

impl MemoryItem {
    /// What people and the model call the item: its id, or what its text gives for an item that was written by hand.
    pub fn handle(&self) -> String {
        self.id.clone().unwrap_or_else(|| {
            let digits = short_digest(self.text.as_bytes(), 32);
            format!("h{}", digits.chars().take(HANDLE_DIGITS).collect::<String>())
        })
    }

    /// Whether both say the same, apart from spaces and letter case.
    pub fn says(&self, text: &str) -> bool {
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        plain(&self.text) == plain(text)
    }

    /// The lines of the item, with the end of the last one.
    pub fn to_lines(&self) -> String {
        let mut out = String::with_capacity(self.text.len().saturating_add(64));
        out.push_str("- ");
        for (number, line) in self.text.split('\n').enumerate() {
            if number > 0 {
                out.push_str("\n  ");
            }
            out.push_str(line);
        }
        if let Some(id) = &self.id {
            out.push(' ');
            out.push_str(COMMENT);
            encode_into(&mut out, id);
            if let Some(at) = self.at {
                out.push(' ');
                out.push_str(&at.to_string());
                if let Some(author) = self.author.as_deref().filter(|name| !name.is_empty()) {
                    out.push(' ');
                    encode_into(&mut out, author);
                }
            }
            out.push_str(COMMENT_END);
        }
        out.push('\n');
        out
    }
}

/// Percent-encodes what would end the field or the comment.
fn encode_into(out: &mut String, field: &str) {
    for c in field.chars() {
        if c.is_ascii() {
            out.extend(utf8_percent_encode(c.encode_utf8(&mut [0; 4]), RESERVED));
        } else if c.is_whitespace() || c.is_control() {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(c);
        }
    }
}

/// The blocks of lines that are one item each, as they stand in the file. Headings and text outside of items are left
/// out.
pub fn item_blocks(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut begin: Option<usize> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let starts = line.starts_with("- ") || line.starts_with("* ");
        let goes_on = begin.is_some() && (line.starts_with("  ") || line.starts_with('\t'));
        if !goes_on {
            out.extend(begin.take().and_then(|from| text.get(from..at)));
            begin = starts.then_some(at);
        }
        at = at.saturating_add(line.len());
    }
    out.extend(begin.and_then(|from| text.get(from..at)));
    out
}

pub fn read_item(block: &str) -> MemoryItem {
    let block = block.strip_suffix('\n').unwrap_or(block);
    let body = block.strip_prefix("- ").or_else(|| block.strip_prefix("* ")).unwrap_or(block);
    let (body, comment) = split_comment(body);
    let text = if body.contains('\n') { body.replace("\n  ", "\n") } else { body.to_owned() };
    let mut fields = comment.unwrap_or_default().split(' ').map(decode);
    let id = fields.next().filter(|id| !id.is_empty());
    let at = fields.next().and_then(|at| at.parse().ok());
    MemoryItem { id, at, author: fields.next(), text }
}

/// The text of an item and the comment at its end.
fn split_comment(body: &str) -> (&str, Option<&str>) {
    let found = body.strip_suffix(COMMENT_END).and_then(|rest| rest.rsplit_once(COMMENT));
    match found {
        Some((text, comment)) if comment.split(' ').count() <= 3 && !comment.contains(['<', '>', '\n']) => {
            (text.strip_suffix(' ').unwrap_or(text), Some(comment))
        }
        _ => (body, None),
    }
}

fn decode(field: &str) -> String {
    percent_decode_str(field).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item(id: &str, at: i64, author: &str, text: &str) -> MemoryItem {
        MemoryItem { id: Some(id.into()), at: Some(at), author: Some(author.into()), text: text.into() }
    }

    #[test]
    fn items_are_written_as_a_list() {
        assert_eq!(
            item("D1:3", 7, "Ann Lee", "likes tea").to_lines(),
            "- likes tea <!-- D1:3 7 Ann%20Lee -->\n"
        );
        let note = MemoryItem { id: Some("k3f9".into()), text: "一\n二".into(), ..MemoryItem::default() };
        assert_eq!(note.to_lines(), "- 一\n  二 <!-- k3f9 -->\n");
    }

    #[test]
    fn a_file_written_by_hand_is_read() {
        let file = "# Ann\n\nsome words\n\n- likes tea\n- hates\n  milk\n* other\n\n## More\n- last <!-- k1 -->\n- no end";
        let items: Vec<MemoryItem> = item_blocks(file).into_iter().map(read_item).collect();
        let texts: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
        assert_eq!(texts, ["likes tea", "hates\nmilk", "other", "last", "no end"]);
        assert_eq!(items[3].id.as_deref(), Some("k1"));
        assert_eq!(items[0], MemoryItem { text: "likes tea".into(), ..MemoryItem::default() });
    }

    #[test]
    fn a_comment_of_somebody_else_is_text() {
        for text in ["- a <!-- one two three four -->", "- a <!--x-->", "- a --> b"] {
            assert_eq!(read_item(text).id, None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_item_is_read_as_it_was_written(
            id in "\\PC{1,12}", at in any::<i64>(), author in "\\PC{1,12}", text in "[^\r]{0,60}", more in "[^\r]{0,60}",
        ) {
            let first = item(&id, at, &author, &text);
            let second = item("k", 1, "b", &more);
            let file = first.to_lines() + &second.to_lines();
            let read: Vec<MemoryItem> = item_blocks(&file).into_iter().map(read_item).collect();
            prop_assert_eq!(read, vec![first, second]);
        }
    }
}
