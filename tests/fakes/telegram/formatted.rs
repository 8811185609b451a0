//! Text with entities, as the server stores it: offsets in UTF-16 units, ends trimmed, mentions and links detected.
//! Knows no chats.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Value, json};

use super::{html, markdown};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Formatted {
    pub(crate) text: String,
    /// The entities, in the wire format.
    pub(crate) entities: Vec<Value>,
}

/// The length as the server counts it.
pub(crate) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// An entity in the wire format.
pub(crate) fn entity(kind: &str, offset: usize, length: usize) -> Value {
    json!({ "type": kind, "offset": offset, "length": length })
}

impl Formatted {
    /// Parses a text in this parse mode; the error is the text after `can't parse entities: `.
    pub(crate) fn parse(text: &str, mode: &str) -> Result<Self, String> {
        let parsed = match mode.to_ascii_lowercase().as_str() {
            "html" => html::parse(text)?,
            "markdownv2" => markdown::parse(text)?,
            other => return Err(format!("unsupported parse_mode {other}")),
        };
        Ok(parsed.tidied())
    }

    /// A text with explicit entities.
    pub(crate) fn with_entities(text: &str, entities: Vec<Value>) -> Result<Self, String> {
        let length = units(text);
        for entity in &entities {
            let end =
                entity["offset"].as_u64().zip(entity["length"].as_u64()).map(|(at, length)| at + length);
            if entity["type"].as_str().is_none() || end.is_none_or(|end| end > length as u64) {
                return Err(format!("entity {entity} is out of the text"));
            }
        }
        Ok(Self { text: text.to_owned(), entities }.tidied())
    }

    /// A text typed by a person: no markup, but the server detects mentions, commands and links.
    pub(crate) fn typed(text: &str) -> Self {
        Self { text: text.to_owned(), entities: Vec::new() }.tidied()
    }

    /// Trims the ends like the server, which keeps white space inside an entity at the start.
    fn tidied(mut self) -> Self {
        self.text.retain(|c| c != '\r');
        let first = self.entities.iter().map(offset).min().unwrap_or(usize::MAX);
        let blank = self.text.chars().take_while(|c| matches!(c, ' ' | '\n')).count().min(first);
        self.text = self.text.chars().skip(blank).collect();
        self.text.truncate(self.text.trim_end_matches([' ', '\n']).len());
        let end = units(&self.text);
        self.entities.retain_mut(|entity| {
            let at = offset(entity) - blank;
            let length = length(entity).min(end.saturating_sub(at));
            entity["offset"] = json!(at);
            entity["length"] = json!(length);
            length > 0
        });
        let found = detect(&self.text);
        let free = |one: &Value| !self.entities.iter().any(|other| fixed(other) && overlap(one, other));
        let found: Vec<Value> = found.into_iter().filter(free).collect();
        self.entities.extend(found);
        self.entities.sort_by_key(|entity| (offset(entity), std::cmp::Reverse(length(entity))));
        self
    }
}

fn offset(entity: &Value) -> usize {
    entity["offset"].as_u64().and_then(|at| at.try_into().ok()).unwrap_or_default()
}

fn length(entity: &Value) -> usize {
    entity["length"].as_u64().and_then(|length| length.try_into().ok()).unwrap_or_default()
}

/// Whether the server detects nothing inside it.
fn fixed(entity: &Value) -> bool {
    let found = ["code", "pre", "text_link", "mention", "bot_command", "url", "hashtag", "email"];
    entity["type"].as_str().is_some_and(|kind| found.contains(&kind))
}

fn overlap(one: &Value, other: &Value) -> bool {
    offset(one) < offset(other) + length(other) && offset(other) < offset(one) + length(one)
}

static FOUND: LazyLock<Regex> = LazyLock::new(|| {
    let url = r#"(?P<url>https?://[^\s<>"]*[^\s<>".,!?:;)\]])"#;
    let email = r"(?P<email>[A-Za-z0-9._+-]+@[A-Za-z0-9-]+\.[A-Za-z]{2,})";
    let command = r"(?P<bot_command>/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?)";
    let mention = r"(?P<mention>@[A-Za-z0-9_]{3,32})";
    let hashtag = r"(?P<hashtag>#[\p{L}\p{N}_]+)";
    Regex::new(&[url, email, command, mention, hashtag].join("|")).unwrap()
});

/// The entities that the server detects in plain text.
pub(crate) fn detect(text: &str) -> Vec<Value> {
    FOUND.captures_iter(text).filter_map(|found| found_entity(text, &found)).collect()
}

fn found_entity(text: &str, found: &Captures<'_>) -> Option<Value> {
    let whole = found.get(0)?;
    let kind = ["url", "email", "bot_command", "mention", "hashtag"]
        .into_iter()
        .find(|kind| found.name(kind).is_some())?;
    let before = text.get(..whole.start())?;
    let after = text.get(whole.end()..)?.chars().next();
    let glued = |c: char| c.is_alphanumeric() || c == '_';
    let apart = match kind {
        "bot_command" => {
            !before.ends_with(|c| glued(c) || c == '/' || c == '<') && after.is_none_or(|c| c != '/')
        }
        "mention" | "hashtag" => {
            !before.ends_with(glued) && !after.is_some_and(|c| c.is_ascii_alphanumeric())
        }
        _ => true,
    };
    apart.then(|| entity(kind, units(before), units(whole.as_str())))
}
