//! Answers in every form that servers send.

use std::time::Duration;

use serde_json::json;
use shipagent::domain::ErrorKind;
use shipagent::ports::{Completion, ModelDelta, ToolCall, Usage};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::asked::{ask, ask_script, build, prompt, shared, spec, whole};
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script};

#[tokio::test]
async fn an_answer_streams_and_is_whole_at_the_end() {
    let (outcome, fake) = ask_script([Reply::text("Hello to you")]).await;
    let expected = Completion {
        text: "Hello to you".into(),
        usage: Some(Usage { input: 11, output: 7, ..Usage::default() }),
        ..Completion::default()
    };
    assert_eq!(outcome.result, Ok(expected));
    let pieces = ["Hello ", "to ", "you"].map(|piece| ModelDelta::Text(piece.into()));
    assert_eq!(outcome.deltas, pieces);

    let requests = fake.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].path, "/v1/chat/completions");
    assert_eq!(requests[0].authorization.as_deref(), Some("Bearer sk-very-secret"));
    assert_eq!(
        requests[0].body,
        json!({
            "model": "fake",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[tokio::test]
async fn words_are_shown_before_the_answer_is_whole() {
    let gate = Latch::new();
    let fake = FakeModel::start([Reply::text("one two").gated_after(2, &gate)]).await;
    let model = build(&spec(&fake), &[], &shared());
    let (live, mut shown) = mpsc::channel(4);
    let mut call = model.complete(prompt("hi"), live);
    tokio::select! {
        first = shown.recv() => assert_eq!(first, Some(ModelDelta::Text("one ".into()))),
        result = &mut call => panic!("ended behind a closed gate: {result:?}"),
    }
    gate.open();
    assert_eq!(call.await.unwrap().text, "one two");
}

#[tokio::test]
async fn a_byte_that_is_no_text_costs_one_letter_and_not_the_answer() {
    let whole = br#"{"choices":[{"message":{"content":"a-b"},"finish_reason":"stop"}]}"#;
    let stream = [b"data: ".as_slice(), whole, b"\n\ndata: [DONE]\n\n"].concat();
    for (kind, body) in [("text/event-stream", stream), ("application/json", whole.to_vec())] {
        let body: Vec<u8> = body.into_iter().map(|byte| if byte == b'-' { 0xFF } else { byte }).collect();
        let (outcome, _) = ask_script([Reply::raw(kind, body)]).await;
        assert_eq!(outcome.text(), "a\u{FFFD}b", "{kind}");
    }
}

#[tokio::test]
async fn odd_chunks_do_no_harm() {
    let (outcome, _) = ask_script([Reply::events([
        json!({"choices": [], "prompt_filter_results": [{}]}),
        json!({"choices": [{"delta": null}]}),
        json!({"choices": [{"delta": {"role": ""}, "finish_reason": ""}], "created": 1.5}),
        json!({"choices": [{"delta": {"content": "a", "surprise": {"x": []}}, "logprobs": null}], "timings": {}}),
        json!({"choices": [{"delta": {"content": "b"}, "finish_reason": "eos_token"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "cost": "none"}}),
    ])
    .done()])
    .await;
    assert_eq!(outcome.text(), "ab");
    assert_eq!(outcome.result.unwrap().usage, Some(Usage { input: 3, output: 2, ..Usage::default() }));
}

#[tokio::test]
async fn comments_crlf_and_a_wrong_content_type_do_no_harm() {
    let stream = ": hello\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"好\"}}]}\r\n\r\n: ping\r\n\r\n\
                  data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n";
    let (outcome, _) = ask_script([Reply::raw("text/event-stream; charset=utf-8", stream)]).await;
    assert_eq!(outcome.text(), "好");

    let bare = stream.trim_start_matches(": hello\r\n\r\n");
    let (outcome, _) = ask_script([Reply::raw("application/json", bare)]).await;
    assert_eq!(outcome.text(), "好");
}

#[tokio::test]
async fn either_a_reason_or_the_mark_ends_a_stream() {
    let said = json!({"choices": [{"delta": {"content": "a"}}]});
    let stop = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let (outcome, _) = ask_script([Reply::events([said.clone(), stop])]).await;
    assert_eq!(outcome.text(), "a");
    let (outcome, _) = ask_script([Reply::events([said.clone()]).done()]).await;
    assert_eq!(outcome.text(), "a");
    let (outcome, fake) = ask_script(Reply::text("one two").end_after(2)).await;
    assert_eq!((outcome.kind(), fake.requests().len()), (ErrorKind::Network, 4));
}

#[tokio::test]
async fn a_server_that_answers_in_one_document_is_understood() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}});
    let (outcome, fake) = ask_script([whole(&json!({"content": "Look.", "tool_calls": [call]}))]).await;
    let completion = outcome.result.unwrap();
    assert_eq!((completion.text.as_str(), fake.requests().len()), ("Look.", 1));
    let call = ToolCall { id: "c".parse().unwrap(), name: "f".into(), arguments: Ok(json!({"x": 1})) };
    assert_eq!(completion.tool_calls, [call]);
}

#[tokio::test]
async fn a_thinking_block_in_the_words_is_thinking() {
    let (outcome, _) = ask_script([Reply::pieces(["<th", "ink>h", "m</thi", "nk>\n\nYe", "s"])]).await;
    let completion = outcome.result.unwrap();
    assert_eq!((completion.reasoning.as_str(), completion.text.as_str()), ("hm", "Yes"));
}

#[tokio::test]
async fn thinking_beside_the_words_is_thinking() {
    let deltas = [json!({"reasoning_content": "h"}), json!({"reasoning": "m"}), json!({"content": "Yes"})];
    let (outcome, _) = ask_script([Reply::deltas(deltas, "stop")]).await;
    assert_eq!(outcome.deltas[0], ModelDelta::Reasoning("h".into()));
    let completion = outcome.result.unwrap();
    assert_eq!((completion.reasoning.as_str(), completion.text.as_str()), ("hm", "Yes"));
}

#[tokio::test]
async fn calls_come_in_pieces_and_are_shown_while_they_grow() {
    let (outcome, _) =
        ask_script([Reply::calls([("read_file", json!({"path": "说明"})), ("current_time", json!({}))])])
            .await;
    let completion = outcome.result.unwrap();
    let calls: Vec<_> = completion
        .tool_calls
        .iter()
        .map(|call| (call.id.as_str(), call.name.as_str(), &call.arguments))
        .collect();
    assert_eq!(
        calls,
        [
            ("call_read_file_0", "read_file", &Ok(json!({"path": "说明"}))),
            ("call_current_time_1", "current_time", &Ok(json!({}))),
        ]
    );
    let shown: String = outcome
        .deltas
        .iter()
        .filter_map(|delta| match delta {
            ModelDelta::ToolInput(more) if more.index == 0 => Some(more.arguments.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, json!({"path": "说明"}).to_string());
}

#[tokio::test]
async fn many_calls_at_once_each_get_their_own_answer() {
    let script = Script::compute(|seen| Reply::text(seen.last_user_text()).after(Duration::from_millis(20)));
    let fake = FakeModel::start(script).await;
    let model = build(&spec(&fake), &[], &shared());
    let mut calls = JoinSet::new();
    for number in 0..40 {
        let model = model.clone();
        calls.spawn(async move {
            let text = format!("number {number}");
            let (live, shown) = mpsc::channel(4);
            drop(shown);
            assert_eq!(model.complete(prompt(&text), live).await.unwrap().text, text);
        });
    }
    while let Some(done) = calls.join_next().await {
        done.unwrap();
    }
}

#[tokio::test]
async fn a_gate_holds_an_answer_back_until_it_is_opened() {
    let gate = Latch::new();
    let fake = FakeModel::start([Reply::text("late").behind(&gate)]).await;
    let model = build(&spec(&fake), &[], &shared());
    let (opened, outcome) = tokio::join!(
        async {
            fake.wait_for_requests(1).await;
            gate.open();
        },
        ask(model.as_ref()),
    );
    assert_eq!((opened, outcome.text()), ((), "late"));
}
