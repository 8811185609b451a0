//! Assembles stream chunks to a completion and to deltas. Pure: no clock, no socket.

use std::collections::HashSet;
use std::sync::Arc;

use super::calls::CallAssembler;
use super::think::{ThinkPiece, ThinkSplitter};
use super::wire::StreamChunk;
use crate::ports::{Completion, Ids, ModelDelta, Usage};
use crate::usage::{Dialect, usage_of};

/// Largest answer, of text, reasoning and calls, in bytes. No model intends to write more, and all of it is kept in
/// memory and in the thread.
pub(crate) const MAX_KEPT: usize = 2 * 1024 * 1024;

/// Joins the chunks of one answer. All its deltas are in the completion, in the same order.
#[derive(Debug)]
pub(crate) struct Assembler {
    splitter: ThinkSplitter,
    text: String,
    reasoning: String,
    calls: CallAssembler,
    finish: Option<String>,
    usage: Option<Usage>,
    /// How the server counts.
    dialect: Dialect,
    any_choice: bool,
    /// The rest of the answer is left unread.
    cut: bool,
}

impl Assembler {
    /// An empty answer. `taken` are the call ids that the conversation has used already.
    pub(crate) fn new(ids: Arc<dyn Ids>, taken: HashSet<String>) -> Self {
        Self {
            splitter: ThinkSplitter::default(),
            text: String::new(),
            reasoning: String::new(),
            calls: CallAssembler::new(ids, taken),
            finish: None,
            usage: None,
            dialect: Dialect::Usual,
            any_choice: false,
            cut: false,
        }
    }

    /// The same, of a server that counts in this way.
    #[must_use]
    pub(crate) fn with_dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// Adds a chunk and returns its deltas. The caller handles an error in the chunk.
    pub(crate) fn feed(&mut self, chunk: StreamChunk) -> Vec<ModelDelta> {
        self.usage = chunk.usage.and_then(|usage| usage_of(&usage, self.dialect)).or(self.usage);
        let Some(piece) = chunk.piece else { return Vec::new() };
        self.any_choice = true;
        let mut deltas = Vec::new();
        let reasoning = self.fitting(piece.reasoning);
        if !reasoning.is_empty() {
            deltas.push(self.keep(ThinkPiece::Reasoning(reasoning)));
        }
        let content = self.fitting(piece.content);
        for told in self.splitter.feed(&content) {
            deltas.push(self.keep(told));
        }
        for mut call in piece.calls {
            if self.cut || call.weight() > self.room() {
                self.cut = true;
                break;
            }
            call.arguments = self.fitting(call.arguments);
            deltas.extend(self.calls.feed(call));
        }
        self.finish = piece.finish.or_else(|| self.finish.take());
        deltas
    }

    /// The server's finish reason, once it was sent.
    pub(crate) fn finish_reason(&self) -> Option<&str> {
        self.finish.as_deref()
    }

    /// Whether the server sent any answer, possibly an empty one.
    pub(crate) const fn answered(&self) -> bool {
        self.any_choice
    }

    /// Stops reading the answer, whether or not there is more.
    pub(crate) const fn cut(&mut self) {
        self.cut = true;
    }

    /// Whether the answer exceeded the size limit.
    pub(crate) const fn is_cut(&self) -> bool {
        self.cut
    }

    /// The last deltas, and the completion.
    pub(crate) fn finish(mut self) -> (Vec<ModelDelta>, Completion) {
        let mut deltas = Vec::new();
        if let Some(told) = self.splitter.finish() {
            deltas.push(self.keep(told));
        }
        let truncated =
            self.cut || matches!(self.finish.as_deref(), Some("length" | "max_tokens" | "model_length"));
        let (last, tool_calls) = self.calls.finish(truncated);
        deltas.extend(last);
        let completion = Completion {
            text: self.text,
            reasoning: self.reasoning,
            tool_calls,
            truncated,
            usage: self.usage,
            fallback: None,
        };
        (deltas, completion)
    }

    fn room(&self) -> usize {
        MAX_KEPT.saturating_sub(self.text.len() + self.reasoning.len() + self.calls.size())
    }

    /// As much of a text as fits. The rest of the answer is cut.
    fn fitting(&mut self, mut text: String) -> String {
        let room = if self.cut { 0 } else { self.room() };
        if text.len() > room {
            self.cut = true;
            text.truncate(text.floor_char_boundary(room));
        }
        text
    }

    fn keep(&mut self, told: ThinkPiece) -> ModelDelta {
        match told {
            ThinkPiece::Text(text) => {
                self.text.push_str(&text);
                ModelDelta::Text(text)
            }
            ThinkPiece::Reasoning(text) => {
                self.reasoning.push_str(&text);
                ModelDelta::Reasoning(text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::ports::ToolCall;

    #[derive(Debug, Default)]
    struct CountedIds(AtomicU64);

    impl Ids for CountedIds {
        fn unique(&self) -> String {
            self.0.fetch_add(1, Ordering::Relaxed).to_string()
        }
    }

    fn assemble(chunks: impl IntoIterator<Item = Value>) -> (Vec<ModelDelta>, Completion) {
        let mut assembler =
            Assembler::new(Arc::new(CountedIds::default()), HashSet::from(["old".to_owned()]));
        let mut deltas: Vec<ModelDelta> =
            chunks.into_iter().flat_map(|chunk| assembler.feed(StreamChunk::from(chunk))).collect();
        let (last, completion) = assembler.finish();
        deltas.extend(last);
        (deltas, completion)
    }

    fn delta(delta: Value) -> Value {
        json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
    }

    fn calls(pieces: Vec<Value>) -> Vec<ToolCall> {
        assemble(pieces.into_iter().map(|piece| delta(json!({ "tool_calls": [piece] })))).1.tool_calls
    }

    fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
        ToolCall { id: id.parse().unwrap(), name: name.to_owned(), arguments: Ok(arguments) }
    }

    #[test]
    fn an_ordinary_stream_becomes_a_completion() {
        let (deltas, completion) = assemble([
            delta(json!({"role": "assistant", "content": "", "reasoning_content": "hm"})),
            delta(json!({"content": "Hel"})),
            delta(json!({"content": "lo"})),
            json!({"choices": [{"delta": {}, "finish_reason": "length"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
        ]);
        assert_eq!(
            deltas,
            vec![
                ModelDelta::Reasoning("hm".into()),
                ModelDelta::Text("Hel".into()),
                ModelDelta::Text("lo".into())
            ]
        );
        let expected = Completion {
            text: "Hello".into(),
            reasoning: "hm".into(),
            tool_calls: vec![],
            truncated: true,
            usage: Some(Usage { input: 5, output: 2, ..Usage::default() }),
            fallback: None,
        };
        assert_eq!(completion, expected);
    }

    #[test]
    fn interleaved_calls_are_told_apart_by_their_number() {
        let calls = calls(vec![
            json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\""}}),
            json!({"index": 1, "id": "b", "function": {"name": "g", "arguments": "{\"y\""}}),
            json!({"index": 0, "function": {"arguments": ":1}"}}),
            json!({"index": 1, "id": "b", "function": {"name": "g", "arguments": ":2}"}}),
        ]);
        assert_eq!(calls, vec![call("a", "f", json!({"x": 1})), call("b", "g", json!({"y": 2}))]);
    }

    #[test]
    fn calls_without_number_or_id_are_told_apart_by_their_names() {
        let calls = calls(vec![
            json!({"function": {"name": "f", "arguments": ""}}),
            json!({"function": {"arguments": "{\"x\":1}"}}),
            json!({"function": {"name": "f", "arguments": {"x": 2}}}),
        ]);
        assert_eq!(calls, vec![call("call_0", "f", json!({"x": 1})), call("call_1", "f", json!({"x": 2}))]);
    }

    #[test]
    fn calls_without_a_number_are_told_apart_by_their_ids() {
        let calls = calls(vec![
            json!({"id": "a", "function": {"name": "f", "arguments": "{\"x\":"}}),
            json!({"id": "b", "function": {"name": "f", "arguments": "{}"}}),
            json!({"id": "a", "function": {"arguments": "1}"}}),
        ]);
        assert_eq!(calls, vec![call("a", "f", json!({"x": 1})), call("b", "f", json!({}))]);
    }

    #[test]
    fn whole_calls_that_all_have_number_zero_stay_apart() {
        let calls = calls(vec![
            json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}),
            json!({"index": 0, "id": "b", "function": {"name": "g", "arguments": "{}"}}),
        ]);
        assert_eq!(calls, vec![call("a", "f", json!({})), call("b", "g", json!({}))]);
    }

    #[test]
    fn an_id_that_was_used_before_is_replaced() {
        let calls = calls(vec![
            json!({"index": 0, "id": "a", "function": {"name": "f"}}),
            json!({"index": 1, "id": "a", "function": {"name": "f"}}),
            json!({"index": 2, "id": "old", "function": {"name": "f"}}),
            json!({"id": "a", "function": {"name": "f", "arguments": "{\"x\":1}"}}),
            json!({"id": "a", "function": {"name": "f", "arguments": "{\"x\":2}"}}),
        ]);
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        // The fourth piece continues the second call, for which the server uses the same id; the fifth begins another.
        assert_eq!(ids, ["a", "call_0", "call_1", "call_2"]);
    }

    #[test]
    fn arguments_are_read_or_kept_as_they_came() {
        for (raw, expected) in [
            ("", Ok(json!({}))),
            ("  ", Ok(json!({}))),
            ("null", Ok(json!({}))),
            ("{\"a\":1}", Ok(json!({"a": 1}))),
            ("\"{\\\"a\\\":1}\"", Ok(json!({"a": 1}))),
            ("[1]", Ok(json!([1]))),
            ("{\"a\":", Err("{\"a\":".to_owned())),
            ("path=x", Err("path=x".to_owned())),
        ] {
            let calls =
                calls(vec![json!({"index": 0, "id": "c", "function": {"name": "f", "arguments": raw}})]);
            assert_eq!(calls[0].arguments, expected, "{raw:?}");
        }
    }

    #[test]
    fn a_call_that_never_got_a_name_is_kept_for_the_model_to_hear_of() {
        let calls = calls(vec![json!({"index": 0, "function": {"arguments": "{}"}}), json!({"index": 1})]);
        assert_eq!(calls, vec![call("call_0", "unnamed", json!({}))]);
    }

    #[test]
    fn a_legacy_function_call_is_a_call() {
        let (_, completion) = assemble([
            delta(json!({"function_call": {"name": "f", "arguments": "{\"x\""}})),
            delta(json!({"function_call": {"arguments": ":1}"}})),
        ]);
        assert_eq!(completion.tool_calls, vec![call("call_0", "f", json!({"x": 1}))]);
    }

    #[test]
    fn a_whole_message_is_understood_like_a_stream() {
        let (deltas, completion) = assemble([json!({
            "choices": [{"message": {
                "role": "assistant", "content": "<think>hm</think>Look.",
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": ""}},
                ],
            }, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1},
        })]);
        assert_eq!((completion.text.as_str(), completion.reasoning.as_str()), ("Look.", "hm"));
        assert_eq!(completion.tool_calls, vec![call("a", "f", json!({})), call("call_0", "f", json!({}))]);
        assert_eq!(deltas.len(), 4);
    }

    /// An answer beyond the size limit, in pieces of 64 KiB.
    fn endless(piece: impl Fn(&str) -> Value) -> Vec<Value> {
        let letters = "x".repeat(64 * 1024);
        (0..MAX_KEPT / letters.len() + 2).map(|_| delta(piece(&letters))).collect()
    }

    #[test]
    fn an_answer_without_end_is_cut_where_it_is_too_long() {
        let (deltas, completion) = assemble(endless(|letters| json!({"content": letters})));
        assert_eq!((completion.text.len(), completion.truncated), (MAX_KEPT, true));
        assert_eq!(seen(&deltas).0, completion.text);

        let (_, completion) =
            assemble(endless(|letters| json!({"reasoning_content": letters, "content": letters})));
        assert_eq!(
            (completion.text.len() + completion.reasoning.len(), completion.truncated),
            (MAX_KEPT, true)
        );

        let (_, completion) = assemble([delta(json!({"content": format!("a{}", "好".repeat(MAX_KEPT))}))]);
        assert_eq!((completion.text.len(), completion.truncated), (MAX_KEPT - MAX_KEPT % 3 + 1, true));
    }

    #[test]
    fn a_call_that_was_cut_never_looks_whole() {
        let words = delta(json!({"content": "x".repeat(MAX_KEPT - 200)}));
        let call = |arguments: &str| {
            delta(
                json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": arguments}}]}),
            )
        };
        let long = format!("{{\"a\":\"{}\"}}", "y".repeat(400));
        for chunks in [
            vec![words.clone(), call(&long)],
            vec![words, call(""), delta(json!({"content": "x".repeat(400)}))],
            vec![call(""), json!({"choices": [{"finish_reason": "length"}]})],
        ] {
            let (_, completion) = assemble(chunks);
            assert!(completion.truncated);
            assert_eq!(completion.tool_calls.len(), 1);
            assert!(completion.tool_calls[0].arguments.is_err(), "{:?}", completion.tool_calls);
        }
    }

    #[test]
    fn calls_without_end_are_cut_too() {
        let named = |at: usize| {
            delta(json!({"tool_calls": [{"index": at, "id": at.to_string(), "function": {"name": "f"}}]}))
        };
        let (_, completion) = assemble((0..MAX_KEPT / 64).map(named));
        assert!(completion.truncated && completion.tool_calls.len() < MAX_KEPT / 64);
        let name = "f".repeat(MAX_KEPT + 1);
        let (_, completion) = assemble([delta(json!({"tool_calls": [{"function": {"name": name}}]}))]);
        assert_eq!((completion.tool_calls, completion.truncated), (vec![], true));
    }

    /// The completion as reconstructed from the deltas alone.
    fn seen(deltas: &[ModelDelta]) -> (String, String, Vec<(String, String, String)>) {
        let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
        for delta in deltas {
            match delta {
                ModelDelta::Text(more) => text.push_str(more),
                ModelDelta::Reasoning(more) => reasoning.push_str(more),
                ModelDelta::ToolInput(more) => {
                    if calls.len() <= more.index {
                        calls.push((more.id.to_string(), more.name.clone(), String::new()));
                    }
                    assert_eq!(calls[more.index].0, more.id.as_str());
                    calls[more.index].2.push_str(&more.arguments);
                }
                ModelDelta::Retrying { .. } | ModelDelta::StartOver => panic!("an assembler does not retry"),
            }
        }
        (text, reasoning, calls)
    }

    /// A text split at these positions.
    fn cut(text: &str, cuts: &[prop::sample::Index]) -> Vec<String> {
        let chars: Vec<char> = text.chars().collect();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
        places.extend([0, chars.len()]);
        places.sort_unstable();
        places.windows(2).map(|pair| chars[pair[0]..pair[1]].iter().collect()).collect()
    }

    /// A stream of this content, split at these positions.
    fn stream(
        reasoning: &str,
        content: &str,
        arguments: &[String],
        cuts: &[prop::sample::Index],
    ) -> Vec<Value> {
        let mut chunks: Vec<Value> = cut(reasoning, cuts)
            .into_iter()
            .map(|piece| delta(json!({"reasoning_content": piece})))
            .collect();
        chunks.extend(cut(content, cuts).into_iter().map(|piece| delta(json!({"content": piece}))));
        for (index, arguments) in arguments.iter().enumerate() {
            chunks.push(delta(json!({"tool_calls": [{"index": index, "function": {"name": "f"}}]})));
            chunks.extend(cut(arguments, cuts).into_iter().map(|piece| {
                delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
            }));
        }
        chunks.push(json!({"choices": [{"finish_reason": "stop"}]}));
        chunks
    }

    proptest! {
        #[test]
        fn any_cut_of_the_same_stream_gives_the_same_completion(
            reasoning in "(a|好| ){0,6}",
            content in r"(<think>|<thi|)(a|<|好|</think>|\n| ){0,10}",
            arguments in prop::collection::vec(r#"(\{"k":"v好"\}|\{"k":|)"#, 0..3),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        ) {
            let (_, whole) = assemble(stream(&reasoning, &content, &arguments, &[]));
            let (deltas, completion) = assemble(stream(&reasoning, &content, &arguments, &cuts));
            prop_assert_eq!(&completion, &whole);
            let (text, thinking, calls) = seen(&deltas);
            prop_assert_eq!(text, completion.text);
            prop_assert_eq!(thinking, completion.reasoning);
            prop_assert_eq!(calls.len(), completion.tool_calls.len());
            for ((id, name, raw), call) in calls.iter().zip(&completion.tool_calls) {
                prop_assert_eq!((id.as_str(), name), (call.id.as_str(), &call.name));
                let again = if raw.is_empty() { Ok(json!({})) } else { serde_json::from_str(raw).map_err(|_| raw.clone()) };
                prop_assert_eq!(again, call.arguments.clone());
            }
        }
    }
}
