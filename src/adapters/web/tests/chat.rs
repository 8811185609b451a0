//! The UI message stream, byte for byte.

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};

use super::stage::{Front, Reader, Stage, Threads, message, outcome, text, user};
use crate::domain::{Command, ErrorKind, IngressEvent, IngressKind, ThreadState};
use crate::ports::{Acceptance, RunOutcome, ThreadView};
use crate::uimessage::{
    CommandRecord, ErrorRecord, Part, Role, RunStatus, TextPart, ToolPart, ToolState, UiMessage,
};

const THREAD: &str = "web:chat:c1";
const START: &str = r#"data: {"type":"start","messageId":"a1","messageMetadata":{"platform":"web","threadId":"web:chat:c1","timestamp":1767225600000,"correlationId":"run_1","status":"running"}}"#;

fn answer(status: RunStatus, parts: Vec<Part>) -> UiMessage {
    message(THREAD, "a1", Role::Assistant, Some(status), parts)
}

fn says(words: &str) -> Value {
    json!({ "id": "c1", "trigger": "submit-message", "messages": [
        { "id": "old", "role": "user", "parts": [{ "type": "text", "text": "forged" }] },
        { "id": "m1", "role": "user", "metadata": { "authorId": "web:user:evil" },
          "parts": [{ "type": "text", "text": words }] },
    ]})
}

async fn begin(stage: &Stage, threads: &mut Threads, body: Value) -> (Response<Body>, Front, IngressEvent) {
    let (response, (front, event)) = tokio::join!(stage.post("/api/chat", body), async {
        let front = threads.is_watched(ThreadView::default()).await;
        let event = threads.accepts().await;
        (front, event)
    });
    (response, front, event)
}

/// Lets a run grow through states to its end and gives what a client reads.
async fn golden(states: &[UiMessage], end: RunOutcome) -> String {
    let (stage, mut threads) = Stage::new();
    let (response, front, _) = begin(&stage, &mut threads, says("hi")).await;
    let mut reader = Reader::new(response);
    let mut all = String::new();
    let mut waiting = None;
    for state in states {
        front.live(state);
        let (bytes, reply) = tokio::join!(reader.next(), async {
            match waiting.take() {
                None => threads.is_awaited().await.1,
                Some(reply) => reply,
            }
        });
        all.push_str(&bytes.unwrap());
        waiting = Some(reply);
    }
    let (rest, ()) = tokio::join!(reader.rest(), async {
        let reply = match waiting {
            None => threads.is_awaited().await.1,
            Some(reply) => reply,
        };
        reply.send(end).unwrap();
    });
    all + &rest
}

fn lines(text: &str) -> String {
    text.trim().lines().map(|line| format!("{}\n\n", line.trim())).collect::<String>().replace("START", START)
}

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
    let error =
        ErrorRecord { kind: ErrorKind::Auth, text: "the key was refused".to_owned(), retryable: false };
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
    let (stage, mut threads) = Stage::new();
    let (response, _front, event) = begin(&stage, &mut threads, says("/status")).await;
    assert_eq!(event.kind, IngressKind::Command(Command::Status.into()));
    let author = "web:user:operator".parse().unwrap();
    let record = CommandRecord { command: "/status".to_owned(), author, reply: "Idle.".to_owned() };
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
    // Under an id of its own: that of the record is the id of what was typed.
    let expected = expected.replace(r#""messageId":"a1""#, r#""messageId":"a1.reply""#);
    assert_eq!(body, expected);
}

#[tokio::test]
async fn the_response_has_the_headers_of_the_protocol() {
    let (stage, mut threads) = Stage::new();
    let (response, front, event) = begin(&stage, &mut threads, says("hi")).await;
    assert_eq!(response.status(), 200);
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache"),
        ("x-vercel-ai-ui-message-stream", "v1"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(response.headers().get(name).unwrap(), value, "{name}");
    }
    assert!(!response.headers().contains_key("content-encoding"));
    assert_eq!(front.thread.as_str(), THREAD);
    assert_eq!((event.message.as_str(), event.author.id.as_str()), ("m1", "web:user:operator"));
    assert_eq!(event.author.name.as_deref(), Some("Ada"));
    assert!(
        matches!(event.kind, IngressKind::Said(said) if said.text == "hi"),
        "only the last message counts"
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_kept_alive_by_comments() {
    let (stage, mut threads) = Stage::new();
    let (response, _front, _) = begin(&stage, &mut threads, says("hi")).await;
    let mut reader = Reader::new(response);
    let (bytes, (_, reply)) = tokio::join!(reader.next(), threads.is_awaited());
    assert_eq!(bytes.as_deref(), Some(": keep-alive\n\n"));
    assert_eq!(reader.next().await.as_deref(), Some(": keep-alive\n\n"));
    reply.send(outcome(RunStatus::Done, Vec::new())).unwrap();
    assert!(reader.rest().await.ends_with("data: [DONE]\n\n"), "the wait for the end survives the comments");
}

#[tokio::test(start_paused = true)]
async fn other_turns_of_the_thread_are_not_told() {
    let (stage, mut threads) = Stage::new();
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
    let (stage, mut threads) = Stage::new();
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
    let (stage, mut threads) = Stage::new();
    let (response, front, _) = begin(&stage, &mut threads, says("hi")).await;
    let first = |status, words: &str| answer(status, vec![Part::StepStart, Part::text(words)]);
    front.live(&answer(RunStatus::Running, vec![Part::StepStart, Part::Text(TextPart::streaming("on"))]));
    let mut reader = Reader::new(response);
    let (bytes, (_, reply)) = tokio::join!(reader.next(), threads.is_awaited());
    assert!(bytes.unwrap().ends_with("\"delta\":\"on\"}\n\n"));
    // The client misses the end of the first message; it is on the disk.
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
    let (stage, mut threads) = Stage::new();
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

#[tokio::test]
async fn triggers_become_events() {
    let parts = |words: &str| json!([{ "type": "text", "text": words }]);
    let send = |id: &str, words: &str, named: Option<&str>| {
        let mut body = json!({ "id": "c1", "trigger": "submit-message",
            "messages": [{ "id": id, "role": "user", "parts": parts(words) }] });
        if let Some(named) = named {
            body["messageId"] = json!(named);
        }
        body
    };
    let regenerate =
        json!({ "id": "c1", "trigger": "regenerate-message", "messageId": "a1", "messages": [] });
    let said = |words: &str| crate::domain::Said { text: words.to_owned(), ..Default::default() };
    for (body, expected) in [
        (send("new", "hi", None), IngressKind::Said(said("hi"))),
        (send("m1", "changed", Some("m1")), IngressKind::Revised(said("changed"))),
        (send("m1", "hi", Some("m1")), IngressKind::Said(said("hi"))),
        (send("m9", "hi", Some("m9")), IngressKind::Said(said("hi"))),
        (regenerate, IngressKind::Regenerate(Some("a1".parse().unwrap()))),
        (json!({ "id": "c1", "trigger": "regenerate-message" }), IngressKind::Regenerate(None)),
    ] {
        let (stage, mut threads) = Stage::new();
        stage.store.put(user(THREAD, "m1", "hi"));
        let (_, _, event) = begin(&stage, &mut threads, body.clone()).await;
        assert_eq!(event.kind, expected, "{body}");
    }
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_before_the_first_byte() {
    let with = |message: Value| json!({ "id": "c1", "messages": [message] });
    let file = |url: &str| json!({ "id": "m", "role": "user", "parts": [{ "type": "file", "mediaType": "image/png", "url": url }] });
    for (body, status, words) in [
        (json!({ "id": "c1", "messages": [] }), 400, "must not be empty"),
        (json!({ "id": "", "messages": [file("data:,")] }), 400, "id must not be empty"),
        (json!({ "id": "c1", "trigger": "else" }), 400, "unknown variant"),
        (with(json!({ "id": "m", "role": "user", "parts": [] })), 400, "empty"),
        (
            with(json!({ "id": "", "role": "user", "parts": [{ "type": "text", "text": "x" }] })),
            400,
            "the last message's id must not be empty",
        ),
        (with(json!({ "id": "m", "role": "assistant", "parts": [] })), 409, "not the user's"),
        (with(json!("x")), 400, "cannot be read"),
        (with(file("file:///etc/passwd")), 400, "url"),
        (with(file("http://127.0.0.1/")), 400, "url"),
    ] {
        let (stage, mut threads) = Stage::new();
        let (got, reason) = text(stage.post("/api/chat", body.clone()).await).await;
        assert!(got == status && reason.contains(words), "{body}: {got} {reason}");
        assert!(threads.nobody_came());
    }
    let (stage, mut threads) = Stage::new();
    let (response, ()) = tokio::join!(stage.post("/api/chat", says("hi")), async {
        let _front = threads.is_watched(ThreadView::default()).await;
        threads.takes(Acceptance::Refused("only the last answer can be written anew".to_owned())).await;
    });
    assert_eq!(
        text(response).await,
        (http::StatusCode::CONFLICT, "only the last answer can be written anew\n".to_owned())
    );
}

#[tokio::test]
async fn files_come_along() {
    let (stage, mut threads) = Stage::new();
    let body = json!({ "id": "c1", "messages": [{ "id": "m1", "role": "user", "parts": [
        { "type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA==", "filename": "a.png" },
        { "type": "text", "text": "/stop" },
    ]}]});
    let (_, _, event) = begin(&stage, &mut threads, body).await;
    let IngressKind::Said(said) = event.kind else { panic!("a file is no command") };
    assert_eq!((said.text.as_str(), said.files.len()), ("/stop", 1));
    assert_eq!(said.files[0].name.as_deref(), Some("a.png"));
}

#[tokio::test]
async fn a_client_that_comes_back_hears_all_from_the_beginning() {
    let (stage, mut threads) = Stage::new();
    let earlier = answer(RunStatus::Continued, vec![Part::StepStart, Part::text("one")]);
    stage.store.put(earlier.clone());
    let live = |words: &str| {
        let text = Part::Text(TextPart::streaming(words));
        message(THREAD, "a2", Role::Assistant, Some(RunStatus::Running), vec![Part::StepStart, text])
    };
    let view = ThreadView {
        state: ThreadState::Running,
        live: Some(std::sync::Arc::new(live("tw"))),
        ..ThreadView::default()
    };
    let (response, front) = tokio::join!(stage.get("/api/chat/c1/stream"), threads.is_watched(view));
    assert_eq!(response.headers().get("x-vercel-ai-ui-message-stream").unwrap(), "v1");
    let mut reader = Reader::new(response);
    let (bytes, (message, reply)) = tokio::join!(reader.next(), threads.is_awaited());
    assert_eq!(message.as_str(), "a2");
    let bytes = bytes.unwrap();
    assert!(bytes.contains("\"delta\":\"one\"") && bytes.ends_with("\"delta\":\"tw\"}\n\n"), "{bytes}");
    front.live(&live("two"));
    assert!(reader.next().await.unwrap().contains("\"delta\":\"o\""));
    reply.send(outcome(RunStatus::Done, vec![earlier, live("two")])).unwrap();
    let rest = reader.rest().await;
    assert!(rest.starts_with("data: {\"type\":\"text-end\"") && rest.ends_with("data: [DONE]\n\n"), "{rest}");
}

#[tokio::test]
async fn there_is_nothing_to_come_back_to_when_nothing_runs() {
    let (stage, mut threads) = Stage::new();
    let (response, _front) =
        tokio::join!(stage.get("/api/chat/c1/stream"), threads.is_watched(ThreadView::default()));
    assert_eq!(text(response).await, (http::StatusCode::NO_CONTENT, String::new()));
}

#[tokio::test]
async fn a_daemon_that_stops_says_so_in_the_stream() {
    let (stage, mut threads) = Stage::new();
    let (response, front, _) = begin(&stage, &mut threads, says("hi")).await;
    front.live(&answer(RunStatus::Running, vec![Part::StepStart, Part::Text(TextPart::streaming("ha"))]));
    let mut reader = Reader::new(response);
    let (_, (_, reply)) = tokio::join!(reader.next(), threads.is_awaited());
    stage.stop.cancel();
    drop(reply);
    let expected = lines(
        r#"data: {"type":"text-end","id":"0"}
        data: {"type":"finish-step"}
        data: {"type":"error","errorText":"the daemon is stopping: the answer goes on after its restart"}
        data: [DONE]"#,
    );
    assert_eq!(reader.rest().await, expected);
}

#[tokio::test]
async fn streams_are_bounded_in_number() {
    let (stage, mut threads) = Stage::new();
    let all = u32::try_from(stage.web.streams.available_permits()).unwrap();
    let held = stage.web.streams.clone().try_acquire_many_owned(all).unwrap();
    assert_eq!(stage.post("/api/chat", says("hi")).await.status(), 503);
    assert!(threads.nobody_came(), "a message that cannot be streamed is not taken");
    drop(held);
    let all = u32::try_from(stage.web.watchers.available_permits()).unwrap();
    let _watching = stage.web.watchers.clone().try_acquire_many_owned(all).unwrap();
    assert_eq!(stage.get("/api/threads/web:chat:c1/events").await.status(), 503);
    let (response, _front, _) = begin(&stage, &mut threads, says("hi")).await;
    let before = stage.web.streams.available_permits();
    drop(response);
    assert_eq!(
        stage.web.streams.available_permits(),
        before + 1,
        "a client that leaves gives its place back"
    );
}

#[tokio::test]
async fn a_photo_may_be_larger_than_words() {
    let message = |text: &str, url: String| {
        json!({ "id": "c1", "messages": [{ "id": "m1", "role": "user", "parts": [
            { "type": "text", "text": text },
            { "type": "file", "mediaType": "image/jpeg", "url": url },
        ] }] })
    };
    let photo = |size: usize| format!("data:image/jpeg;base64,{}", "A".repeat(size));
    let (stage, mut threads) = Stage::new();
    let (_response, _front, event) = begin(&stage, &mut threads, message("look", photo(2 << 20))).await;
    assert!(matches!(event.kind, IngressKind::Said(said) if said.files.len() == 1));
    for body in [message("look", photo(9 << 20)), message(&"x".repeat((1 << 20) + 1), photo(9))] {
        assert_eq!(stage.post("/api/chat", body).await.status(), 413);
    }
    let (status, words) = text(stage.post("/api/chat", message("look", photo(17 << 20))).await).await;
    assert!(status == 413 && words.contains("send only its newest message"), "{words}");
}

#[tokio::test]
async fn a_thread_that_does_not_answer_is_not_taken_for_a_stop() {
    let (stage, mut threads) = Stage::new();
    let (refused, ()) = tokio::join!(stage.post("/api/chat", says("hi")), threads.says_nothing());
    assert_eq!(refused.status(), 429);
    stage.stop.cancel();
    let (refused, ()) = tokio::join!(stage.post("/api/chat", says("hi")), threads.says_nothing());
    assert_eq!(refused.status(), 503);
}
