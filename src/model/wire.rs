//! Tolerant types for server responses: any JSON object is a chunk; unknown fields are ignored.
//!
//! Servers that call themselves compatible omit ids, indexes and types, send objects for strings, `null` for objects, a
//! whole message for a delta, and an error with status 200. None of that may fail here.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::calls::CALL_COST;
use crate::ports::Usage;

/// One event of a stream, or a whole answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Value")]
pub(crate) struct Chunk {
    /// An error in place of an answer, unchanged.
    pub error: Option<String>,
    /// The piece of the first choice; `None` without a choice.
    pub piece: Option<Piece>,
    /// The usage so far.
    pub usage: Option<Usage>,
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

/// A piece of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CallPiece {
    /// How the server identifies the call.
    pub key: CallKey,
    pub id: Option<String>,
    pub name: Option<String>,
    /// A piece of its arguments.
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

impl From<Value> for Chunk {
    fn from(value: Value) -> Self {
        let Value::Object(object) = value else { return Self::default() };
        if let Some(error) = error_of(&object) {
            return Self { error: Some(error), ..Self::default() };
        }
        let choice = object.get("choices").and_then(first_choice);
        let usage = object
            .get("usage")
            .or_else(|| choice?.get("usage"))
            .or_else(|| object.get("x_groq")?.get("usage"));
        let usage = usage.and_then(usage_of);
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

/// Tokens read from the provider's cache are part of the input, and their field differs between providers.
fn usage_of(usage: &Value) -> Option<Usage> {
    let first = |paths: &[&str]| paths.iter().find_map(|path| usage.pointer(path).and_then(Value::as_u64));
    let (hit, miss) = (first(&["/prompt_cache_hit_tokens"]), first(&["/prompt_cache_miss_tokens"]));
    let input = first(&["/prompt_tokens", "/input_tokens"]).or_else(|| Some(hit?.saturating_add(miss?)));
    let output = first(&["/completion_tokens", "/output_tokens"]);
    let cached = first(&[
        "/prompt_tokens_details/cached_tokens",
        "/input_tokens_details/cached_tokens",
        "/cached_tokens",
        "/prompt_cache_hit_tokens",
        "/cache_read_input_tokens",
    ]);
    (input.is_some() || output.is_some()).then(|| {
        let input = input.unwrap_or(0);
        Usage { input, output: output.unwrap_or(0), cached: cached.unwrap_or(0).min(input) }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn piece(value: Value) -> Piece {
        Chunk::from(value).piece.unwrap()
    }

    fn delta(delta: &Value) -> Piece {
        piece(json!({ "choices": [{ "delta": delta }] }))
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
            assert_eq!(Chunk::from(value.clone()).piece, expected, "{value}");
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
        let usage = Some(Usage { input: 3, output: 4, cached: 0 });
        for (value, expected) in [
            (json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}), usage),
            (json!({"choices": [{"usage": {"prompt_tokens": 3, "completion_tokens": 4}}]}), usage),
            (json!({"usage": {"input_tokens": 3, "output_tokens": 4}}), usage),
            (json!({"usage": {"prompt_tokens": 3}}), Some(Usage { input: 3, output: 0, cached: 0 })),
            (json!({"choices": [], "usage": null}), None),
            (json!({"choices": [], "usage": {}}), None),
        ] {
            assert_eq!(Chunk::from(value.clone()).usage, expected, "{value}");
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
            let found = Chunk::from(json!({"choices": [], "usage": usage})).usage;
            assert_eq!(found, Some(Usage { input: 9, output: 0, cached: 6 }), "{usage}");
        }
        let groq = Chunk::from(
            json!({"choices": [], "x_groq": {"usage": {"prompt_tokens": 9, "cached_tokens": 20}}}),
        );
        assert_eq!(groq.usage, Some(Usage { input: 9, output: 0, cached: 9 }), "never more than was read");
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
            assert_eq!(Chunk::from(value.clone()).error.is_some(), is_error, "{value}");
        }
    }

    proptest! {
        #[test]
        fn no_json_is_too_odd(text in r#"\{"(choices|error|usage)":(null|7|"x"|\[\]|\[null\]|\[\{"(delta|message)":(null|\[\]|\{"(content|tool_calls|function_call|reasoning)":(7|null|\[7\]|\{\}|\[\{"function":3\}\])\})\}\])\}"#) {
            serde_json::from_str::<Chunk>(&text).unwrap();
        }
    }
}
