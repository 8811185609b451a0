//! Parses message content: the text with mentions resolved to names, and the attached files. Content that is not text
//! is described briefly. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A mention in a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mention {
    /// The placeholder in the text: `@_user_1`.
    pub(super) key: String,
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// Mentions the agent.
    pub(super) mine: bool,
}

/// A file attached to a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Resource {
    pub(super) key: String,
    pub(super) kind: ResourceKind,
    pub(super) name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ResourceKind {
    Image,
    File,
    Audio,
    Video,
}

impl ResourceKind {
    /// The platform's `type` parameter for the download.
    pub(super) const fn wire(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::File | Self::Audio | Self::Video => "file",
        }
    }

    /// The file name where the message has none.
    pub(super) const fn default_name(self) -> &'static str {
        match self {
            Self::Image => "image.png",
            Self::File => "file",
            Self::Audio => "voice.opus",
            Self::Video => "video.mp4",
        }
    }
}

/// The parsed content of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedContent {
    pub(super) text: String,
    /// The text with strike-through, code and headings as Markdown, if there is such formatting.
    pub(super) marked_up: Option<String>,
    pub(super) resources: Vec<Resource>,
    /// The text itself mentions the agent, as in a post.
    pub(super) mentions_me: bool,
    /// A bundle of forwarded messages, which have to be looked up.
    pub(super) bundle: bool,
}

/// Parses the content of a message of this kind. `me` is the agent's own open id.
pub(super) fn read_content(kind: &str, content: &str, mentions: &[Mention], me: &str) -> ParsedContent {
    let Ok(json) = serde_json::from_str::<Value>(content) else {
        let text = if content.trim().is_empty() { described(kind, None) } else { content.to_owned() };
        return ParsedContent { text: with_names(&text, mentions), ..ParsedContent::default() };
    };
    let text = |key: &str| json.get(key).and_then(Value::as_str).unwrap_or_default();
    let words = |text: String| ParsedContent { text, ..ParsedContent::default() };
    match kind {
        "text" => words(with_names(text("text"), mentions)),
        "post" => read_post(&json, mentions, me),
        "image" => file(text("image_key"), ResourceKind::Image, None),
        "file" => file(text("file_key"), ResourceKind::File, Some(text("file_name"))),
        "audio" => file(text("file_key"), ResourceKind::Audio, None),
        "media" => file(text("file_key"), ResourceKind::Video, Some(text("file_name"))),
        "merge_forward" => ParsedContent { bundle: true, ..words(described(kind, None)) },
        "sticker" => words(described(kind, None)),
        "share_chat" => words(described("shared group", Some(text("chat_id")))),
        "share_user" => words(described("shared contact", Some(text("user_id")))),
        "location" => words(described("location", Some(text("name")))),
        "interactive" => words(read_card(&json)),
        other => words(described(other, json.get("text").and_then(Value::as_str))),
    }
}

fn file(key: &str, kind: ResourceKind, name: Option<&str>) -> ParsedContent {
    if key.is_empty() {
        return ParsedContent { text: described("file without a key", None), ..ParsedContent::default() };
    }
    let name = name.filter(|name| !name.trim().is_empty()).map(str::to_owned);
    ParsedContent {
        resources: vec![Resource { key: key.to_owned(), kind, name }],
        ..ParsedContent::default()
    }
}

fn described(kind: &str, what: Option<&str>) -> String {
    let kind: String = kind.chars().take(40).collect::<String>().replace('_', " ");
    let kind = if kind.is_empty() { "message".to_owned() } else { kind };
    match what.filter(|what| !what.trim().is_empty()) {
        Some(what) => format!("[{kind}: {what}]"),
        None => format!("[{kind}]"),
    }
}

/// Replaces each mention's placeholder by the name, and removes those of the agent.
pub(super) fn with_names(text: &str, mentions: &[Mention]) -> String {
    let mut keyed: Vec<&Mention> = mentions.iter().filter(|mention| !mention.key.is_empty()).collect();
    // `@_user_1` is a prefix of `@_user_10`.
    keyed.sort_by_key(|mention| std::cmp::Reverse(mention.key.len()));
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(letter) = rest.chars().next() {
        if let Some((mention, after)) =
            keyed.iter().find_map(|mention| Some((mention, rest.strip_prefix(mention.key.as_str())?)))
        {
            if mention.mine {
                // Removes the space after the mention as well.
                rest = after.strip_prefix([' ', '\u{a0}']).unwrap_or(after);
            } else {
                out.push('@');
                out.push_str(if mention.name.is_empty() { "someone" } else { &mention.name });
                rest = after;
            }
            continue;
        }
        if let Some(after) = rest.strip_prefix("@_all") {
            out.push_str("@all");
            rest = after;
            continue;
        }
        out.push(letter);
        rest = rest.strip_prefix(letter).unwrap_or_default();
    }
    out.trim().to_owned()
}

/// Parses a post: a title, and lines of pieces. A received post has no language level; a sent one has.
fn read_post(json: &Value, mentions: &[Mention], me: &str) -> ParsedContent {
    let body = match json.get("content") {
        Some(_) => json,
        None => json.as_object().and_then(|languages| languages.values().next()).unwrap_or(json),
    };
    let mut content = ParsedContent::default();
    let title = body.get("title").and_then(Value::as_str).unwrap_or_default();
    let mut lines: Vec<String> = (!title.is_empty()).then(|| title.to_owned()).into_iter().collect();
    let mut marked: Vec<String> = lines.iter().map(|title| format!("# {title}")).collect();
    for line in body.get("content").and_then(Value::as_array).into_iter().flatten() {
        let pieces = line.as_array().map(Vec::as_slice).unwrap_or_default();
        let (mut words, mut signs) = (String::new(), String::new());
        for piece in pieces {
            let text = read_piece(piece, mentions, me, &mut content);
            signs.push_str(&mark_up(piece, &text));
            words.push_str(&text);
        }
        lines.push(words.trim_end().to_owned());
        marked.push(signs.trim_end().to_owned());
    }
    content.text = with_names(lines.join("\n").trim(), mentions);
    let marked = with_names(marked.join("\n").trim(), mentions);
    content.marked_up = (marked != content.text).then_some(marked);
    content
}

/// A piece of a post with its formatting as Markdown. An unknown kind becomes code, because it may be a quotation.
fn mark_up(piece: &Value, text: &str) -> String {
    let tag = piece.get("tag").and_then(Value::as_str).unwrap_or_default();
    let styles = piece.get("style").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let has = |name: &str| styles.iter().any(|style| style == name);
    match tag {
        _ if text.trim().is_empty() => text.to_owned(),
        "text" | "md" | "a" | "at" | "img" | "media" | "emotion" | "hr" | "code_block" => {
            let emphasis = ["bold", "italic", "underline", "lineThrough"];
            let other = styles.iter().any(|style| !emphasis.iter().any(|known| style == known));
            match (has("lineThrough"), other) {
                (true, _) => format!("~~{text}~~"),
                (false, true) => format!("```{text}```"),
                (false, false) => text.to_owned(),
            }
        }
        _ => format!("```{text}```"),
    }
}

fn read_piece(piece: &Value, mentions: &[Mention], me: &str, content: &mut ParsedContent) -> String {
    let text = |key: &str| piece.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut keep = |key: &str, kind| {
        let key = text(key);
        if !key.is_empty() {
            content.resources.push(Resource { key: key.to_owned(), kind, name: None });
        }
    };
    match text("tag") {
        "text" | "md" => text("text").to_owned(),
        "a" => match (text("text"), text("href")) {
            (words, "") => words.to_owned(),
            ("", href) => href.to_owned(),
            (words, href) if words == href => href.to_owned(),
            (words, href) => format!("[{words}]({href})"),
        },
        "at" => {
            let id = text("user_id");
            let known =
                mentions.iter().find(|mention| mention.key == id || mention.id.as_deref() == Some(id));
            let mine = known.map_or(!me.is_empty() && id == me, |mention| mention.mine);
            if mine {
                content.mentions_me = true;
                return String::new();
            }
            let name = known.map_or(text("user_name"), |mention| mention.name.as_str());
            match (id, name) {
                ("all" | "@_all", _) => "@all".to_owned(),
                (_, "") => "@someone".to_owned(),
                (_, name) => format!("@{name}"),
            }
        }
        "img" => {
            keep("image_key", ResourceKind::Image);
            String::new()
        }
        "media" => {
            keep("file_key", ResourceKind::Video);
            String::new()
        }
        "emotion" => format!("[{}]", text("emoji_type")),
        "hr" => "---".to_owned(),
        "code_block" => format!("```{}\n{}\n```", text("language").to_lowercase(), text("text").trim_end()),
        _ => text("text").to_owned(),
    }
}

/// The text of a card from another app: the platform delivers only a part of it.
fn read_card(json: &Value) -> String {
    fn gather(value: &Value, words: &mut Vec<String>, depth: usize) {
        if depth > 12 || words.len() > 200 {
            return;
        }
        match value {
            Value::Object(fields) => {
                for key in ["title", "text", "content"] {
                    if let Some(Value::String(text)) = fields.get(key)
                        && !text.trim().is_empty()
                    {
                        words.push(text.trim().to_owned());
                    }
                }
                for inner in fields.values().filter(|inner| !inner.is_string()) {
                    gather(inner, words, depth + 1);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| gather(item, words, depth + 1)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut words = Vec::new();
    gather(json, &mut words, 0);
    let words = words.join("\n");
    described("card", Some(&words))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn people() -> Vec<Mention> {
        let person = |number: usize, name: &str, mine| Mention {
            key: format!("@_user_{number}"),
            id: Some(format!("ou_{number}")),
            name: name.to_owned(),
            mine,
        };
        vec![person(1, "Ship", true), person(2, "Bo", false), person(10, "Ten", false)]
    }

    #[test]
    fn people_are_named_and_the_agent_is_left_out() {
        for (text, expected) in [
            ("@_user_1 hello", "hello"),
            ("@_user_1 ask @_user_10 and @_user_2", "ask @Ten and @Bo"),
            ("hello @_user_1", "hello"),
            ("a @_user_1 b", "a b"),
            ("@_all listen", "@all listen"),
            ("@_user_9 who", "@_user_9 who"),
            ("/stop @_user_1", "/stop"),
            ("@_user_1", ""),
        ] {
            assert_eq!(with_names(text, &people()), expected, "{text:?}");
        }
    }

    #[test]
    fn every_kind_of_message_becomes_words_or_files() {
        let read = |kind: &str, content: Value| read_content(kind, &content.to_string(), &people(), "ou_1");
        let file = |key: &str, kind, name: Option<&str>| {
            vec![Resource { key: key.to_owned(), kind, name: name.map(str::to_owned) }]
        };
        assert_eq!(read("text", json!({ "text": "@_user_1 hi" })).text, "hi");
        for (kind, content, resources) in [
            ("image", json!({ "image_key": "i" }), file("i", ResourceKind::Image, None)),
            (
                "file",
                json!({ "file_key": "f", "file_name": "a.pdf" }),
                file("f", ResourceKind::File, Some("a.pdf")),
            ),
            ("audio", json!({ "file_key": "v", "duration": 1000 }), file("v", ResourceKind::Audio, None)),
            (
                "media",
                json!({ "file_key": "m", "image_key": "i", "file_name": "a.mp4" }),
                file("m", ResourceKind::Video, Some("a.mp4")),
            ),
        ] {
            assert_eq!(
                read(kind, content),
                ParsedContent { resources, ..ParsedContent::default() },
                "{kind}"
            );
        }
        for (kind, content, text) in [
            ("sticker", json!({ "file_key": "s" }), "[sticker]"),
            ("share_chat", json!({ "chat_id": "oc_2" }), "[shared group: oc_2]"),
            ("share_user", json!({ "user_id": "ou_2" }), "[shared contact: ou_2]"),
            ("location", json!({ "name": "Park", "longitude": "1" }), "[location: Park]"),
            ("system", json!({ "template": "x" }), "[system]"),
            ("video_chat", json!({ "topic": "x" }), "[video chat]"),
            ("image", json!({}), "[file without a key]"),
            (
                "interactive",
                json!({ "title": "T", "elements": [[{ "tag": "text", "text": "words" }]] }),
                "[card: T\nwords]",
            ),
        ] {
            assert_eq!(read(kind, content).text, text, "{kind}");
        }
        assert!(read("merge_forward", json!({ "content": "x" })).bundle);
        assert_eq!(read_content("text", "not json", &[], "").text, "not json");
        assert_eq!(read_content("text", "", &[], "").text, "[text]");
    }

    #[test]
    fn a_post_keeps_its_lines_links_code_and_pictures() {
        let post = json!({ "title": "Plan", "content": [
            [{ "tag": "at", "user_id": "@_user_1", "user_name": "Ship" }, { "tag": "text", "text": " look " },
             { "tag": "a", "text": "here", "href": "https://x.y" }],
            [{ "tag": "img", "image_key": "img_1" }],
            [{ "tag": "code_block", "language": "RUST", "text": "fn a() {}\n" }],
            [{ "tag": "at", "user_id": "@_user_2" }, { "tag": "emotion", "emoji_type": "SMILE" }],
        ] });
        let content = read_content("post", &post.to_string(), &people(), "ou_1");
        assert_eq!(content.text, "Plan\n look [here](https://x.y)\n\n```rust\nfn a() {}\n```\n@Bo[SMILE]");
        assert!(content.mentions_me);
        assert_eq!(content.resources.len(), 1);
        let sent = json!({ "zh_cn": { "title": "", "content": [[{ "tag": "text", "text": "hi" }]] } });
        assert_eq!(read_content("post", &sent.to_string(), &[], "").text, "hi");
    }

    #[test]
    fn what_is_struck_through_quoted_or_a_heading_is_marked_in_what_a_decision_is_read_from() {
        let text = |style: Value| json!([[{ "tag": "text", "text": "yes", "style": style }]]);
        for (title, content, expected) in [
            ("", text(json!([])), None),
            ("", text(json!(["bold", "italic", "underline"])), None),
            ("", text(json!(["lineThrough"])), Some("~~yes~~")),
            ("", text(json!(["bold", "lineThrough"])), Some("~~yes~~")),
            ("", text(json!(["inlineCode"])), Some("```yes```")),
            ("", json!([[{ "tag": "quote", "text": "yes" }]]), Some("```yes```")),
            ("yes", json!([]), Some("# yes")),
            ("Decision", text(json!([])), Some("# Decision\nyes")),
        ] {
            let post = json!({ "title": title, "content": content }).to_string();
            let read = read_content("post", &post, &people(), "ou_1");
            assert_eq!(read.marked_up.as_deref(), expected, "{post}");
            assert!(!read.text.contains(['~', '`', '#']), "{post}: {}", read.text);
        }
        let code = json!({ "content": [[{ "tag": "code_block", "text": "yes" }]] }).to_string();
        assert!(read_content("post", &code, &[], "").text.starts_with("```"));
    }

    proptest! {
        #[test]
        fn a_text_without_mentions_stays_as_it_is(text in "[a-z0-9 你好，\n]{0,40}") {
            prop_assert_eq!(with_names(&text, &people()), text.trim());
        }

        #[test]
        fn no_key_of_a_known_person_is_left(pieces in proptest::collection::vec("(@_user_1|@_user_2|@_user_10|[a-z ]{1,4})", 0..12)) {
            let text = with_names(&pieces.join(" "), &people());
            prop_assert!(!text.contains("@_user_"), "{}", text);
        }
    }
}
