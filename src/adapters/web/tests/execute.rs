//! `POST /api/execute`.

use serde_json::{Value, json};

use super::test_server::{TestServer, json as read, message, outcome, post, request, text, user};
use crate::domain::{Command, ErrorKind, IngressKind};
use crate::ports::{Acceptance, RunOutcome};
use crate::uimessage::{CommandRecord, ErrorRecord, Part, Role, RunStatus, ToolPart, ToolState};

fn answered(parts: Vec<Part>) -> RunOutcome {
    outcome(RunStatus::Done, vec![message("api:chat:c", "a1", Role::Assistant, Some(RunStatus::Done), parts)])
}

#[tokio::test]
async fn the_answer_comes_whole_with_its_tool_calls() {
    let (stage, mut threads) = TestServer::new();
    let body = json!({ "instructions": "read it", "chatId": "c", "userId": "u/1", "messageId": "k1" });
    let tool = ToolState::OutputAvailable {
        input: json!({ "path": "a" }),
        output: json!({ "text": "1" }),
        approval: None,
        preliminary: None,
    };
    let failed = ToolState::OutputError {
        input: Some(json!({})),
        raw_input: None,
        error_text: "no such file".to_owned(),
        approval: None,
    };
    let run = answered(vec![
        Part::StepStart,
        Part::text("Let me look. "),
        Part::Tool(Box::new(ToolPart::new("read_file", "call_1".parse().unwrap(), tool))),
        Part::Tool(Box::new(ToolPart::new("read_file", "call_2".parse().unwrap(), failed))),
        Part::StepStart,
        Part::text("It says 1."),
    ]);
    let (response, event) = tokio::join!(stage.post("/api/execute", body), async {
        let event = threads.accepts().await;
        let (message, reply) = threads.is_awaited().await;
        assert_eq!(message.as_str(), "k1");
        reply.send(run).unwrap();
        event
    });
    assert_eq!(event.thread.as_str(), "api:chat:c");
    assert_eq!((event.author.id.as_str(), event.message.as_str()), ("api:user:u%2F1", "k1"));
    assert!(matches!(event.kind, IngressKind::Said(said) if said.text == "read it"));
    let expected = json!({
        "success": true,
        "output": "It says 1.",
        "toolCalls": [
            { "tool": "read_file", "input": { "path": "a" }, "output": { "text": "1" } },
            { "tool": "read_file", "input": {}, "output": { "error": "no such file" } },
        ],
        "status": "done",
        "threadId": "api:chat:c",
        "correlationId": "run_1",
        "messageId": "k1",
        "approvals": [],
    });
    assert_eq!(read(response).await, (http::StatusCode::OK, expected));
}

#[tokio::test]
async fn how_a_run_ended_is_told_as_a_status() {
    let error =
        ErrorRecord { kind: ErrorKind::Rate, text: "slow down".to_owned(), retryable: true, detail: None };
    let record = json!({ "kind": "rate", "text": "slow down", "retryable": true });
    let stopped = json!({ "kind": "stopped", "text": "the turn was stopped", "retryable": false });
    let failed = RunOutcome { error: Some(error.clone()), ..outcome(RunStatus::Failed, Vec::new()) };
    let told = outcome(
        RunStatus::Failed,
        vec![message("api:chat:c", "a1", Role::Assistant, None, vec![Part::Error(error)])],
    );
    let author = "api:user:operator".parse().unwrap();
    let record_part = CommandRecord { command: "/status".to_owned(), author, reply: "Idle.".to_owned() };
    for (run, status, output, error) in [
        (answered(vec![Part::text("hi")]), "done", "hi", Value::Null),
        (failed, "failed", "", record.clone()),
        (told, "failed", "", record),
        (outcome(RunStatus::Stopped, Vec::new()), "failed", "", stopped),
        (outcome(RunStatus::Running, Vec::new()), "running", "", Value::Null),
        (answered(vec![Part::Command(record_part)]), "done", "Idle.", Value::Null),
    ] {
        let (stage, mut threads) = TestServer::new();
        let asking = stage.post("/api/execute", json!({ "instructions": "x", "chatId": "c" }));
        let (response, ()) = tokio::join!(asking, async {
            threads.accepts().await;
            threads.is_awaited().await.1.send(run).unwrap();
        });
        let (code, body) = read(response).await;
        assert_eq!(code, 200);
        assert_eq!((&body["status"], &body["output"]), (&json!(status), &json!(output)), "{body}");
        assert_eq!((&body["success"], &body["error"]), (&json!(status == "done"), &error), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_takes_too_long_is_running() {
    let (stage, mut threads) = TestServer::new();
    let asking = stage.post("/api/execute", json!({ "instructions": "x", "timeoutMs": 5000 }));
    let (response, _held) = tokio::join!(asking, async {
        threads.accepts().await;
        threads.is_awaited().await
    });
    let (code, body) = read(response).await;
    assert_eq!((code.as_u16(), &body["status"], &body["success"]), (200, &json!("running"), &json!(false)));
    assert_eq!(body["correlationId"], "run_1");
}

#[tokio::test]
async fn what_the_threads_refuse_is_refused_as_json() {
    for (acceptance, status, retry) in [
        (Acceptance::Busy, 429, true),
        (Acceptance::Refused("not now".to_owned()), 409, false),
        (Acceptance::StorageFailed("disk full".to_owned()), 507, true),
        (Acceptance::Stopping, 503, true),
    ] {
        let (stage, mut threads) = TestServer::new();
        let asking = stage.post("/api/execute", json!({ "instructions": "x" }));
        let (response, _) = tokio::join!(asking, threads.takes(acceptance));
        assert_eq!(response.headers().contains_key("retry-after"), retry, "{status}");
        assert_eq!(response.headers().get("content-type").unwrap(), "application/json");
        assert_eq!(response.status(), status);
    }
}

#[tokio::test]
async fn the_same_message_gives_the_same_answer() {
    let (stage, mut threads) = TestServer::new();
    let asking = stage.post("/api/execute", json!({ "instructions": "x", "messageId": "k1" }));
    let (response, event) = tokio::join!(asking, async {
        let event = threads.takes(Acceptance::Duplicate { message: "k1".parse().unwrap() }).await;
        threads.is_awaited().await.1.send(answered(vec![Part::text("as before")])).unwrap();
        event
    });
    assert_eq!(event.thread.as_str(), "api:chat:k1", "a retry finds its thread");
    let (_, body) = read(response).await;
    assert_eq!((&body["output"], &body["correlationId"]), (&json!("as before"), &json!("run_1")));
}

#[tokio::test]
async fn an_answer_the_threads_forgot_is_read_from_the_disk() {
    let (stage, mut threads) = TestServer::new();
    stage.store.put(user("api:chat:k1", "k1", "x"));
    let parts = vec![Part::text("from disk")];
    stage.store.put(message("api:chat:k1", "a1", Role::Assistant, Some(RunStatus::Done), parts));
    let asking = stage.post("/api/execute", json!({ "instructions": "x", "messageId": "k1" }));
    let (response, ()) = tokio::join!(asking, async {
        threads.takes(Acceptance::Duplicate { message: "k1".parse().unwrap() }).await;
        threads.is_awaited().await.1.send(RunOutcome::default()).unwrap();
    });
    let (_, body) = read(response).await;
    assert_eq!((&body["output"], &body["status"]), (&json!("from disk"), &json!("done")));
}

#[tokio::test]
async fn ids_may_come_in_a_header_or_not_at_all() {
    let (stage, mut threads) = TestServer::new();
    let with_key = |key: &str| {
        let builder = request("POST", "/api/execute").header("content-type", "application/json");
        builder
            .header("idempotency-key", key)
            .body(r#"{"instructions":"/stop","timeoutMs":0}"#.into())
            .unwrap()
    };
    let (_, event) = tokio::join!(stage.send(with_key("h:1")), async {
        let event = threads.accepts().await;
        let _unanswered = threads.is_awaited().await;
        event
    });
    assert_eq!((event.thread.as_str(), event.message.as_str()), ("api:chat:h%3A1", "h:1"));
    assert_eq!(event.kind, IngressKind::Command(Command::Stop.into()));

    let mut seen = Vec::new();
    for _ in 0..2 {
        let asking = stage.send(post("/api/execute", json!({ "instructions": "x", "timeoutMs": 0 })));
        let (_, event) = tokio::join!(asking, async {
            let event = threads.accepts().await;
            let _unanswered = threads.is_awaited().await;
            event
        });
        assert_eq!(event.author.id.as_str(), "api:user:operator");
        seen.push((event.thread, event.message));
    }
    assert_ne!(seen[0], seen[1], "every new message has a thread of its own");
    assert_eq!(stage.send(with_key(&"x".repeat(600))).await.status(), 400);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_hangs_is_answered() {
    let (stage, _threads) = TestServer::new();
    let (status, words) = text(stage.post("/api/execute", json!({ "instructions": "x" })).await).await;
    assert!(status == 503 && words.contains("same id"), "{status} {words}");
}

#[tokio::test]
async fn what_is_accepted_and_let_go_of_is_running() {
    let (stage, mut threads) = TestServer::new();
    let asking = stage.post("/api/execute", json!({ "instructions": "x", "messageId": "k1" }));
    let (response, ()) = tokio::join!(asking, async {
        threads.accepts().await;
        threads.says_nothing().await;
    });
    let (code, body) = read(response).await;
    assert_eq!((code.as_u16(), &body["status"], &body["messageId"]), (200, &json!("running"), &json!("k1")));
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_named() {
    let (stage, _threads) = TestServer::new();
    for (body, word) in [
        (json!({ "instructions": "x", "chatId": "" }), "chatId must not be empty"),
        (json!({ "instructions": "x", "messageId": "" }), "messageId must not be empty"),
        (json!({ "instructions": "x", "chatId": "长".repeat(20) }), "chatId: the id is too long"),
        (json!({ "instructions": "x", "timeoutMs": -1 }), "timeoutMs"),
        (json!(["x", null, null, null, null]), "must be a JSON object"),
    ] {
        let (status, words) = text(stage.post("/api/execute", body).await).await;
        assert!(status == 400 && words.contains(word), "{status} {words}");
    }
    let refused = stage.get("/api/execute").await;
    assert_eq!(refused.headers().get("allow").unwrap(), "POST");
    let (status, words) = text(refused).await;
    assert!(status == 405 && words.contains("method"), "{words}");
}

#[tokio::test]
async fn an_empty_header_says_nothing_and_whole_numbers_may_have_a_point() {
    let (stage, mut threads) = TestServer::new();
    let asking = request("POST", "/api/execute").header("content-type", "application/json");
    let asking = asking.header("idempotency-key", " ").body(r#"{"instructions":"x","timeoutMs":0.0}"#.into());
    let (response, _) = tokio::join!(stage.send(asking.unwrap()), async {
        threads.accepts().await;
        threads.is_awaited().await
    });
    assert_eq!(response.status(), 200);
}
