//! Tolerant types for server responses: any JSON object is a chunk; unknown fields are ignored.
//!
//! Servers that call themselves compatible omit ids, indexes and types, send objects for strings, `null` for objects, a
//! whole message for a delta, and an error with status 200. None of that may fail here.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::calls::CALL_COST;

/// One event of a stream, or a whole answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Value")]
pub(crate) struct StreamChunk {
    /// An error in place of an answer, unchanged.
    pub error: Option<String>,
    /// The piece of the first choice; `None` without a choice.
    pub piece: Option<Piece>,
    /// The usage so far, as the server counts.
    pub usage: Option<Value>,
}

/// A piece of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Piece {
    pub content: String,
    pub reasoning: String,
    pub calls: Vec<CallPiece>,
    /// The finish reason; an empty one counts as none.
    pub finish: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CallPiece {
    /// How the server identifies the call.
    pub key: CallKey,
    pub id: Option<String>,
    pub name: Option<String>,
    pub arguments: String,
}

impl CallPiece {
    /// The bytes it may add beside its arguments.
    pub(crate) fn weight(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        length(&self.id) + length(&self.name) + CALL_COST
    }
}

/// How a server identifies calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CallKey {
    Index(u64),
    /// There is only one call: the old `function_call`.
    Legacy,
    #[default]
    Missing,
}

impl From<Value> for StreamChunk {
    fn from(value: Value) -> Self {
        let Value::Object(object) = value else { return Self::default() };
        if let Some(error) = error_of(&object) {
            return Self { error: Some(error), ..Self::default() };
        }
        let choice = object.get("choices").and_then(first_choice);
        // Some servers send `null` until the last chunk, or beside the counts at another place.
        let counts = |usage: Option<&Value>| usage.filter(|usage| usage.is_object()).cloned();
        let usage = counts(object.get("usage"))
            .or_else(|| counts(choice?.get("usage")))
            .or_else(|| counts(object.get("x_groq")?.get("usage")));
        Self { error: None, piece: choice.map(piece_of), usage }
    }
}

/// The error in place of an answer. Some servers wrap it, some put its fields at the top level.
fn error_of(object: &Map<String, Value>) -> Option<String> {
    if object.get("error").is_some_and(|error| !error.is_null()) {
        return Some(Value::Object(object.clone()).to_string());
    }
    let tells = object.get("object").and_then(Value::as_str) == Some("error")
        || ["message", "msg", "detail"].iter().any(|key| object.get(*key).is_some_and(Value::is_string));
    (!object.contains_key("choices") && tells).then(|| Value::Object(object.clone()).to_string())
}

/// One answer is requested; other choices are ignored.
fn first_choice(choices: &Value) -> Option<&Value> {
    let index = |choice: &Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0);
    choices.as_array()?.iter().find(|choice| index(choice) == 0)
}

fn piece_of(choice: &Value) -> Piece {
    let finish = choice.get("finish_reason").and_then(filled);
    let body = |key| choice.get(key).filter(|body| body.is_object());
    let (body, whole) = match (body("delta"), body("message")) {
        (Some(delta), _) => (delta, false),
        (None, Some(message)) => (message, true),
        (None, None) => return Piece { finish, ..Piece::default() },
    };
    let listed = body.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let mut calls: Vec<CallPiece> = (0u64..)
        .zip(listed)
        .map(|(place, call)| {
            // In a whole message the position in the list serves as the index.
            let index = call.get("index").and_then(Value::as_u64).or(whole.then_some(place));
            let function = call.get("function").unwrap_or(&Value::Null);
            call_piece(index.map_or(CallKey::Missing, CallKey::Index), call.get("id"), function)
        })
        .collect();
    if let Some(function) = body.get("function_call").filter(|function| function.is_object()) {
        calls.push(call_piece(CallKey::Legacy, None, function));
    }
    let mut content = body.get("content").map(text_of).unwrap_or_default();
    // A refusal is shown in place of an answer.
    content.push_str(body.get("refusal").and_then(Value::as_str).unwrap_or_default());
    let reasoning = ["reasoning_content", "reasoning"].iter().find_map(|key| body.get(*key).and_then(filled));
    Piece { content, reasoning: reasoning.unwrap_or_default(), calls, finish }
}

fn call_piece(key: CallKey, id: Option<&Value>, function: &Value) -> CallPiece {
    let id = id.and_then(|id| match id {
        Value::Number(number) => Some(number.to_string()),
        other => filled(other),
    });
    let arguments = match function.get("arguments") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    CallPiece { key, id, name: function.get("name").and_then(filled), arguments }
}

fn filled(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Content is a text, or a list whose texts are used.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            items.iter().filter_map(|item| item.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::domain::Usage;
    use crate::usage::{Dialect, usage_of};

    fn piece(value: Value) -> Piece {
        StreamChunk::from(value).piece.unwrap()
    }

    fn counted(value: Value) -> Option<Usage> {
        StreamChunk::from(value).usage.and_then(|usage| usage_of(&usage, Dialect::Usual))
    }

    fn delta(delta: &Value) -> Piece {
        piece(json!({ "choices": [{ "delta": delta }] }))
    }

    /// What a server sends, and the normal form of its counts.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct UsageFixture {
        server: String,
        base_url: String,
        /// The chunk of a stream, or the answer, that has the counts.
        chunk: Value,
        counts: Value,
    }

    #[test]
    fn the_usage_of_every_server_has_its_normal_form() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/usage");
        let mut seen = 0;
        for file in std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()) {
            let text = std::fs::read_to_string(&file).unwrap();
            let fixture: UsageFixture = serde_json::from_str(&text).unwrap();
            let usage = StreamChunk::from(fixture.chunk).usage;
            let counted = usage.and_then(|usage| usage_of(&usage, Dialect::of(&fixture.base_url)));
            let expected = fixture.counts.is_object().then(|| {
                let number = |key: &str| fixture.counts[key].as_u64();
                let count = |key| number(key).unwrap_or(0);
                Usage {
                    input: count("in"),
                    output: count("out"),
                    cached: count("inCached"),
                    cache_write: count("inCacheWrite"),
                    reasoning: count("outReasoning"),
                    audio_in: count("audioIn"),
                    audio_out: count("audioOut"),
                    cost: number("cost"),
                    estimated: false,
                }
            });
            assert_eq!(counted, expected, "{}", fixture.server);
            seen += 1;
        }
        assert!(seen >= 25, "{seen} fixtures");
    }

    #[test]
    fn odd_chunks_are_read_for_what_they_hold() {
        let said = |content: &str| Piece { content: content.into(), ..Piece::default() };
        let ended = |finish: &str| Piece { finish: Some(finish.into()), ..Piece::default() };
        for (value, expected) in [
            (json!({"choices": []}), None),
            (json!({"choices": null}), None),
            (json!({}), None),
            (json!([1]), None),
            (json!({"choices": [{"delta": null}]}), Some(Piece::default())),
            (json!({"choices": [{"delta": null, "finish_reason": "stop"}]}), Some(ended("stop"))),
            (json!({"choices": [{"delta": {}, "finish_reason": ""}]}), Some(Piece::default())),
            (json!({"choices": [{"delta": {"role": "", "content": null}}]}), Some(Piece::default())),
            (
                json!({"choices": [{"delta": {"content": "a"}, "logprobs": 7}], "timings": {}}),
                Some(said("a")),
            ),
            (json!({"choices": [{"index": 1, "delta": {"content": "b"}}]}), None),
            (
                json!({"choices": [{"message": {"content": [{"type": "text", "text": "c"}]}}]}),
                Some(said("c")),
            ),
            (json!({"choices": [{"delta": {"refusal": "no"}}]}), Some(said("no"))),
        ] {
            assert_eq!(StreamChunk::from(value.clone()).piece, expected, "{value}");
        }
    }

    #[test]
    fn thinking_is_found_under_both_names_but_taken_once() {
        for body in [
            json!({"reasoning_content": "hm"}),
            json!({"reasoning": "hm"}),
            json!({"reasoning_content": "hm", "reasoning": "hm"}),
            json!({"reasoning_content": "", "reasoning": "hm"}),
        ] {
            assert_eq!(delta(&body).reasoning, "hm", "{body}");
        }
    }

    #[test]
    fn calls_are_read_whatever_is_missing() {
        let call = |key, id: Option<&str>, name: Option<&str>, arguments: &str| CallPiece {
            key,
            id: id.map(Into::into),
            name: name.map(Into::into),
            arguments: arguments.into(),
        };
        for (value, expected) in [
            (
                json!({"tool_calls": [{"index": 2, "id": "a", "type": "", "function": {"name": "f", "arguments": "{"}}]}),
                call(CallKey::Index(2), Some("a"), Some("f"), "{"),
            ),
            (
                json!({"tool_calls": [{"id": 7, "function": {"name": "f", "arguments": {"x": 1}}}]}),
                call(CallKey::Missing, Some("7"), Some("f"), "{\"x\":1}"),
            ),
            (
                json!({"tool_calls": [{"id": "", "function": {"arguments": null}}]}),
                call(CallKey::Missing, None, None, ""),
            ),
            (json!({"tool_calls": [null]}), call(CallKey::Missing, None, None, "")),
            (
                json!({"function_call": {"name": "f", "arguments": "{}"}}),
                call(CallKey::Legacy, None, Some("f"), "{}"),
            ),
        ] {
            assert_eq!(delta(&value).calls, vec![expected], "{value}");
        }
    }

    #[test]
    fn usage_is_found_beside_or_inside_the_choice() {
        let usage = Some(Usage { input: 3, output: 4, ..Usage::default() });
        for (value, expected) in [
            (json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}), usage),
            (json!({"choices": [{"usage": {"prompt_tokens": 3, "completion_tokens": 4}}]}), usage),
            (json!({"usage": {"input_tokens": 3, "output_tokens": 4}}), usage),
            (json!({"usage": {"prompt_tokens": 3}}), Some(Usage { input: 3, ..Usage::default() })),
            (json!({"choices": [], "usage": null}), None),
            (json!({"choices": [], "usage": {}}), None),
        ] {
            assert_eq!(counted(value.clone()), expected, "{value}");
        }
    }

    #[test]
    fn cached_tokens_are_found_in_every_spelling() {
        for usage in [
            json!({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 6}}),
            json!({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 6}}),
            json!({"prompt_tokens": 9, "cached_tokens": 6}),
            json!({"prompt_tokens": 9, "prompt_tokens_details": null, "cached_tokens": 6}),
            json!({"prompt_tokens": 9, "prompt_cache_hit_tokens": 6, "prompt_cache_miss_tokens": 3}),
            json!({"prompt_cache_hit_tokens": 6, "prompt_cache_miss_tokens": 3}),
            json!({"prompt_tokens": 9, "cache_read_input_tokens": 6}),
        ] {
            let found = counted(json!({"choices": [], "usage": usage}));
            assert_eq!(found, Some(Usage { input: 9, cached: 6, ..Usage::default() }), "{usage}");
        }
        let groq =
            counted(json!({"choices": [], "x_groq": {"usage": {"prompt_tokens": 9, "cached_tokens": 20}}}));
        let all = Usage { input: 9, cached: 9, ..Usage::default() };
        assert_eq!(groq, Some(all), "never more than was read");
    }

    #[test]
    fn an_error_is_seen_whatever_its_shape() {
        for (value, is_error) in [
            (json!({"error": {"message": "no"}}), true),
            (json!({"error": "no"}), true),
            (json!({"error": {"message": "no"}, "choices": []}), true),
            (json!({"object": "error", "message": "no", "code": 40301}), true),
            (json!({"code": "Throttling", "message": "no"}), true),
            (json!({"detail": "no"}), true),
            (json!({"error": null, "choices": []}), false),
            (json!({"choices": [{"delta": {"content": "x"}}], "message": "extra"}), false),
        ] {
            assert_eq!(StreamChunk::from(value.clone()).error.is_some(), is_error, "{value}");
        }
    }

    proptest! {
        #[test]
        fn no_json_is_too_odd(text in r#"\{"(choices|error|usage)":(null|7|"x"|\[\]|\[null\]|\[\{"(delta|message)":(null|\[\]|\{"(content|tool_calls|function_call|reasoning)":(7|null|\[7\]|\{\}|\[\{"function":3\}\])\})\}\])\}"#) {
            serde_json::from_str::<StreamChunk>(&text).unwrap();
        }
    }
}
