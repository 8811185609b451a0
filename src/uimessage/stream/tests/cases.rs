//! Examples of the stream's events.

use serde_json::json;

use super::client::{Client, lines, message};
use crate::domain::ErrorKind;
use crate::uimessage::stream::{Cursor, replay};
use crate::uimessage::{
    CommandRecord, ErrorRecord, Part, RunStatus, TextPart, ToolPart, ToolState, ToolType,
};

fn tool(state: ToolState) -> Part {
    Part::Tool(Box::new(ToolPart::new("read_file", "call_1".parse().unwrap(), state)))
}

#[test]
fn a_tool_call_is_told_once_for_each_step_of_its_life() {
    let mut cursor = Cursor::default();
    let raw = |raw: &str| tool(ToolState::InputStreaming { input: None, raw_input: Some(raw.to_owned()) });
    let mut told = Vec::new();
    for part in [
        raw("{\"pa"),
        raw("{\"path\":\"a\"}"),
        tool(ToolState::InputAvailable { input: json!({"path": "a"}) }),
        tool(ToolState::OutputAvailable {
            input: json!({"path": "a"}),
            output: json!(1),
            approval: None,
            preliminary: Some(true),
        }),
        tool(ToolState::OutputAvailable {
            input: json!({"path": "a"}),
            output: json!(1),
            approval: None,
            preliminary: Some(true),
        }),
        tool(ToolState::OutputAvailable {
            input: json!({"path": "a"}),
            output: json!(2),
            approval: None,
            preliminary: None,
        }),
    ] {
        let state = message("m1", vec![Part::StepStart, part]);
        told.extend(cursor.advance(&state));
        assert_eq!(cursor.advance(&state), [], "what was told is not told again");
    }
    insta::assert_snapshot!(lines(told.get(1..).unwrap()), @r#"
    {"type":"start-step"}
    {"type":"tool-input-start","toolCallId":"call_1","toolName":"read_file"}
    {"type":"tool-input-delta","toolCallId":"call_1","inputTextDelta":"{\"pa"}
    {"type":"tool-input-delta","toolCallId":"call_1","inputTextDelta":"th\":\"a\"}"}
    {"type":"tool-input-available","toolCallId":"call_1","toolName":"read_file","input":{"path":"a"}}
    {"type":"tool-output-available","toolCallId":"call_1","output":1,"preliminary":true}
    {"type":"tool-output-available","toolCallId":"call_1","output":2}
    "#);
}

#[test]
fn arguments_that_are_not_json_are_one_chunk() {
    let state = ToolState::OutputError {
        input: None,
        raw_input: Some(json!("{oops")),
        error_text: "not JSON".to_owned(),
        approval: None,
    };
    let mut part = ToolPart::new("x", "call_1".parse().unwrap(), state);
    part.tool = ToolType::Dynamic("mcp".to_owned());
    let told = replay(&message("m1", vec![Part::Tool(Box::new(part))]));
    insta::assert_snapshot!(lines(told.get(1..).unwrap()), @r#"{"type":"tool-input-error","toolCallId":"call_1","toolName":"mcp","input":"{oops","errorText":"not JSON","dynamic":true}"#);
}

#[test]
fn words_and_thinking_may_grow_by_turns() {
    let state = |thinking: &str, words: &str| {
        let (thinking, words) = (TextPart::streaming(thinking), TextPart::streaming(words));
        message("m1", vec![Part::StepStart, Part::Reasoning(thinking), Part::Text(words)])
    };
    let (mut cursor, mut client) = (Cursor::default(), Client::default());
    for (thinking, words) in [("a", ""), ("a", "x"), ("ab", "x"), ("abc", "xy")] {
        client.read(cursor.advance(&state(thinking, words)));
    }
    client.read(cursor.finish(Some(RunStatus::Done)));
    let texts: Vec<&str> = client.parts.iter().map(|part| part.2.as_str()).collect();
    assert_eq!(texts, ["", "abc", "xy"]);
}

#[test]
fn every_way_to_end_closes_what_is_open() {
    let growing = message("m1", vec![Part::StepStart, Part::Text(TextPart::streaming("a"))]);
    let ends = [
        (
            Some(RunStatus::Done),
            r#"{"type":"finish","finishReason":"stop","messageMetadata":{"status":"done"}}"#,
        ),
        (
            Some(RunStatus::Stopped),
            r#"{"type":"finish","finishReason":"other","messageMetadata":{"status":"stopped"}}"#,
        ),
        (Some(RunStatus::Failed), r#"{"type":"error","errorText":"the turn failed"}"#),
        (
            Some(RunStatus::Running),
            r#"{"type":"finish","finishReason":"tool-calls","messageMetadata":{"status":"running"}}"#,
        ),
        (None, r#"{"type":"finish","finishReason":"other"}"#),
    ];
    for (status, last) in ends {
        let (mut cursor, mut client) = (Cursor::default(), Client::default());
        client.read(cursor.advance(&growing));
        let chunks = cursor.finish(status);
        assert_eq!(lines(&chunks).lines().last(), Some(last));
        client.read(chunks);
        assert!(client.ended, "{status:?}");
    }
}

#[test]
fn commands_and_errors_are_data() {
    let author = "web:user:operator".parse().unwrap();
    let command = CommandRecord { command: "/status".to_owned(), author, reply: "idle".to_owned() };
    let error = ErrorRecord { kind: ErrorKind::Auth, text: "no".to_owned(), retryable: false, detail: None };
    let told = replay(&message("m1", vec![Part::Command(command), Part::Error(error)]));
    insta::assert_snapshot!(lines(told.get(1..).unwrap()), @r#"
    {"type":"data-command","data":{"command":"/status","author":"web:user:operator","reply":"idle"}}
    {"type":"data-error","data":{"kind":"auth","text":"no","retryable":false}}
    "#);
}

#[test]
fn a_turn_that_started_over_does_not_fit() {
    let text = |text: &str| message("m1", vec![Part::StepStart, Part::Text(TextPart::streaming(text))]);
    let mut cursor = Cursor::default();
    assert!(cursor.fits(&text("")));
    let _told = cursor.advance(&text("hello"));
    for (next, fits) in [
        (text("hello there"), true),
        (text("hell"), false),
        (message("m1", vec![Part::StepStart]), false),
        (message("m1", vec![Part::StepStart, Part::StepStart]), false),
        (message("m2", text("hello there").parts), false),
    ] {
        assert_eq!(cursor.fits(&next), fits, "{next:?}");
    }
}
