//! A thread file truncated anywhere: it loads, and its prompt is valid for every provider.

use std::sync::Arc;

use serde_json::{Value, json};
use shipagent::domain::{Capabilities, CorrelationId, Effects, ThreadId, Timestamp, WhileRunning};
use shipagent::store::Reader;
use shipagent::turn::{Conversation, Event, Rules};
use shipagent::uimessage::{ModelMessage, to_model};

use crate::compaction::scene::{is_summary, summary};
use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply, Script};

/// Each call has exactly one result, right after it, and JSON arguments.
fn assert_provider_valid(messages: &[ModelMessage], place: &str) {
    let mut expected: Vec<&str> = Vec::new();
    for message in messages {
        match message {
            ModelMessage::Tool { call_id, .. } => {
                assert_eq!(expected.first().copied(), Some(call_id.as_str()), "{place}: {messages:?}");
                expected.remove(0);
            }
            ModelMessage::Assistant { tool_calls, .. } => {
                assert!(expected.is_empty(), "{place}: {messages:?}");
                for call in tool_calls {
                    serde_json::from_str::<Value>(&call.arguments).unwrap();
                }
                expected = tool_calls.iter().map(|call| call.id.as_str()).collect();
            }
            ModelMessage::System(_) | ModelMessage::User { .. } => {
                assert!(expected.is_empty(), "{place}: {messages:?}")
            }
        }
    }
    assert!(expected.is_empty(), "{place}: {messages:?}");
}

/// A conversation with every kind of event: tools, waiting, a stop, an error, Chinese.
async fn lively_thread(project: &Project, model: &FakeModel) {
    let daemon = project.start().await;
    let ask = async |text: &str, id: &str| {
        daemon.execute(json!({ "instructions": text, "chatId": "l", "messageId": id })).await
    };
    ask("看看笔记里写了什么？", "m1").await;
    let body = json!({ "instructions": "hang", "chatId": "l", "messageId": "m2", "timeoutMs": 1 });
    daemon.execute(body).await;
    daemon.until("the model to hang", async |_: &Daemon| model.requests().len() == 3).await;
    let body = json!({ "instructions": "later", "chatId": "l", "messageId": "m3", "timeoutMs": 1 });
    daemon.execute(body).await;
    ask("/stop", "s1").await;
    let later = ask("later", "m3").await;
    assert_eq!(later["status"], "failed", "{later}");
    ask("and now?", "m4").await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_file_cut_at_every_byte_loads_and_makes_a_prompt_that_providers_take() {
    let broken = json!({ "tool_calls": [{ "index": 0, "id": "c9", "type": "function",
        "function": { "name": "read_file", "arguments": "{\"path\": " } }] });
    let script = [
        Reply::calls([("read_file", json!({ "path": "notes.txt" })), ("list_files", json!({}))]),
        Reply::text("写着：买牛奶 🥛"),
        Reply::hang(),
        Reply::status(401, "no"),
        Reply::deltas([broken], "tool_calls"),
        Reply::text("done"),
    ];
    let model = FakeModel::start(script).await;
    let project = Project::with_model(
        &model.url(),
        json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 600 } }),
    );
    project.write("notes.txt", "买牛奶\n");
    lively_thread(&project, &model).await;

    let whole = std::fs::read(project.thread_file("api:chat:l")).unwrap();
    let lines = whole.iter().filter(|byte| **byte == b'\n').count();
    assert!(lines > 10, "too few lines to prove anything: {lines}");
    cut_everywhere(&project, "api:chat:l", |_, _| {});
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_file_with_checkpoints_cut_at_every_byte_shows_each_message_once() {
    let model = FakeModel::start(Script::compute(|seen| match is_summary(seen) {
        true => summary(seen),
        false => Reply::text(&"The team on duty looks after it. ".repeat(8)),
    }))
    .await;
    let extra = json!({ "queue": { "mergeMs": 0 }, "memory": { "keepRuns": 1 } });
    let project = Project::with_model(&model.url(), extra);
    let daemon = project.start().await;
    let mut said = 0;
    for _ in 0..2 {
        for _ in 0..4 {
            let text = format!("question {said}: {}", "who looks after the host? ".repeat(4));
            daemon
                .execute(json!({ "instructions": text, "chatId": "k", "messageId": format!("q{said}") }))
                .await;
            said += 1;
        }
        daemon
            .execute(json!({ "instructions": "/compact", "chatId": "k", "messageId": format!("c{said}") }))
            .await;
    }
    assert!(daemon.stop().await.success());
    let mut seen = std::collections::BTreeSet::new();
    cut_everywhere(&project, "api:chat:k", |conversation, place| {
        let checkpoints = conversation.checkpoints();
        let shown: Vec<String> =
            conversation.context().iter().map(|message| message.id.to_string()).collect();
        if let Some(last) = checkpoints.last() {
            assert!(!shown.contains(&last.through.to_string()), "{place}: a covered message is shown");
        }
        let once: std::collections::BTreeSet<&String> = shown.iter().collect();
        assert_eq!(once.len(), shown.len(), "{place}: {shown:?}");
        seen.insert(checkpoints.len());
    });
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 2], "with no, one and two checkpoints");
}

/// Loads the file of a thread at each of its lengths: the prompt is valid for every provider.
fn cut_everywhere(project: &Project, thread: &str, mut check: impl FnMut(&Conversation, &str)) {
    let path = project.thread_file(thread);
    let length = std::fs::metadata(&path).unwrap().len();
    let thread: ThreadId = thread.parse().unwrap();
    let cut_dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(cut_dir.path().join("threads")).unwrap();
    let copy = cut_dir.path().join("threads").join(path.file_name().unwrap());
    std::fs::copy(&path, &copy).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&copy).unwrap();
    for length in (0..=length).rev() {
        file.set_len(length).unwrap();
        let record = Reader::read_only(cut_dir.path()).load(&thread).unwrap();
        let place = format!("cut at {length}");
        assert_provider_valid(&to_model(&record.tail), &place);
        let mut conversation = Conversation::new(
            thread.clone(),
            Arc::new(rules()),
            Arc::new(|_| Some(Effects::ReadOnly)),
            Arc::new(|_, _| Ok(())),
            record,
        );
        let mut fresh = || "run_fresh".parse::<CorrelationId>().unwrap();
        conversation.step(Event::Resumed(Vec::new()), Timestamp::from_millis(1), &mut fresh);
        assert_provider_valid(&to_model(conversation.context()), &place);
        check(&conversation, &place);
    }
}

fn rules() -> Rules {
    Rules {
        speech: shipagent::domain::SpeechMode::Off,
        scopes: Default::default(),
        merge_ms: 0,
        while_running: WhileRunning::Merge,
        mailbox: 8,
        max_steps: 8,
        language: None,
        compaction: shipagent::turn::CompactionRules::default(),
        footer: shipagent::domain::Footer::Off,
        currency: shipagent::domain::Currency::default(),
        capabilities: Capabilities::pull(),
        rights: shipagent::policy::Rights::default(),
        expire_ms: 60_000,
        while_waiting: shipagent::domain::WhileWaiting::Queue,
        read_replies: shipagent::domain::ReadReplies::Rules,
    }
}
