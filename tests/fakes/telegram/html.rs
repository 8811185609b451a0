//! The server's HTML, parsed as strictly as by the real one, with its error messages.

use serde_json::json;

use super::formatted::{Formatted, entity, units};

const TAGS: [&str; 17] = [
    "a",
    "b",
    "strong",
    "i",
    "em",
    "s",
    "strike",
    "del",
    "u",
    "ins",
    "tg-spoiler",
    "tg-emoji",
    "tg-time",
    "span",
    "pre",
    "code",
    "blockquote",
];

/// Parses markup into text and entities.
pub(crate) fn parse(html: &str) -> Result<Formatted, String> {
    let mut parser = Parser { html, at: 0, out: Formatted::default(), offset: 0, open: Vec::new() };
    while let Some(c) = parser.peek() {
        match c {
            '<' if parser.rest().starts_with("</") => parser.end_tag()?,
            '<' => parser.start_tag()?,
            '&' => {
                let decoded = parser.reference();
                parser.push(decoded);
            }
            c => {
                parser.bump();
                parser.push(c);
            }
        }
    }
    match parser.open.last() {
        Some(open) => Err(format!("Can't find end tag corresponding to start tag \"{}\"", open.name)),
        None => Ok(parser.out),
    }
}

struct Open {
    name: String,
    /// The value of its attributes: a link, a language, a class.
    argument: Option<String>,
    offset: usize,
    begin: usize,
}

struct Parser<'a> {
    html: &'a str,
    at: usize,
    out: Formatted,
    offset: usize,
    open: Vec<Open>,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.html.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    fn push(&mut self, c: char) {
        self.out.text.push(c);
        self.offset += c.len_utf16();
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let taken: String = self.rest().chars().take_while(|c| wanted(*c)).collect();
        self.at += taken.len();
        taken
    }

    fn skip_space(&mut self) {
        self.take_while(|c| c.is_ascii_whitespace());
    }

    /// The character of a reference; an unknown one is a literal ampersand.
    fn reference(&mut self) -> char {
        let begin = self.at;
        self.bump();
        let decoded = if self.rest().starts_with('#') {
            self.bump();
            let radix = if self.rest().starts_with('x') { 16 } else { 10 };
            if radix == 16 {
                self.bump();
            }
            let digits = self.take_while(|c| c.is_digit(radix));
            u32::from_str_radix(&digits, radix).ok().filter(|code| *code > 0).and_then(char::from_u32)
        } else {
            match self.take_while(|c| c.is_ascii_alphabetic()).as_str() {
                "lt" => Some('<'),
                "gt" => Some('>'),
                "amp" => Some('&'),
                "quot" => Some('"'),
                _ => None,
            }
        };
        if decoded.is_none() {
            self.at = begin + 1;
        } else if self.peek() == Some(';') {
            self.bump();
        }
        decoded.unwrap_or('&')
    }

    fn start_tag(&mut self) -> Result<(), String> {
        let begin = self.at;
        self.bump();
        let name = self.take_while(|c| !c.is_ascii_whitespace() && c != '>').to_ascii_lowercase();
        if self.peek().is_none() {
            return Err(format!("Unclosed start tag at byte offset {begin}"));
        }
        if !TAGS.contains(&name.as_str()) {
            return Err(format!("Unsupported start tag \"{name}\" at byte offset {begin}"));
        }
        let mut argument = None;
        loop {
            self.skip_space();
            match self.peek() {
                Some('>') => break self.bump(),
                None => return Err(format!("Unclosed start tag at byte offset {begin}")),
                Some(_) => {
                    let (attribute, value) = self.attribute(&name, begin)?;
                    argument = meaning(&name, &attribute, value).or(argument);
                }
            }
        }
        if name == "span" && argument.as_deref() != Some("spoiler") {
            return Err(format!("Tag \"span\" must have class \"tg-spoiler\" at byte offset {begin}"));
        }
        let (offset, begin) = (self.offset, self.out.text.len());
        self.open.push(Open { name, argument, offset, begin });
        Ok(())
    }

    fn attribute(&mut self, tag: &str, begin: usize) -> Result<(String, String), String> {
        let name = self.take_while(|c| !c.is_ascii_whitespace() && c != '=' && c != '>');
        if name.is_empty() {
            return Err(format!("Empty attribute name in the tag \"{tag}\" at byte offset {begin}"));
        }
        self.skip_space();
        if self.peek() != Some('=') {
            if tag == "blockquote" && name == "expandable" {
                return Ok((name, String::new()));
            }
            return Err(format!(
                "Expected equal sign in declaration of an attribute of the tag \"{tag}\" at byte offset {begin}"
            ));
        }
        self.bump();
        self.skip_space();
        let value = match self.peek() {
            None => return Err(format!("Unclosed start tag \"{tag}\" at byte offset {begin}")),
            Some(quote @ ('"' | '\'')) => self.quoted(quote),
            Some(_) => {
                let token = self.at;
                let value = self.take_while(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-');
                if !self.peek().is_some_and(|c| c.is_ascii_whitespace() || c == '>') {
                    return Err(format!("Unexpected end of name token at byte offset {token}"));
                }
                value.to_ascii_lowercase()
            }
        };
        Ok((name, value))
    }

    fn quoted(&mut self, quote: char) -> String {
        self.bump();
        let mut value = String::new();
        while let Some(c) = self.peek() {
            if c == quote {
                self.bump();
                break;
            }
            if c == '&' {
                value.push(self.reference());
            } else {
                self.bump();
                value.push(c);
            }
        }
        value
    }

    fn end_tag(&mut self) -> Result<(), String> {
        let begin = self.at;
        let Some(open) = self.open.pop() else {
            return Err(format!("Unexpected end tag at byte offset {begin}"));
        };
        self.at += 2;
        let name = self.take_while(|c| !c.is_ascii_whitespace() && c != '>').to_ascii_lowercase();
        self.skip_space();
        if self.peek() != Some('>') {
            return Err(format!("Unclosed end tag at byte offset {begin}"));
        }
        self.bump();
        if !name.is_empty() && name != open.name {
            let expected = open.name;
            return Err(format!(
                "Unmatched end tag at byte offset {begin}, expected \"</{expected}>\", found \"</{name}>\""
            ));
        }
        if self.offset > open.offset { self.close(open) } else { Ok(()) }
    }

    fn close(&mut self, open: Open) -> Result<(), String> {
        let kind = match open.name.as_str() {
            "b" | "strong" => "bold",
            "i" | "em" => "italic",
            "u" | "ins" => "underline",
            "s" | "strike" | "del" => "strikethrough",
            "tg-spoiler" | "span" => "spoiler",
            "tg-emoji" => "custom_emoji",
            "tg-time" => "date_time",
            "a" => "text_link",
            "blockquote" if open.argument.is_some() => "expandable_blockquote",
            other => other,
        };
        let mut made = entity(kind, open.offset, self.offset - open.offset);
        match kind {
            "custom_emoji" => {
                let id = open.argument.filter(|id| id.parse::<i64>().is_ok_and(|id| id != 0));
                let id = id.ok_or("Invalid custom emoji identifier specified")?;
                made["custom_emoji_id"] = json!(id);
            }
            "text_link" => {
                let said = self.out.text.get(open.begin..).unwrap_or_default();
                let Some(url) = checked_link(open.argument.as_deref().unwrap_or(said)) else { return Ok(()) };
                match url.strip_prefix("tg://user?id=").and_then(|id| id.parse::<i64>().ok()) {
                    Some(id) => {
                        made["type"] = json!("text_mention");
                        made["user"] = json!({ "id": id, "is_bot": false, "first_name": said });
                    }
                    None => made["url"] = json!(url),
                }
            }
            "pre" | "code" if self.join_code(&open) => return Ok(()),
            "code" => {
                if let Some(language) = open.argument {
                    made["language"] = json!(language);
                }
            }
            _ => {}
        }
        self.out.entities.push(made);
        if open_code_is_outermost(&self.open) {
            // A language belongs to a block; inline code has none.
            for entity in self.out.entities.iter_mut().filter(|entity| entity["type"] == "code") {
                entity.as_object_mut().unwrap().remove("language");
            }
        }
        Ok(())
    }

    /// `<pre><code class="language-x">` is one block in a language, not two entities.
    fn join_code(&mut self, open: &Open) -> bool {
        let length = self.offset - open.offset;
        let Some(last) = self.out.entities.last_mut() else { return false };
        let same = last["offset"] == json!(open.offset) && last["length"] == json!(length);
        let inner_code = open.name == "pre" && last["type"] == "code" && last.get("language").is_some();
        if same && inner_code {
            last["type"] = json!("pre");
            return true;
        }
        let inner_pre = open.name == "code" && last["type"] == "pre" && open.argument.is_some();
        if same && inner_pre {
            last["language"] = json!(open.argument);
            return true;
        }
        false
    }
}

fn open_code_is_outermost(open: &[Open]) -> bool {
    !open.iter().any(|open| open.name == "pre")
}

/// The value of an attribute that the server uses.
fn meaning(tag: &str, attribute: &str, value: String) -> Option<String> {
    match (tag, attribute) {
        ("a", "href") | ("tg-emoji", "emoji-id") | ("tg-time", "unix") | ("blockquote", "expandable") => {
            Some(value)
        }
        ("code", "class") => value.strip_prefix("language-").map(str::to_owned),
        ("span", "class") => value.strip_prefix("tg-").map(str::to_owned),
        _ => None,
    }
}

/// A link that the server keeps; of any other only the text stays.
fn checked_link(url: &str) -> Option<String> {
    let url = url.trim();
    let known = ["http://", "https://", "tg://", "ton://", "tonsite://", "mailto:"];
    if known
        .iter()
        .any(|scheme| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
    {
        return (units(url) > 8).then(|| url.to_owned());
    }
    let host = url.split(['/', '?', '#']).next().unwrap_or_default();
    let looks_like_a_host = host.contains('.') && !host.starts_with('.') && !host.contains([' ', ':', '@']);
    looks_like_a_host.then(|| format!("http://{url}"))
}
