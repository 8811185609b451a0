//! The UI message stream, byte for byte.

use serde_json::json;

use super::super::test_server::{Reader, TestServer, message, outcome, user};
use super::stream::{THREAD, answer, begin, golden, lines, says};
use crate::domain::{Command, ErrorKind, IngressKind};
use crate::ports::{Acceptance, RunOutcome, ThreadView};
use crate::uimessage::{CommandRecord, ErrorRecord, Part, Role, RunStatus, TextPart, ToolPart, ToolState};

#[tokio::test]
async fn a_plain_answer_is_streamed_byte_for_byte() {
    let text = |words: &str| Part::Text(TextPart::streaming(words));
    let states = ["你", "你好", "你好 \"a\"\nb"]
        .map(|words| answer(RunStatus::Running, vec![Part::StepStart, text(words)]));
    let done = answer(RunStatus::Done, vec![Part::StepStart, Part::text("你好 \"a\"\nb")]);
    let expected = lines(
        r#"START
        data: {"type":"start-step"}
        data: {"type":"text-start","id":"0"}
        data: {"type":"text-delta","id":"0","delta":"你"}
        data: {"type":"text-delta","id":"0","delta":"好"}
        data: {"type":"text-delta","id":"0","delta":" \"a\"\nb"}
        data: {"type":"text-end","id":"0"}
        data: {"type":"finish-step"}
        data: {"type":"finish","finishReason":"stop","messageMetadata":{"status":"done"}}
        data: [DONE]"#,
    );
    assert_eq!(golden(&states, outcome(RunStatus::Done, vec![done])).await, expected);
}

#[tokio::test]
async fn tool_calls_are_streamed_with_their_whole_life() {
    let tool = |state| Part::Tool(Box::new(ToolPart::new("read_file", "call_1".parse().unwrap(), state)));
    let input = || json!({ "path": "a" });
    let raw = "{\"path\":\"a\"}".to_owned();
    let thought = || Part::Reasoning(TextPart::done("hm"));
    let running = |state| answer(RunStatus::Running, vec![Part::StepStart, thought(), tool(state)]);
    let output = || ToolState::OutputAvailable {
        input: input(),
        output: json!(null),
        approval: None,
        preliminary: None,
    };
    let states = [
        running(ToolState::InputStreaming { input: None, raw_input: Some(raw) }),
        running(ToolState::InputAvailable { input: input() }),
        running(output()),
    ];
    let parts = vec![Part::StepStart, thought(), tool(output()), Part::StepStart, Part::text("ok")];
    let expected = lines(
        r#"START
        data: {"type":"start-step"}
        data: {"type":"reasoning-start","id":"0"}
        data: {"type":"reasoning-delta","id":"0","delta":"hm"}
        data: {"type":"reasoning-end","id":"0"}
        data: {"type":"tool-input-start","toolCallId":"call_1","toolName":"read_file"}
        data: {"type":"tool-input-delta","toolCallId":"call_1","inputTextDelta":"{\"path\":\"a\"}"}
        data: {"type":"tool-input-available","toolCallId":"call_1","toolName":"read_file","input":{"path":"a"}}
        data: {"type":"tool-output-available","toolCallId":"call_1","output":null}
        data: {"type":"finish-step"}
        data: {"type":"start-step"}
        data: {"type":"text-start","id":"1"}
        data: {"type":"text-delta","id":"1","delta":"ok"}
        data: {"type":"text-end","id":"1"}
        data: {"type":"finish-step"}
        data: {"type":"finish","finishReason":"stop","messageMetadata":{"status":"done"}}
        data: [DONE]"#,
    );
    assert_eq!(
        golden(&states, outcome(RunStatus::Done, vec![answer(RunStatus::Done, parts)])).await,
        expected
    );
}

#[tokio::test]
async fn a_stop_closes_what_is_open_and_aborts() {
    let text = |words: &str| Part::Text(TextPart::streaming(words));
    let states = [answer(RunStatus::Running, vec![Part::StepStart, text("half a")])];
    let end = outcome(
        RunStatus::Stopped,
        vec![answer(RunStatus::Stopped, vec![Part::StepStart, Part::text("half a sen")])],
    );
    let expected = lines(
        r#"START
        data: {"type":"start-step"}
        data: {"type":"text-start","id":"0"}
        data: {"type":"text-delta","id":"0","delta":"half a"}
        data: {"type":"text-delta","id":"0","delta":" sen"}
        data: {"type":"text-end","id":"0"}
        data: {"type":"finish-step"}
        data: {"type":"abort","reason":"stopped"}
        data: {"type":"finish","finishReason":"other","messageMetadata":{"status":"stopped"}}
        data: [DONE]"#,
    );
    assert_eq!(golden(&states, end).await, expected);
}

#[tokio::test]
async fn a_failure_ends_with_an_error() {
    let error = ErrorRecord {
        kind: ErrorKind::Auth,
        text: "the key was refused".to_owned(),
        retryable: false,
        detail: None,
    };
    let states = [answer(RunStatus::Running, vec![Part::StepStart])];
    let parts = vec![Part::StepStart, Part::Error(error.clone())];
    let end = RunOutcome {
        error: Some(error),
        ..outcome(RunStatus::Failed, vec![answer(RunStatus::Failed, parts)])
    };
    let expected = lines(
        r#"START
        data: {"type":"start-step"}
        data: {"type":"data-error","data":{"kind":"auth","text":"the key was refused","retryable":false}}
        data: {"type":"finish-step"}
        data: {"type":"message-metadata","messageMetadata":{"status":"failed"}}
        data: {"type":"error","errorText":"the key was refused"}
        data: [DONE]"#,
    );
    assert_eq!(golden(&states, end).await, expected);
}

#[tokio::test]
async fn a_command_is_answered_by_its_record() {
    let (stage, mut threads) = TestServer::new();
    let (response, _front, event) = begin(&stage, &mut threads, says("/status")).await;
    assert_eq!(event.kind, IngressKind::Command(Command::Status.into()));
    let author = "web:user:operator".parse().unwrap();
    let record = CommandRecord {
        command: "/status".to_owned(),
        author,
        reply: "Idle.".to_owned(),
        choices: Vec::new(),
    };
    let record =
        message(THREAD, "a1", Role::Assistant, Some(RunStatus::Running), vec![Part::Command(record)]);
    let mut reader = Reader::new(response);
    let (body, ()) = tokio::join!(reader.rest(), async {
        threads.is_awaited().await.1.send(outcome(RunStatus::Done, vec![record])).unwrap();
    });
    let expected = lines(
        r#"START
        data: {"type":"data-command","data":{"command":"/status","author":"web:user:operator","reply":"Idle."}}
        data: {"type":"finish","finishReason":"stop","messageMetadata":{"status":"done"}}
        data: [DONE]"#,
    );
    // The answer has an id of its own: the record's id is that of the typed message.
    let expected = expected.replace(r#""messageId":"a1""#, r#""messageId":"a1.reply""#);
    assert_eq!(body, expected);
}

#[tokio::test(start_paused = true)]
async fn other_turns_of_the_thread_are_not_told() {
    let (stage, mut threads) = TestServer::new();
    let (response, front, _) = begin(&stage, &mut threads, says("hi")).await;
    let mut other = message(THREAD, "a0", Role::Assistant, None, vec![Part::text("for somebody else")]);
    other.metadata.correlation_id = "run_0".parse().unwrap();
    front.live(&other);
    let mut reader = Reader::new(response);
    let (bytes, (_, reply)) = tokio::join!(reader.next(), threads.is_awaited());
    assert_eq!(bytes.as_deref(), Some(": keep-alive\n\n"));
    reply.send(outcome(RunStatus::Done, vec![answer(RunStatus::Done, vec![Part::text("x")])])).unwrap();
    assert!(reader.rest().await.contains(r#""delta":"x""#));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_starts_over_is_told_whole_at_its_end() {
    let (stage, mut threads) = TestServer::new();
    let (response, front, _) = begin(&stage, &mut threads, says("hi")).await;
    let state = |words: &str| answer(RunStatus::Running, vec![Part::Text(TextPart::streaming(words))]);
    front.live(&state("hello wor"));
    let mut reader = Reader::new(response);
    let (_, (_, reply)) = tokio::join!(reader.next(), threads.is_awaited());
    front.live(&state("no"));
    assert_eq!(reader.next().await.as_deref(), Some(": keep-alive\n\n"));
    reply.send(outcome(RunStatus::Done, vec![state("no.")])).unwrap();
    let expected = lines(
        r#"data: {"type":"text-end","id":"0"}
        data: {"type":"text-start","id":"1"}
        data: {"type":"text-delta","id":"1","delta":"no."}
        data: {"type":"text-end","id":"1"}
        data: {"type":"finish","finishReason":"stop","messageMetadata":{"status":"done"}}
        data: [DONE]"#,
    );
    assert_eq!(reader.rest().await, expected);
}

#[tokio::test]
async fn a_run_over_several_messages_is_one_answer() {
    let (stage, mut threads) = TestServer::new();
    let (response, front, _) = begin(&stage, &mut threads, says("hi")).await;
    let first = |status, words: &str| answer(status, vec![Part::StepStart, Part::text(words)]);
    front.live(&answer(RunStatus::Running, vec![Part::StepStart, Part::Text(TextPart::streaming("on"))]));
    let mut reader = Reader::new(response);
    let (bytes, (_, reply)) = tokio::join!(reader.next(), threads.is_awaited());
    assert!(bytes.unwrap().ends_with("\"delta\":\"on\"}\n\n"));
    // The client misses the end of the first message; it is stored.
    stage.store.put(first(RunStatus::Continued, "one"));
    let second = message(THREAD, "a2", Role::Assistant, None, vec![Part::StepStart, Part::text("two")]);
    front.live(&second);
    let bytes = reader.next().await.unwrap();
    reply.send(outcome(RunStatus::Done, vec![first(RunStatus::Continued, "one"), second])).unwrap();
    let all = bytes + &reader.rest().await;
    let expected = lines(
        r#"data: {"type":"text-delta","id":"0","delta":"e"}
        data: {"type":"text-end","id":"0"}
        data: {"type":"finish-step"}
        data: {"type":"start-step"}
        data: {"type":"text-start","id":"1"}
        data: {"type":"text-delta","id":"1","delta":"two"}
        data: {"type":"text-end","id":"1"}
        data: {"type":"finish-step"}
        data: {"type":"finish","finishReason":"stop","messageMetadata":{"status":"done"}}
        data: [DONE]"#,
    );
    assert_eq!(all, expected);
}

#[tokio::test]
async fn a_message_that_was_answered_is_answered_the_same_way() {
    let (stage, mut threads) = TestServer::new();
    stage.store.put(user(THREAD, "m1", "hi"));
    let (response, _front) = tokio::join!(stage.post("/api/chat", says("hi")), async {
        let front = threads.is_watched(ThreadView::default()).await;
        threads.takes(Acceptance::Duplicate { message: "m1".parse().unwrap() }).await;
        front
    });
    let mut reader = Reader::new(response);
    let (body, ()) = tokio::join!(reader.rest(), async {
        let end = outcome(RunStatus::Done, vec![answer(RunStatus::Done, vec![Part::text("as before")])]);
        threads.is_awaited().await.1.send(end).unwrap();
    });
    assert!(body.contains(r#""delta":"as before""#) && body.ends_with("data: [DONE]\n\n"), "{body}");
}
