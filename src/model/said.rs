//! What a server says when it refuses: the words for people, and the phrases to look for.

use serde_json::Value;

/// How much of a server's own words an operator is shown.
const SHOWN_WORDS: usize = 400;

/// An error body, taken apart.
pub(super) struct Said {
    /// What it says to people.
    pub(super) words: String,
    /// Everything it says, in lower case, to look for phrases.
    text: String,
    /// A status that stands in the body.
    pub(super) code: Option<u16>,
}

impl Said {
    /// Takes apart what came, be it JSON, a web page or nothing.
    pub(super) fn new(body: &str) -> Self {
        let Ok(Value::Object(object)) = serde_json::from_str::<Value>(body) else {
            return Self { words: plain_words(body), text: body.to_lowercase(), code: None };
        };
        let error = object.get("error").filter(|error| !error.is_null());
        let inner = error.and_then(Value::as_object).unwrap_or(&object);
        let message = ["message", "msg", "detail"].iter().find_map(|key| inner.get(*key)).or(error);
        let words = match message {
            Some(Value::String(text)) => shorten(text),
            Some(other) => shorten(&other.to_string()),
            None => shorten(body),
        };
        let code = ["code", "status"].iter().find_map(|key| match inner.get(*key)? {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        });
        let code = code.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
        Self { words, text: body.to_lowercase(), code }
    }

    /// Whether any of these stands in it. The phrases are in lower case.
    pub(super) fn has(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.text.contains(phrase))
    }
}

/// A body that is not JSON, often a web page: its words without the tags.
fn plain_words(body: &str) -> String {
    if !body.trim_start().starts_with('<') {
        return if body.trim().is_empty() { "no words".to_owned() } else { shorten(body) };
    }
    let mut words = String::new();
    let mut in_tag = false;
    for c in body.chars() {
        match c {
            '<' => in_tag = true,
            '>' => {
                in_tag = false;
                words.push(' ');
            }
            _ if !in_tag => words.push(c),
            _ => {}
        }
    }
    format!("a web page: {}", shorten(&words))
}

/// One line, not too long.
pub(super) fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_WORDS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
