//! Turns over HTTP: order, concurrency, stopping, and model errors.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::fakes::checker::check_file;
use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script, Seen};

fn echo(seen: &Seen) -> Reply {
    Reply::text(&format!("echo {}", seen.last_user_text())).after(Duration::from_millis(20))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_threads_of_five_messages_keep_their_order_and_run_side_by_side() {
    let model = FakeModel::start(Script::compute(echo)).await;
    let project = Project::with_model(
        &model.url(),
        json!({ "queue": { "mergeMs": 0 }, "limits": { "maxConcurrentRuns": 32 } }),
    );
    let daemon = Arc::new(project.start().await);
    let mut chats = JoinSet::new();
    for chat in 0..200 {
        let daemon = daemon.clone();
        chats.spawn(async move {
            for number in 0..5 {
                let id = format!("c{chat}m{number}");
                let body = json!({ "instructions": id, "chatId": format!("c{chat}"), "messageId": id });
                let answer = daemon.execute(body).await;
                assert_eq!(answer["output"], format!("echo {id}"));
            }
        });
    }
    chats.join_all().await;
    let rss = resident_kib(daemon.pid());
    println!("resident after 200 x 5: {rss} KiB");
    assert!(rss < 200 * 1024, "memory is not bounded: {rss} KiB");
    for chat in 0..200 {
        let messages = check_file(&project.thread_file(&format!("api:chat:c{chat}")));
        let said: Vec<&str> =
            messages.iter().filter(|m| m["role"] == "user").map(|m| m["id"].as_str().unwrap()).collect();
        let expected: Vec<String> = (0..5).map(|number| format!("c{chat}m{number}")).collect();
        assert_eq!(said, expected);
        let roles: Vec<&Value> = messages.iter().map(|m| &m["role"]).collect();
        assert_eq!(roles, ["user", "assistant"].repeat(5));
    }
    assert_eq!(model.requests().len(), 1000);
}

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_concurrency_limit_holds_and_is_fair() {
    let gate = Latch::new();
    let held = gate.clone();
    let model = FakeModel::start(Script::compute(move |seen| echo(seen).behind(&held))).await;
    let project = Project::with_model(&model.url(), json!({ "limits": { "maxConcurrentRuns": 2 } }));
    let daemon = Arc::new(project.start().await);
    let mut chats = JoinSet::new();
    for chat in 0..6 {
        let daemon = daemon.clone();
        chats.spawn(async move {
            daemon.execute(json!({ "instructions": "q", "chatId": format!("c{chat}") })).await
        });
    }
    daemon
        .until("all six to be accepted", async |daemon: &Daemon| {
            let threads = daemon.get_json("/api/threads").await;
            let running =
                threads["threads"].as_array().unwrap().iter().filter(|t| t["state"] == "running").count();
            running == 6 && model.requests().len() == 2
        })
        .await;
    gate.open();
    for answer in chats.join_all().await {
        assert_eq!(answer["output"], "echo q");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_chats_that_ask_at_once_are_all_at_the_model_at_the_same_time() {
    let gate = Latch::new();
    let held = gate.clone();
    let model = FakeModel::start(Script::compute(move |seen| echo(seen).behind(&held))).await;
    let project = Project::with_model(&model.url(), json!({}));
    let daemon = Arc::new(project.start().await);
    let mut chats = JoinSet::new();
    for chat in 0..50 {
        let daemon = daemon.clone();
        chats.spawn(async move {
            daemon.execute(json!({ "instructions": "q", "chatId": format!("c{chat}") })).await
        });
    }
    daemon.until("all fifty to be asked", async |_: &Daemon| model.requests().len() == 50).await;
    gate.open();
    for answer in chats.join_all().await {
        assert_eq!(answer["output"], "echo q");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_message_again_gives_the_same_answer_also_after_a_restart() {
    let model = FakeModel::start(Script::compute(echo)).await;
    let project = Project::with_model(&model.url(), json!({}));
    let body = json!({ "instructions": "once", "messageId": "m-1" });
    let daemon = project.start().await;
    let first = daemon.execute(body.clone()).await;
    assert_eq!(first["threadId"], "api:chat:m-1");
    assert_eq!(daemon.execute(body.clone()).await, first);
    daemon.kill();
    let daemon = project.start().await;
    assert_eq!(daemon.execute(body).await, first);
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_during_a_hanging_model_call_frees_the_thread_and_what_waits_is_next() {
    let model = FakeModel::start([Reply::hang(), Reply::text("second answer")]).await;
    let project = Project::with_model(
        &model.url(),
        json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 600 } }),
    );
    let daemon = Arc::new(project.start().await);
    let ask = |text: &'static str| {
        let daemon = daemon.clone();
        async move { daemon.execute(json!({ "instructions": text, "chatId": "s", "messageId": text })).await }
    };
    let mut asked = JoinSet::new();
    asked.spawn(ask("first"));
    daemon.until("the model to be asked", async |_: &Daemon| model.requests().len() == 1).await;
    asked.spawn(ask("second"));
    daemon
        .until("the second to wait", async |daemon: &Daemon| {
            let thread = daemon.get_json("/api/threads/api:chat:s/messages").await;
            thread["messages"].as_array().unwrap().iter().any(|m| m["id"] == "second")
        })
        .await;
    let status = daemon.execute(json!({ "instructions": "/status", "chatId": "s" })).await;
    assert!(status["output"].as_str().unwrap().contains("fake"), "{status}");
    let stopped = daemon.execute(json!({ "instructions": "/stop", "chatId": "s" })).await;
    assert_eq!(stopped["status"], "done", "{stopped}");
    let answers = asked.join_all().await;
    let by_status = |status: &str| answers.iter().find(|answer| answer["status"] == status).unwrap();
    assert_eq!(by_status("failed")["output"], "");
    assert_eq!(by_status("done")["output"], "second answer");
    daemon.until_state("api:chat:s", "idle").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_in_quick_succession_are_answered_together() {
    let gate = Latch::new();
    let held = gate.clone();
    let model = FakeModel::start(Script::compute(move |seen| echo(seen).behind(&held))).await;
    let project = Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 2000 } }));
    let daemon = Arc::new(project.start().await);
    let mut asked = JoinSet::new();
    for text in ["one", "two"] {
        let asking = daemon.clone();
        asked.spawn(async move {
            asking.execute(json!({ "instructions": text, "chatId": "m", "messageId": text })).await
        });
        let calls = if text == "one" { 1 } else { 2 };
        daemon.until("the model to be asked", async |_: &Daemon| model.requests().len() == calls).await;
    }
    gate.open();
    let answers = asked.join_all().await;
    assert_eq!(answers[0]["output"], "echo two");
    assert_eq!(answers[0]["output"], answers[1]["output"]);
    assert_eq!(answers[0]["correlationId"], answers[1]["correlationId"]);
    let last = model.requests().pop().unwrap();
    let users = last.body["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "user").count();
    assert_eq!(users, 2, "both questions are in one call");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_thread_is_answered() {
    let model = FakeModel::start(Reply::hang()).await;
    let extra =
        json!({ "queue": { "mergeMs": 0 }, "limits": { "mailbox": 2 }, "llm": { "timeoutSecs": 600 } });
    let project = Project::with_model(&model.url(), extra);
    let daemon = project.start().await;
    let send = async |number: usize| {
        let body =
            json!({ "instructions": "q", "chatId": "f", "messageId": format!("m{number}"), "timeoutMs": 1 });
        daemon.post("/api/execute", &body).send().await.unwrap()
    };
    assert_eq!(send(0).await.status(), 200);
    daemon.until("the model to be asked", async |_: &Daemon| model.requests().len() == 1).await;
    for number in 1..3 {
        assert_eq!(send(number).await.status(), 200);
    }
    let busy = send(3).await;
    assert_eq!(busy.status(), 429);
    assert!(!busy.text().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agent_md_is_read_again_when_it_changed_and_the_console_and_the_log_say_so() {
    let model = FakeModel::start(Script::compute(echo)).await;
    let project = Project::with_model(&model.url(), json!({}));
    let daemon = project.start().await;
    daemon.execute(json!({ "instructions": "one", "chatId": "t" })).await;
    let mut events = daemon.get("/api/threads/api%3Achat%3At/events").send().await.unwrap();
    project.write("Agent.md", "You are a lighthouse keeper.");
    daemon.execute(json!({ "instructions": "two", "chatId": "t" })).await;
    let mut heard = String::new();
    while !heard.contains("Agent.md changed and was read again.") {
        let more = tokio::time::timeout(Duration::from_secs(30), events.chunk()).await;
        heard.push_str(&String::from_utf8_lossy(&more.expect(&heard).unwrap().unwrap()));
    }
    drop(events);
    project.write("Agent.md", " ");
    let answer = daemon.execute(json!({ "instructions": "three", "chatId": "t" })).await;
    assert_eq!(answer["status"], "done", "an empty Agent.md keeps the last one: {answer}");
    let system: Vec<bool> = model
        .requests()
        .iter()
        .map(|seen| seen.body["messages"][0]["content"].to_string().contains("lighthouse keeper"))
        .collect();
    assert_eq!(system, [false, true, true]);
    daemon.stop().await;
    let logs = std::fs::read_dir(project.path().join(".ship/logs")).unwrap();
    let logs: String = logs.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    for line in ["instructions changed, read again", "instructions unreadable, last text kept"] {
        assert_eq!(logs.matches(line).count(), 1, "{logs}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_is_shown_while_a_model_call_takes_longer_than_five_seconds() {
    let gate = Latch::new();
    let held = gate.clone();
    let model = FakeModel::start(Script::compute(move |seen| echo(seen).behind(&held))).await;
    let project = Project::with_model(&model.url(), json!({ "llm": { "timeoutSecs": 60 } }));
    let daemon = Arc::new(project.start().await);
    let mut events = daemon.get("/api/threads/api%3Achat%3At/events").send().await.unwrap();
    let asking = daemon.clone();
    let mut asked = JoinSet::new();
    asked.spawn(async move { asking.execute(json!({ "instructions": "q", "chatId": "t" })).await });
    let mut heard = String::new();
    while !heard.contains("Waiting for the model, 5 s so far.") {
        let more = tokio::time::timeout(Duration::from_secs(30), events.chunk()).await;
        heard.push_str(&String::from_utf8_lossy(&more.expect(&heard).unwrap().unwrap()));
    }
    gate.open();
    assert_eq!(asked.join_all().await[0]["output"], "echo q");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_providers_own_words_reach_the_operator_without_the_key() {
    let refusal = r#"{"error":{"message":"Incorrect API key provided: sk-test-canary-123456 (org 7)"}}"#;
    let model = FakeModel::start(Reply::status(401, refusal.to_owned())).await;
    let project = Project::with_model(&model.url(), json!({}));
    let daemon = project.start().await;
    let answer = daemon.execute(json!({ "instructions": "hello", "chatId": "t" })).await;
    let detail = answer["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("Incorrect API key provided") && detail.contains("(org 7)"), "{answer}");
    assert!(!answer["error"]["text"].as_str().unwrap().contains("org 7"), "{answer}");
    let messages = daemon.get_json("/api/threads/api%3Achat%3At/messages").await;
    assert!(messages.to_string().contains("Incorrect API key provided"), "{messages}");
    let shown = project.run(&["threads", "show", "api:chat:t"]);
    assert!(shown.stdout.contains("Incorrect API key provided"), "{shown:?}");
    daemon.stop().await;
    let logs = std::fs::read_dir(project.path().join(".ship/logs")).unwrap();
    let logs: String = logs.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    assert!(logs.contains("Incorrect API key provided"), "{logs}");
    for text in [answer.to_string(), messages.to_string(), shown.stdout, logs] {
        assert!(!text.contains("sk-test-canary"), "the key is shown: {text}");
    }
}

/// Each kind of error, its text for the person, and the number of calls to the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_in_trouble_ends_the_turn_with_the_right_words_or_recovers() {
    let error = |status: u16, body: &str| Reply::status(status, body.to_owned());
    let context = r#"{"error":{"message":"This model's maximum context length is 4096 tokens","code":"context_length_exceeded"}}"#;
    let broken_arguments = json!({ "tool_calls": [{ "index": 0, "id": "c1", "type": "function",
        "function": { "name": "read_file", "arguments": "{\"path\": " } }] });
    let cases: Vec<(&str, Script, Result<&str, &str>)> = vec![
        ("401", error(401, r#"{"error":{"message":"bad key"}}"#).into(), Err("auth")),
        ("402", error(402, r#"{"error":{"message":"Insufficient Balance"}}"#).into(), Err("quota")),
        (
            "429 for ever",
            error(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", "0").into(),
            Err("rate"),
        ),
        ("500 for ever", error(500, "<html>oops</html>").into(), Err("server")),
        ("context length for ever", error(400, context).into(), Err("context-length")),
        ("malformed", Reply::raw("application/json", "{\"choices\": [").into(), Err("bad-response")),
        ("hang", Reply::hang().into(), Err("timeout")),
        ("cut in mid-stream", Reply::text("half an answer").cut_after(2).into(), Err("network")),
        (
            "cut in mid-stream once",
            [Reply::text("half an answer").cut_after(2), Reply::text("a whole answer")].into(),
            Ok("a whole answer"),
        ),
        ("500 once", [error(500, "oops"), Reply::text("well")].into(), Ok("well")),
        ("context length once", [error(400, context), Reply::text("shorter")].into(), Ok("shorter")),
        (
            "arguments that are no JSON",
            [Reply::deltas([broken_arguments], "tool_calls"), Reply::text("mended")].into(),
            Ok("mended"),
        ),
        (
            "unknown fields",
            Reply::deltas([json!({ "content": "odd", "novelty": { "x": [1] } })], "eos").into(),
            Ok("odd"),
        ),
    ];
    for (name, script, expected) in cases {
        let model = FakeModel::start(script).await;
        let project = Project::with_model(&model.url(), json!({ "llm": { "timeoutSecs": 2 } }));
        let daemon = project.start().await;
        let answer = daemon.execute(json!({ "instructions": "你好", "chatId": "t" })).await;
        match expected {
            Ok(output) => assert_eq!(
                (&answer["status"], &answer["output"]),
                (&json!("done"), &json!(output)),
                "{name}: {answer}"
            ),
            Err(kind) => {
                assert_eq!(
                    (&answer["status"], &answer["error"]["kind"]),
                    (&json!("failed"), &json!(kind)),
                    "{name}: {answer}"
                );
                let words = answer["error"]["text"].as_str().unwrap();
                assert!(
                    words.chars().any(|c| ('\u{4e00}'..'\u{9fff}').contains(&c)),
                    "{name}: not in the person's language: {words}"
                );
                assert!(!words.contains("sk-test"), "{name}: the key is shown");
            }
        }
        daemon.until_state("api:chat:t", "idle").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_model_takes_over() {
    let first = FakeModel::start(Reply::status(401, "no")).await;
    let second = FakeModel::start(Reply::text("from the second")).await;
    let fallback = json!({ "provider": "openai", "baseUrl": second.url(), "apiKey": "k2-secret-value", "model": "other" });
    let project = Project::with_model(&first.url(), json!({ "llm": { "fallbacks": [fallback] } }));
    let daemon = project.start().await;
    let answer = daemon.execute(json!({ "instructions": "q" })).await;
    assert_eq!(answer["output"], "from the second", "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_run_and_are_told() {
    let calls =
        Reply::calls([("read_file", json!({ "path": "notes.txt" })), ("list_files", json!({ "path": "." }))]);
    let model = FakeModel::start([calls, Reply::text("it says: buy milk")]).await;
    let project = Project::with_model(&model.url(), json!({}));
    project.write("notes.txt", "buy milk\n");
    let daemon = project.start().await;
    let answer = daemon.execute(json!({ "instructions": "what do my notes say?", "chatId": "n" })).await;
    assert_eq!(answer["output"], "it says: buy milk");
    assert_eq!(answer["toolCalls"][0]["tool"], "read_file");
    assert!(answer["toolCalls"][0]["output"].to_string().contains("buy milk"), "{answer}");
    assert_eq!(answer["toolCalls"].as_array().unwrap().len(), 2);
    let second = &model.requests()[1].body["messages"];
    let roles: Vec<&str> = second.as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_begins_a_conversation_that_knows_nothing_of_the_old() {
    let model = FakeModel::start(Script::compute(echo)).await;
    let project = Project::with_model(&model.url(), json!({}));
    let daemon = project.start().await;
    daemon.execute(json!({ "instructions": "my name is Ada", "chatId": "n" })).await;
    daemon.execute(json!({ "instructions": "/new", "chatId": "n", "messageId": "cmd" })).await;
    daemon.execute(json!({ "instructions": "who am I?", "chatId": "n" })).await;
    let last = model.requests().pop().unwrap().body["messages"].to_string();
    assert!(!last.contains("Ada") && last.contains("who am I?"), "{last}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_answers_whoever_still_waits() {
    let model = FakeModel::start(Script::compute(|_| Reply::hang())).await;
    let project = Project::with_model(
        &model.url(),
        json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 60 }, "limits": { "stopSecs": 2 } }),
    );
    let daemon = project.start().await;
    let body = json!({ "instructions": "x", "chatId": "s", "messageId": "k1" });
    let execute = daemon.post("/api/execute", &body);
    let body = json!({ "id": "s", "messages": [
        { "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "x" }] }
    ] });
    let chat = daemon.post("/api/chat", &body);
    let answered = async |request: reqwest::RequestBuilder| {
        let answer = request.send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    };
    let (execute, chat, stopped) = tokio::join!(answered(execute), answered(chat), async {
        daemon.until_state("api:chat:s", "running").await;
        daemon.until_state("web:chat:s", "running").await;
        daemon.stop().await
    });
    assert!(stopped.success());
    assert_eq!(execute.0, 200, "{}", execute.1);
    let answer: Value = serde_json::from_str(&execute.1).unwrap();
    assert_eq!((&answer["status"], &answer["messageId"]), (&json!("running"), &json!("k1")), "{answer}");
    assert!(chat.1.ends_with("data: [DONE]\n\n"), "{}", chat.1);
}
