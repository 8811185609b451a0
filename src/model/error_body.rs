//! Parses a server's error body: the message for people, and the text to search for phrases.

use serde_json::Value;

/// Longest server message shown to an operator.
const SHOWN_WORDS: usize = 400;

/// A parsed error body.
pub(super) struct ErrorBody {
    /// The message for people.
    pub(super) words: String,
    /// The whole text in lower case, to search for phrases.
    text: String,
    /// A status inside the body.
    pub(super) code: Option<u16>,
}

impl ErrorBody {
    /// Parses a body, which may be JSON, a web page or empty.
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

    /// Whether it contains any of these phrases, which are in lower case.
    pub(super) fn has(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.text.contains(phrase))
    }
}

/// The text of a body that is not JSON; of a web page, without the tags.
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

/// One line of limited length.
pub(super) fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_WORDS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
