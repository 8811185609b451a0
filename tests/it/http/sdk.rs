//! The AI SDK with the real daemon: stored messages pass the SDK's validator, prompts equal those of the SDK, and the
//! SDK's chat client works with it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script};
use crate::fakes::sdk::{ChatClient, judge, judge_project, newest};

fn asking(model: &FakeModel) -> Project {
    Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 600 } }))
}

fn send(text: &str) -> Value {
    json!({ "do": "send", "text": text })
}

/// The client's messages are the stored ones: same ids, same parts.
async fn assert_same_as_stored(daemon: &Daemon, chat: &str, shown: &Value) {
    let stored = daemon.get_json(&format!("/api/threads/web:chat:{chat}/messages")).await;
    let essence = |messages: &Value| -> Vec<Value> {
        let mut messages = messages.as_array().unwrap().clone();
        for part in messages.iter_mut().flat_map(|message| message["parts"].as_array_mut().unwrap()) {
            // The client adds ids to streamed reasoning, which have no meaning after its end.
            if part["type"] == "reasoning" {
                part.as_object_mut().unwrap().remove("id");
            }
        }
        messages.iter().map(|message| json!([message["id"], message["role"], message["parts"]])).collect()
    };
    assert_eq!(essence(&shown["messages"]), essence(&stored["messages"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_answer_is_read_as_it_is_stored() {
    let gate = Latch::new();
    let model = FakeModel::start([
        Reply::pieces(["Hello, ", "there."]).gated_after(2, &gate),
        Reply::text("And again."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let mut client = ChatClient::open(&daemon, "plain").await;
    client.order(send("hi")).await;
    let half = client.until_newest("Hello, ").await;
    assert_eq!(half["status"], "streaming");
    gate.open();
    let shown = client.until("the end", |shown| shown["done"] == "send").await;
    assert_eq!(
        (&shown["status"], newest(&shown)),
        (&json!("ready"), "Hello, there.".to_owned()),
        "{shown:#}"
    );
    assert_same_as_stored(&daemon, "plain", &shown).await;
    let shown = client.finish(send("more")).await;
    assert_eq!(shown["messages"].as_array().unwrap().len(), 4);
    assert_eq!(shown["messages"][3]["metadata"]["status"], "done");
    assert_same_as_stored(&daemon, "plain", &shown).await;
    judge_project(&project).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_and_thinking_are_read_as_they_are_stored() {
    let calls = Reply::calls([
        ("read_file", json!({ "path": "notes.txt" })),
        ("read_file", json!({ "path": "gone.txt" })),
    ]);
    let thinking = [
        json!({ "reasoning_content": "They want " }),
        json!({ "reasoning_content": "milk." }),
        json!({ "content": "Buy milk." }),
    ];
    let model = FakeModel::start([calls, Reply::deltas(thinking, "stop")]).await;
    let project = asking(&model);
    project.write("notes.txt", "buy milk\n");
    let daemon = project.start().await;
    let mut client = ChatClient::open(&daemon, "tools").await;
    client.order(send("what do my notes say?")).await;
    let called = |shown: &Value| {
        shown["messages"][1]["parts"]
            .as_array()
            .is_some_and(|parts| parts.iter().any(|part| part["type"] == "tool-read_file"))
    };
    client.until("a call", called).await;
    let shown = client.until("the end", |shown| shown["done"] == "send").await;
    assert_eq!((&shown["status"], newest(&shown)), (&json!("ready"), "Buy milk.".to_owned()), "{shown:#}");
    let parts = shown["messages"][1]["parts"].as_array().unwrap();
    let states: Vec<&Value> =
        parts.iter().filter(|part| part["type"] == "tool-read_file").map(|part| &part["state"]).collect();
    assert_eq!(states, ["output-available", "output-error"]);
    assert_same_as_stored(&daemon, "tools", &shown).await;
    judge_project(&project).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_the_answer_cleanly_wherever_it_comes_from() {
    let gate = Latch::new();
    let model = FakeModel::start([
        Reply::pieces(["Half ", "gone"]).hang_after(2),
        Reply::pieces(["Left ", "alone."]).gated_after(2, &gate),
        Reply::text("Still here."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let mut client = ChatClient::open(&daemon, "stop").await;
    // The daemon is told to stop: the client's stream ends normally.
    client.order(send("one")).await;
    client.until_newest("Half ").await;
    assert_eq!(
        daemon.post("/api/threads/web:chat:stop/stop", &json!({})).send().await.unwrap().status(),
        200
    );
    let shown = client.until("the end", |shown| shown["done"] == "send").await;
    assert_eq!(
        (&shown["status"], &shown["error"], newest(&shown)),
        (&json!("ready"), &Value::Null, "Half ".to_owned()),
        "{shown:#}"
    );
    assert_eq!(shown["messages"][1]["metadata"]["status"], "stopped");
    assert!(!shown["messages"][1]["parts"].to_string().contains("streaming"), "{shown:#}");

    // The client disconnects: that ends its stream only.
    client.order(send("two")).await;
    client.until_newest("Left ").await;
    client.order(json!({ "do": "stop" })).await;
    let shown = client.until("the end", |shown| shown["done"] == "send").await;
    assert_eq!((&shown["status"], newest(&shown)), (&json!("ready"), "Left ".to_owned()), "{shown:#}");
    gate.open();
    daemon.until_state("web:chat:stop", "idle").await;
    let mut client = ChatClient::open(&daemon, "stop").await;
    let shown = client.finish(send("three")).await;
    assert_eq!(newest(&shown), "Still here.");
    assert!(
        shown["messages"].to_string().contains("Left alone."),
        "the turn went on without anybody looking: {shown:#}"
    );
    judge_project(&project).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_reach_the_client_in_words() {
    let model = FakeModel::start([
        Reply::status(401, r#"{"error":{"message":"bad key"}}"#),
        Reply::text("Better now."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let mut client = ChatClient::open(&daemon, "error").await;
    let shown = client.finish(send("are you there?")).await;
    assert_eq!(shown["status"], "error", "{shown:#}");
    assert!(shown["error"].as_str().unwrap().starts_with("The model refused the API key."), "{shown:#}");
    // The conversation continues normally.
    let shown = client.finish(send("and now?")).await;
    assert_eq!((&shown["status"], newest(&shown)), (&json!("ready"), "Better now.".to_owned()), "{shown:#}");
    assert_same_as_stored(&daemon, "error", &shown).await;
    // A refusal before the first byte has the usual form: the SDK passes the body on.
    client.finish(json!({ "do": "open", "chat": "error", "token": "wrong" })).await;
    let shown = client.finish(send("let me in")).await;
    let told: Value = serde_json::from_str(shown["error"].as_str().unwrap_or_default()).unwrap();
    assert_eq!(
        (&shown["status"], &told["error"]["code"]),
        (&json!("error"), &json!("unauthorized")),
        "{shown:#}"
    );
    assert!(told["error"]["message"].as_str().unwrap().contains("token"), "{shown:#}");
    judge_project(&project).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_comes_back_reads_on_where_the_answer_is() {
    let gate = Latch::new();
    let calls = Reply::calls([("list_files", json!({ "path": "." }))]);
    let model =
        FakeModel::start([calls, Reply::pieces(["The first half, ", "and the rest."]).gated_after(2, &gate)])
            .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let mut first = ChatClient::open(&daemon, "resume").await;
    first.order(send("tell me")).await;
    first.until_newest("The first half, ").await;
    // The page is reloaded, elsewhere, while the answer is streamed.
    let mut second = ChatClient::open(&daemon, "resume").await;
    second.order(json!({ "do": "resume" })).await;
    second.until_newest("The first half, ").await;
    drop(first);
    gate.open();
    let shown = second.until("the end", |shown| shown["done"] == "resume").await;
    assert_eq!(
        (&shown["status"], newest(&shown)),
        (&json!("ready"), "The first half, and the rest.".to_owned()),
        "{shown:#}"
    );
    assert_eq!(shown["messages"].as_array().unwrap().len(), 2, "told once: {shown:#}");
    assert_same_as_stored(&daemon, "resume", &shown).await;
    // Without a running turn there is nothing to resume.
    let shown = second.finish(json!({ "do": "resume" })).await;
    assert_eq!((&shown["status"], &shown["error"]), (&json!("ready"), &Value::Null));
    judge_project(&project).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_can_be_had_again_and_a_question_put_in_other_words() {
    let model =
        FakeModel::start([Reply::text("First try."), Reply::text("Second try."), Reply::text("Third try.")])
            .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let mut client = ChatClient::open(&daemon, "again").await;
    let first = client.finish(send("try")).await;
    let second = client.finish(json!({ "do": "regenerate" })).await;
    assert_eq!(
        (&second["status"], newest(&second)),
        (&json!("ready"), "Second try.".to_owned()),
        "{second:#}"
    );
    assert_eq!(second["messages"].as_array().unwrap().len(), 2);
    assert_eq!(
        second["messages"][1]["id"], first["messages"][1]["id"],
        "the new answer takes the place of the old"
    );
    assert_same_as_stored(&daemon, "again", &second).await;

    let question = first["messages"][0]["id"].clone();
    let third = client.finish(json!({ "do": "send", "text": "try harder", "messageId": question })).await;
    assert_eq!((&third["status"], newest(&third)), (&json!("ready"), "Third try.".to_owned()), "{third:#}");
    assert_eq!(model.requests()[2].last_user_text(), "try harder");
    assert_same_as_stored(&daemon, "again", &third).await;
    let stored = judge_project(&project).await;
    assert_eq!(
        stored[0].request,
        [
            json!({ "role": "user", "content": "try harder" }),
            json!({ "role": "assistant", "content": "Third try." })
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_are_obeyed_and_recorded_without_harm() {
    let model = FakeModel::start(Reply::text("Yes?")).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let mut client = ChatClient::open(&daemon, "command").await;
    for command in ["/help", "/status", "/stop"] {
        let shown = client.finish(send(command)).await;
        assert_eq!(
            (&shown["status"], &shown["error"]),
            (&json!("ready"), &Value::Null),
            "{command}: {shown:#}"
        );
    }
    let shown = client.finish(send("hello")).await;
    assert_eq!(newest(&shown), "Yes?");
    let judged = judge_project(&project).await;
    assert_eq!(
        judged[0].request,
        [json!({ "role": "user", "content": "hello" }), json!({ "role": "assistant", "content": "Yes?" })]
    );
    assert_eq!(judged[0].messages.len(), 5);
}

/// Several turns with every kind of event: each prompt is the beginning of what the SDK makes of the thread file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_is_sent_what_the_sdk_would_send() {
    let broken = json!({ "tool_calls": [{ "index": 0, "id": "c1", "type": "function", "function": { "name": "read_file", "arguments": "{\"path\": " } }] });
    let unknown = json!({ "tool_calls": [{ "index": 0, "id": "c2", "type": "function", "function": { "name": "fly", "arguments": "{}" } }] });
    let spoken = [
        json!({ "reasoning_content": "Two files." }),
        json!({ "content": "I look at both. " }),
        json!({ "tool_calls": [{ "index": 0, "id": "c3", "type": "function", "function": { "name": "read_file", "arguments": "{\"path\":\"Agent.md\"}" } }] }),
        json!({ "tool_calls": [{ "index": 1, "id": "c4", "type": "function", "function": { "name": "list_files", "arguments": "{\"path\":\".\"}" } }] }),
    ];
    let model = FakeModel::start([
        Reply::text("Hello."),
        Reply::calls([("read_file", json!({ "path": "notes.txt" }))]),
        Reply::deltas([broken], "tool_calls"),
        Reply::deltas([unknown], "tool_calls"),
        Reply::deltas(spoken, "tool_calls"),
        Reply::text("All done.\n\nBye."),
        Reply::text("Half of it").hang_after(3),
        Reply::text("Fine."),
    ])
    .await;
    let project = asking(&model);
    project.write("notes.txt", "牛奶\n");
    let daemon = project.start().await;
    for text in ["你好 <b>", "look around"] {
        let answer = daemon.execute(json!({ "instructions": text, "chatId": "c" })).await;
        assert_eq!(answer["status"], "done", "{answer}");
    }
    let waiting = json!({ "instructions": "never mind", "chatId": "c", "timeoutMs": 1 });
    daemon.execute(waiting).await;
    daemon
        .until("half an answer", async |daemon: &Daemon| {
            let thread = daemon.get_json("/api/threads").await;
            model.requests().len() == 7 && thread["threads"][0]["state"] == "running"
        })
        .await;
    daemon.execute(json!({ "instructions": "/stop", "chatId": "c" })).await;
    daemon.execute(json!({ "instructions": "go on", "chatId": "c" })).await;

    let judged = judge(&[project.thread_file("api:chat:c")]).await;
    let whole = &judged[0].request;
    let requests = model.requests();
    assert_eq!(requests.len(), 8);
    for (number, seen) in requests.iter().enumerate() {
        let mut sent = seen.body["messages"].as_array().unwrap().clone();
        assert_eq!(sent.remove(0)["role"], "system");
        assert_eq!(sent, whole[..sent.len()], "call {number}");
    }
    assert_eq!(whole.last().unwrap(), &json!({ "role": "assistant", "content": "Fine." }));
    let roles: Vec<&str> = whole.iter().map(|message| message["role"].as_str().unwrap()).collect();
    let calls = ["assistant", "tool", "assistant", "tool", "assistant", "tool", "assistant", "tool", "tool"];
    assert_eq!(roles[..3], ["user", "assistant", "user"]);
    assert_eq!(roles[3..12], calls);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_picture_is_kept_and_sent_as_the_sdk_would_send_it() {
    let model = FakeModel::start(Reply::text("A dot.")).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let mut client = ChatClient::open(&daemon, "picture").await;
    let dot = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAAC";
    let files = json!([{ "type": "file", "mediaType": "image/gif", "url": dot, "filename": "dot.gif" }]);
    let shown = client.finish(json!({ "do": "send", "text": "what is this?", "files": files })).await;
    assert_eq!((&shown["status"], newest(&shown)), (&json!("ready"), "A dot.".to_owned()), "{shown:#}");
    assert_same_as_stored(&daemon, "picture", &shown).await;
    let judged = judge_project(&project).await;
    assert_eq!(model.requests()[0].body["messages"][1], judged[0].request[0]);
    assert!(judged[0].request[0].to_string().contains(dot));
}

/// Killed during a model call, before and after a tool, repeatedly.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_of_a_daemon_that_was_killed_often_passes_the_validator() {
    let model = FakeModel::start(Script::compute(|seen| {
        let messages = seen.body["messages"].as_array().unwrap();
        match messages.last().unwrap()["role"].as_str() {
            Some("tool") => Reply::text("I have read it.").paced(Duration::from_millis(5)),
            _ => Reply::calls([("read_file", json!({ "path": "Agent.md" }))]).paced(Duration::from_millis(5)),
        }
    }))
    .await;
    let project = asking(&model);
    let question = |number: usize, patience: u64| json!({ "instructions": format!("read {number}"), "chatId": "k", "messageId": format!("m{number}"), "timeoutMs": patience });
    const ROUNDS: usize = 10;
    for number in 0..ROUNDS {
        let daemon = project.start().await;
        daemon.execute(question(number, 1)).await;
        let calls = model.requests().len() + 1 + number % 2;
        daemon.until("the model to be asked", async |_: &Daemon| model.requests().len() >= calls).await;
        daemon.kill();
    }
    let daemon = project.start().await;
    for number in 0..ROUNDS {
        assert_eq!(daemon.execute(question(number, 60_000)).await["status"], "done");
    }
    daemon.execute(question(ROUNDS, 60_000)).await;
    let judged = judge_project(&project).await;
    let last = model.requests().pop().unwrap();
    let sent = &last.body["messages"].as_array().unwrap()[1..];
    assert_eq!(sent, &judged[0].request[..sent.len()]);
}

/// The tool part of the newest message shown, in this state.
fn tool_part(shown: &Value, state: &str) -> Option<Value> {
    let parts = shown["messages"].as_array()?.last()?["parts"].as_array()?;
    parts.iter().find(|part| part["toolCallId"].is_string() && part["state"] == state).cloned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_the_clients_own_way_and_the_tool_runs_once() {
    let call = || Reply::calls([("exec_shell", json!({ "command": "echo ran >> runs.txt" }))]);
    let model = FakeModel::start([call(), Reply::text("It ran."), call(), Reply::text("It did not.")]).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let mut client = ChatClient::open(&daemon, "asked").await;
    let shown = client.finish(send("run it")).await;
    let part = tool_part(&shown, "approval-requested").unwrap_or_else(|| panic!("{shown:#}"));
    assert_eq!((&shown["status"], &part["type"]), (&json!("ready"), &json!("tool-exec_shell")));
    assert!(!project.path().join("runs.txt").exists());

    let id = part["approval"]["id"].clone();
    client.order(json!({ "do": "answer", "id": id, "approved": true })).await;
    let shown =
        client.until("the answer", |shown| newest(shown) == "It ran." && shown["status"] == "ready").await;
    let part = tool_part(&shown, "output-available").unwrap_or_else(|| panic!("{shown:#}"));
    assert_eq!(part["output"]["exitCode"], 0, "{part:#}");
    assert_eq!(shown["messages"].as_array().unwrap().len(), 2, "the same message goes on: {shown:#}");
    assert_eq!(std::fs::read_to_string(project.path().join("runs.txt")).unwrap(), "ran\n");

    let shown = client.finish(send("and again")).await;
    let part = tool_part(&shown, "approval-requested").unwrap_or_else(|| panic!("{shown:#}"));
    let id = part["approval"]["id"].clone();
    client.order(json!({ "do": "answer", "id": id, "approved": false, "reason": "once is enough" })).await;
    let shown = client
        .until("the answer", |shown| newest(shown) == "It did not." && shown["status"] == "ready")
        .await;
    assert!(tool_part(&shown, "output-denied").is_some(), "{shown:#}");
    let told = model.requests().last().unwrap().body.to_string();
    assert!(told.contains("once is enough"), "the model is told why: {told}");
    assert_eq!(std::fs::read_to_string(project.path().join("runs.txt")).unwrap(), "ran\n");
    let decided = daemon.get_json("/api/approvals?state=decided&limit=1").await;
    assert_eq!(decided["approvals"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&decided["approvals"][0]["state"], &decided["approvals"][0]["via"]),
        (&json!("denied"), &json!("http"))
    );
    judge_project(&project).await;
}
