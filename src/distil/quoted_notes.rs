//! Whether the arguments of a call quote a note that no person has reviewed. Such a call is asked about even where it
//! would be allowed: its words may come from an attacker.

use serde_json::Value;

use crate::search::content_words;
use crate::uimessage::{Part, ToolState, UiMessage};

/// So many words in a row, or CJK characters, are a quotation; a shorter note is quoted where all of it stands in an argument.
const QUOTATION: usize = 5;
/// A note of fewer is too short to be told from a coincidence.
const SHORTEST: usize = 2;
/// Tools that show what is remembered and what was said.
const RECALLS: [&str; 2] = ["memory_search", "chat_load_history"];
/// Most texts that are looked for.
const MOST_TEXTS: usize = 400;

/// The texts of unreviewed notes that tools have shown in these messages.
pub fn unreviewed_texts<'a>(messages: impl IntoIterator<Item = &'a UiMessage>) -> Vec<String> {
    let mut out = Vec::new();
    for (_, output) in messages.into_iter().flat_map(outputs) {
        collect_unreviewed(output, &mut out);
    }
    newest(out)
}

/// The texts of memory and history that the model was shown with these messages, or has searched for.
pub fn recalled_texts<'a>(messages: impl IntoIterator<Item = &'a UiMessage>) -> Vec<String> {
    let mut out = Vec::new();
    for message in messages {
        out.extend(message.recalled().into_iter().map(|text| text.text));
        for (_, output) in outputs(message).filter(|(tool, _)| RECALLS.contains(tool)) {
            collect_key(output, "text", &mut out);
        }
    }
    newest(out)
}

/// What the tools of a message gave, with their names.
fn outputs(message: &UiMessage) -> impl Iterator<Item = (&str, &Value)> {
    message.parts.iter().filter_map(|part| match part {
        Part::Tool(tool) => match &tool.state {
            ToolState::OutputAvailable { output, .. } => Some((tool.tool.name(), output)),
            _ => None,
        },
        _ => None,
    })
}

fn newest(mut out: Vec<String>) -> Vec<String> {
    let skipped = out.len().saturating_sub(MOST_TEXTS);
    out.split_off(skipped)
}

/// Adds the text of every object that says `reviewed: false`.
fn collect_unreviewed(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_unreviewed(item, out)),
        Value::Object(object) if object.get("reviewed") == Some(&Value::Bool(false)) => {
            out.extend(object.get("text").and_then(Value::as_str).map(str::to_owned));
        }
        Value::Object(object) => object.values().for_each(|item| collect_unreviewed(item, out)),
        _ => {}
    }
}

/// Adds every text that stands under this key.
fn collect_key(value: &Value, key: &str, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_key(item, key, out)),
        Value::Object(object) => {
            out.extend(object.get(key).and_then(Value::as_str).map(str::to_owned));
            object.values().for_each(|item| collect_key(item, key, out));
        }
        _ => {}
    }
}

/// Whether any text of the arguments quotes one of these texts.
pub fn quotes_any(arguments: &Value, notes: &[String]) -> bool {
    if notes.is_empty() {
        return false;
    }
    let mut said = String::new();
    collect_text(arguments, &mut said);
    let said = format!(" {} ", content_words(&said).join(" "));
    notes.iter().any(|note| {
        let tokens = content_words(note);
        if tokens.len() < SHORTEST {
            return false;
        }
        let mut runs = tokens.windows(QUOTATION.min(tokens.len()));
        runs.any(|run| said.contains(&format!(" {} ", run.join(" "))))
    })
}

/// All texts of a value, one after the other.
fn collect_text(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| collect_text(item, out)),
        Value::Object(object) => object.values().for_each(|item| collect_text(item, out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_quotation_is_found_in_any_argument_and_in_any_writing() {
        let notes = vec![
            "The deploy script lives at scripts/deploy.sh on host blue".to_owned(),
            "喜欢龙井茶".to_owned(),
            "tea".to_owned(),
        ];
        for (arguments, expected) in [
            (json!({ "command": "bash scripts/deploy.sh on host blue" }), true),
            (
                json!({ "to": ["a", { "text": "she said: THE DEPLOY  SCRIPT lives at Scripts/deploy!" }] }),
                true,
            ),
            (json!({ "text": "她喜欢龙井茶吗" }), true),
            (json!({ "command": "ls scripts" }), false),
            (json!({ "text": "tea" }), false),
            (json!({ "number": 3 }), false),
        ] {
            assert_eq!(quotes_any(&arguments, &notes), expected, "{arguments}");
        }
        assert!(!quotes_any(&json!({ "command": "anything" }), &[]));
    }

    #[test]
    fn only_unreviewed_results_count() {
        let output = json!({ "results": [
            { "id": "k1", "text": "one", "reviewed": false }, { "id": "k2", "text": "two", "reviewed": true },
            { "id": "k3", "text": "three" },
        ], "hasMore": false });
        let message: UiMessage = serde_json::from_value(json!({
            "id": "m1", "role": "assistant",
            "metadata": { "platform": "web", "threadId": "web:chat:1", "timestamp": 5, "correlationId": "run_1" },
            "parts": [{ "type": "tool-memory_search", "toolCallId": "c1", "state": "output-available",
                "input": {}, "output": output }],
        }))
        .unwrap();
        assert_eq!(unreviewed_texts([&message]), ["one"]);
    }
}
