//! The model port against a server that behaves as badly as real ones do.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use shipagent::domain::ErrorKind;
use shipagent::http::Http;
use shipagent::model::{ModelSpec, Shared, build};
use shipagent::ports::{
    Completion, Model, ModelDelta, ModelError, Prompt, RandomIds, SystemClock, ToolCall, Usage,
};
use shipagent::uimessage::{Content, ModelMessage};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::fake_model::{FakeModel, Gate, Reply, Script};

const KEY: &str = "sk-very-secret";

fn shared() -> Shared {
    Shared { http: Http::new(), ids: Arc::new(RandomIds), clock: Arc::new(SystemClock) }
}

fn spec(fake: &FakeModel) -> ModelSpec {
    ModelSpec { timeout: Duration::from_secs(10), ..ModelSpec::new(fake.url(), "fake").with_key(KEY) }
}

fn hasty(fake: &FakeModel) -> ModelSpec {
    ModelSpec { timeout: Duration::from_secs(1), ..spec(fake) }
}

fn prompt(text: &str) -> Prompt {
    let user = ModelMessage::User { content: vec![Content::Text(text.into())], name: None };
    Prompt { system: "Be brief.".into(), messages: vec![user], tools: Arc::default() }
}

struct Outcome {
    result: Result<Completion, ModelError>,
    deltas: Vec<ModelDelta>,
}

impl Outcome {
    fn text(&self) -> &str {
        &self.result.as_ref().unwrap().text
    }

    fn kind(&self) -> ErrorKind {
        self.result.as_ref().unwrap_err().kind
    }

    fn troubles(&self) -> Vec<(ErrorKind, Option<&str>)> {
        let troubles = self.deltas.iter().filter_map(|delta| match delta {
            ModelDelta::Trouble { kind, next_model } => Some((*kind, next_model.as_deref())),
            _ => None,
        });
        troubles.collect()
    }

    fn shown_text(&self) -> String {
        let texts = self.deltas.iter().filter_map(|delta| match delta {
            ModelDelta::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// Asks and gathers what is shown. A model that does not come to an end fails the test.
async fn ask(model: &dyn Model) -> Outcome {
    let (live, mut shown) = mpsc::channel(4);
    let mut deltas = Vec::new();
    let gather = async {
        while let Some(delta) = shown.recv().await {
            deltas.push(delta);
        }
    };
    let both = async { tokio::join!(model.complete(prompt("hi"), live), gather) };
    let (result, ()) = timeout(Duration::from_secs(60), both).await.expect("a call ends in bounded time");
    Outcome { result, deltas }
}

async fn ask_spec(spec: &ModelSpec) -> Outcome {
    ask(build(spec, &[], &shared()).as_ref()).await
}

/// One call to a server that answers so.
async fn ask_script(script: impl Into<Script>) -> (Outcome, FakeModel) {
    let fake = FakeModel::start(script).await;
    (ask_spec(&spec(&fake)).await, fake)
}

#[tokio::test]
async fn an_answer_streams_and_is_whole_at_the_end() {
    let (outcome, fake) = ask_script([Reply::text("Hello to you")]).await;
    let expected = Completion {
        text: "Hello to you".into(),
        usage: Some(Usage { input: 11, output: 7 }),
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
    let gate = Gate::new();
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
async fn a_server_without_a_key_is_sent_none() {
    let fake = FakeModel::start([Reply::text("ok")]).await;
    let outcome = ask_spec(&ModelSpec::new(format!("{}/", fake.url()), "fake").with_key(" ")).await;
    assert_eq!(outcome.text(), "ok");
    assert_eq!(fake.requests()[0].authorization, None);
}

#[tokio::test]
async fn refusals_that_will_not_pass_are_told_at_once_and_never_with_the_key() {
    for (status, body, kind) in [
        (401, format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#), ErrorKind::Auth),
        (403, format!("<html>forbidden for {KEY}</html>"), ErrorKind::Auth),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#.to_owned(), ErrorKind::Quota),
        (429, r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#.to_owned(), ErrorKind::Quota),
        (
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"long"}}"#.to_owned(),
            ErrorKind::ContextLength,
        ),
        (400, r#"{"error":{"code":400,"message":"no such field"}}"#.to_owned(), ErrorKind::BadRequest),
        (404, r#"{"detail":"model not found"}"#.to_owned(), ErrorKind::BadRequest),
    ] {
        let (outcome, fake) = ask_script(Reply::status(status, body.clone())).await;
        assert_eq!(outcome.kind(), kind, "{status} {body}");
        assert_eq!((fake.requests().len(), outcome.deltas.len()), (1, 0), "{status} {body}");
        let detail = outcome.result.unwrap_err().detail;
        assert!(detail.contains(&status.to_string()) && !detail.contains(KEY), "{detail}");
    }
}

#[tokio::test]
async fn trouble_that_passes_is_waited_for_and_told_once() {
    let (outcome, fake) =
        ask_script([Reply::status(500, "oops"), Reply::status(502, "<html>"), Reply::text("fine")]).await;
    assert_eq!(outcome.text(), "fine");
    assert_eq!(outcome.troubles(), [(ErrorKind::Server, None)]);
    assert_eq!(fake.requests().len(), 3);
}

#[tokio::test]
async fn a_wish_to_wait_is_honoured() {
    let refusal = |wish| Reply::status(429, "slow down").header("retry-after", wish);
    let (outcome, _) = ask_script([refusal("0"), Reply::text("fine")]).await;
    assert_eq!((outcome.text(), outcome.troubles()), ("fine", vec![(ErrorKind::Rate, None)]));

    let (outcome, fake) = ask_script([refusal("3600"), Reply::text("never asked")]).await;
    assert_eq!((outcome.kind(), fake.requests().len()), (ErrorKind::Rate, 1));
    assert_eq!(outcome.result.unwrap_err().retry_after, Some(Duration::from_secs(3600)));
}

#[tokio::test]
async fn a_server_that_keeps_failing_is_given_up_on() {
    let (outcome, fake) = ask_script(Reply::status(503, "{}")).await;
    assert_eq!((outcome.kind(), fake.requests().len()), (ErrorKind::Server, 4));
    assert_eq!(outcome.troubles(), [(ErrorKind::Server, None)]);
}

#[tokio::test]
async fn a_server_that_hangs_is_a_timeout_and_its_connection_is_closed() {
    let fake = FakeModel::start(Reply::hang()).await;
    assert_eq!(ask_spec(&hasty(&fake)).await.kind(), ErrorKind::Timeout);
    fake.wait_until_idle().await;
}

#[tokio::test]
async fn silence_in_the_middle_of_an_answer_is_a_timeout() {
    let fake = FakeModel::start(Reply::text("one two").hang_after(2)).await;
    let outcome = ask_spec(&hasty(&fake)).await;
    assert_eq!((outcome.kind(), outcome.shown_text().as_str()), (ErrorKind::Timeout, "one "));
    assert_eq!(fake.requests().len(), 1);
}

#[tokio::test]
async fn an_answer_slower_than_the_timeout_is_read_as_long_as_it_keeps_coming() {
    let pieces = ["a"; 12];
    let fake = FakeModel::start([Reply::pieces(pieces).paced(Duration::from_millis(90))]).await;
    assert_eq!(ask_spec(&hasty(&fake)).await.text(), "aaaaaaaaaaaa");
}

#[tokio::test]
async fn a_connection_lost_before_the_first_word_is_tried_again() {
    let (outcome, fake) = ask_script([Reply::text("x").cut_after(1), Reply::text("fine")]).await;
    assert_eq!((outcome.text(), fake.requests().len()), ("fine", 2));
    assert_eq!(outcome.troubles(), [(ErrorKind::Network, None)]);
}

#[tokio::test]
async fn a_connection_lost_behind_the_first_word_is_told_and_not_tried_again() {
    let (outcome, fake) = ask_script([Reply::text("one two").cut_after(2), Reply::text("again")]).await;
    assert_eq!((outcome.kind(), fake.requests().len()), (ErrorKind::Network, 1));
    assert_eq!(outcome.deltas, [ModelDelta::Text("one ".into())]);
    let detail = outcome.result.unwrap_err().detail;
    assert!(detail.contains("broke off"), "{detail}");
}

#[tokio::test]
async fn an_answer_without_measure_is_cut_and_its_connection_closed() {
    let letters = "x".repeat(256 * 1024);
    let (outcome, fake) = ask_script([Reply::pieces(vec![letters.as_str(); 40]).hang_after(40)]).await;
    let completion = outcome.result.unwrap();
    assert_eq!((completion.text.len(), completion.truncated), (2 * 1024 * 1024, true));
    fake.wait_until_idle().await;
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
async fn nobody_listening_is_a_network_error() {
    // A port that was free a moment ago, and is again.
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let spec = ModelSpec::new(format!("http://{address}/v1"), "fake");
    let outcome = ask_spec(&ModelSpec { timeout: Duration::from_secs(1), ..spec }).await;
    assert_eq!(outcome.kind(), ErrorKind::Network);
}

#[tokio::test]
async fn an_address_that_is_none_is_a_bad_request_and_so_is_one_that_has_moved() {
    let outcome = ask_spec(&ModelSpec::new("not an address", "fake")).await;
    assert_eq!(outcome.kind(), ErrorKind::BadRequest);

    for status in [301, 302, 307, 308] {
        let moved = Reply::status(status, "").header("location", "https://elsewhere/v1");
        let error = ask_script(moved).await.0.result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadRequest);
        assert!(error.detail.contains("https://elsewhere/v1"), "{}", error.detail);
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_sent_is_told_without_asking() {
    let fake = FakeModel::start(Reply::text("x")).await;
    let outcome = ask_spec(&ModelSpec::new(fake.url(), "fake").with_key("sk-a\nb")).await;
    assert_eq!((outcome.kind(), fake.requests().len()), (ErrorKind::Auth, 0));
}

#[tokio::test]
async fn what_is_no_answer_is_a_bad_response() {
    for reply in [
        Reply::raw("text/event-stream", "data: {oops\n\n"),
        Reply::raw("text/html", "<html>the console of a gateway</html>"),
        Reply::raw("application/json", "{\"choices\":"),
        Reply::json(&json!({"choices": []})),
    ] {
        let shown = format!("{reply:?}");
        let (outcome, _) = ask_script([reply.clone(), Reply::text("fine")]).await;
        assert_eq!(outcome.text(), "fine", "{shown}");
        assert_eq!(outcome.troubles(), [(ErrorKind::BadResponse, None)], "{shown}");
    }
}

#[tokio::test]
async fn an_error_with_a_good_status_is_seen() {
    let (outcome, _) = ask_script(Reply::json(&json!({"error": {"code": 401, "message": "who?"}}))).await;
    assert_eq!(outcome.kind(), ErrorKind::Auth);

    let error = json!({"error": {"message": "maximum context length is 10 tokens"}});
    let (outcome, _) = ask_script(Reply::events([error]).done()).await;
    assert_eq!(outcome.kind(), ErrorKind::ContextLength);

    let begun = json!({"choices": [{"delta": {"content": "a"}}]});
    let (outcome, fake) = ask_script(Reply::events([begun, json!({"error": "overloaded"})])).await;
    assert_eq!((outcome.kind(), fake.requests().len()), (ErrorKind::Server, 1));
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
    assert_eq!(outcome.result.unwrap().usage, Some(Usage { input: 3, output: 2 }));
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
    let (outcome, _) = ask_script([Reply::text("one two").end_after(2)]).await;
    assert_eq!((outcome.kind(), outcome.shown_text().as_str()), (ErrorKind::Network, "one "));
}

fn whole(message: &Value) -> Reply {
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 2});
    Reply::json(
        &json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}),
    )
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
async fn a_server_is_asked_in_the_way_it_understands_and_this_is_remembered() {
    let script = Script::compute(|seen| {
        if seen.body.get("stream_options").is_some() {
            Reply::status(400, r#"{"error":{"message":"Unknown parameter: 'stream_options'"}}"#)
        } else if seen.body["stream"] == true {
            Reply::status(400, r#"{"detail":"streaming is not supported"}"#)
        } else if seen.body.get("max_tokens").is_some() {
            Reply::status(400, r#"{"error":{"message":"Use 'max_completion_tokens' instead."}}"#)
        } else {
            whole(&json!({"content": "ok"}))
        }
    });
    let fake = FakeModel::start(script).await;
    let model = build(&ModelSpec { max_output_tokens: Some(9), ..spec(&fake) }, &[], &shared());
    for requests in [4, 5] {
        let outcome = ask(model.as_ref()).await;
        assert_eq!((outcome.text(), outcome.troubles()), ("ok", vec![]));
        assert_eq!(fake.requests().len(), requests);
    }
    assert_eq!(fake.requests()[4].body["max_completion_tokens"], 9);
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
            ModelDelta::ToolInput { index: 0, arguments, .. } => Some(arguments.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, json!({"path": "说明"}).to_string());
}

#[tokio::test]
async fn another_model_is_asked_where_the_first_cannot() {
    let broken = FakeModel::start(Reply::status(401, "{}")).await;
    let working = FakeModel::start([Reply::text("fine")]).await;
    let spare = ModelSpec { model: "spare".into(), ..spec(&working) };
    let model = build(&spec(&broken), &[spare], &shared());
    let outcome = ask(model.as_ref()).await;
    assert_eq!((outcome.text(), outcome.troubles()), ("fine", vec![(ErrorKind::Auth, Some("spare"))]));
    assert_eq!((broken.requests().len(), working.requests().len()), (1, 1));
    assert_eq!(working.requests()[0].body["model"], "spare");
    assert_eq!(model.name(), "fake");
}

#[tokio::test]
async fn another_model_is_not_asked_once_words_were_shown() {
    let broken = FakeModel::start(Reply::text("one two").cut_after(2)).await;
    let spare = FakeModel::start(Reply::text("never")).await;
    let outcome = ask(build(&spec(&broken), &[spec(&spare)], &shared()).as_ref()).await;
    assert_eq!((outcome.kind(), outcome.shown_text().as_str()), (ErrorKind::Network, "one "));
    assert_eq!(spare.requests(), []);
}

#[tokio::test]
async fn dropping_the_call_closes_its_connection() {
    for reply in [Reply::hang(), Reply::text("one two").hang_after(2)] {
        let fake = FakeModel::start(reply).await;
        let model = build(&spec(&fake), &[], &shared());
        let (live, _shown) = mpsc::channel(4);
        let call = model.complete(prompt("hi"), live);
        tokio::select! {
            result = call => panic!("nothing was to come: {result:?}"),
            () = fake.wait_for_requests(1) => {}
        }
        timeout(Duration::from_secs(30), fake.wait_until_idle())
            .await
            .expect("the server sees the client leave");
    }
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
    let gate = Gate::new();
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
