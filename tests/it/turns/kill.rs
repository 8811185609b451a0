//! kill -9, repeatedly, while people write: nothing is lost, nothing is answered or done twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::fakes::checker::check_project;
use crate::fakes::daemon::{Daemon, PATIENCE, Project, TOKEN};
use crate::fakes::dice::{Dice, seed};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};

const KILLS: usize = 200;
const CHATS: usize = 12;

/// Answers every question with its own text, some after reading a file, slowly.
fn slow_echo(seen: &Seen) -> Reply {
    let messages = seen.body["messages"].as_array().cloned().unwrap_or_default();
    let looked = messages.last().is_some_and(|last| last["role"] == "tool");
    let said: Vec<String> = messages
        .iter()
        .rev()
        .skip_while(|message| message["role"] != "user")
        .take_while(|message| message["role"] == "user")
        .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect();
    let said = said.into_iter().rev().collect::<Vec<_>>().join(" + ");
    let wait = Duration::from_millis(5 + u64::try_from(said.len()).unwrap_or_default() % 60);
    if said.contains("look") && !looked {
        return Reply::calls([("read_file", json!({ "path": "Agent.md" }))]).after(wait);
    }
    Reply::text(&format!("echo {said}")).paced(Duration::from_millis(2)).after(wait)
}

/// Sends messages one after the other until told to stop. A message without an answer is sent again, under the same id,
/// until it gets one. Returns each message with its answer.
async fn chatter(
    chat: usize,
    bases: watch::Receiver<String>,
    stop: watch::Receiver<bool>,
) -> Vec<(String, String)> {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut answers = Vec::new();
    for number in 0.. {
        if *stop.borrow() {
            break;
        }
        let id = format!("chat{chat}-message{number}");
        let look = if number % 3 == 0 { " look" } else { "" };
        let body =
            json!({ "instructions": format!("{id}{look}"), "chatId": format!("k{chat}"), "messageId": id });
        let answer: Value = loop {
            let url = format!("{}/api/execute", bases.borrow().clone());
            let request = http
                .post(url)
                .bearer_auth(TOKEN)
                .header("content-type", "application/json")
                .body(body.to_string());
            let sent = request.timeout(PATIENCE).send().await;
            let text = match sent {
                Ok(answer) if answer.status() == 200 => answer.text().await.ok(),
                _ => None,
            };
            match text.and_then(|text| serde_json::from_str(&text).ok()) {
                Some(answer) => break answer,
                None => tokio::time::sleep(Duration::from_millis(4)).await,
            }
        };
        assert_eq!(answer["status"], "done", "{id}: {answer}");
        answers.push((id, answer["output"].as_str().unwrap().to_owned()));
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_accepted_message_is_answered_exactly_once_over_two_hundred_kills() {
    let model = FakeModel::start(Script::compute(slow_echo)).await;
    let project = Project::with_model(
        &model.url(),
        json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 120 } }),
    );
    let seed = seed();
    println!("SHIPAGENT_TEST_SEED={seed}");
    let mut dice = Dice::new(seed);

    let mut daemon = project.start().await;
    let (base, bases) = watch::channel(daemon.base.clone());
    let (stop, stopped) = watch::channel(false);
    let mut chatters = JoinSet::new();
    for chat in 0..CHATS {
        chatters.spawn(chatter(chat, bases.clone(), stopped.clone()));
    }
    for _ in 0..KILLS {
        tokio::time::sleep(Duration::from_micros(dice.roll(160_000))).await;
        daemon.kill();
        daemon = project.start().await;
        base.send_replace(daemon.base.clone());
    }
    stop.send_replace(true);
    let answers: Vec<(String, String)> = chatters.join_all().await.into_iter().flatten().collect();
    println!("{} messages over {KILLS} kills, {} model calls", answers.len(), model.requests().len());
    assert!(answers.len() >= KILLS, "too few messages got through to prove anything: {}", answers.len());

    assert_same_answers_again(&daemon, &answers).await;
    assert!(daemon.stop().await.success());
    assert_answered_once(&project, &answers);
}

/// The same message again gets the same answer, and is not processed again.
async fn assert_same_answers_again(daemon: &Daemon, answers: &[(String, String)]) {
    for (id, output) in answers.iter().step_by(17) {
        let chat = id.trim_start_matches("chat").split('-').next().unwrap();
        let body = json!({ "instructions": "anything", "chatId": format!("k{chat}"), "messageId": id });
        assert_eq!(daemon.execute(body).await["output"], **output, "{id}");
    }
}

fn assert_answered_once(project: &Project, answers: &[(String, String)]) {
    let threads = check_project(project.path());
    assert_eq!(threads.len(), CHATS);
    let expected: BTreeMap<&str, &str> =
        answers.iter().map(|(id, output)| (id.as_str(), output.as_str())).collect();
    assert_eq!(expected.len(), answers.len());
    let mut seen = BTreeSet::new();
    for messages in threads.values() {
        let mut runs: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for message in messages {
            runs.entry(message["metadata"]["correlationId"].as_str().unwrap()).or_default().push(message);
        }
        for (run, messages) in runs {
            let said: Vec<&str> =
                messages.iter().filter(|m| m["role"] == "user").map(|m| m["id"].as_str().unwrap()).collect();
            let answered: Vec<&&Value> = messages.iter().filter(|m| m["role"] == "assistant").collect();
            assert_eq!((said.len(), answered.len()), (1, 1), "run {run}");
            assert_eq!(answered[0]["metadata"]["status"], "done");
            let id = said[0];
            assert!(seen.insert(id.to_owned()), "{id} stands twice");
            let text: String = answered[0]["parts"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect();
            assert!(
                text.ends_with(&format!("echo {id}")) || text.ends_with(&format!("echo {id} look")),
                "{id}: {text}"
            );
            assert_eq!(Some(text.as_str()), expected.get(id).copied(), "{id}");
        }
    }
    assert_eq!(seen.len(), answers.len(), "as many stored as answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graceful_stop_lets_the_running_turn_end_and_takes_nothing_new() {
    let gate = crate::fakes::fake_model::Latch::new();
    let model = FakeModel::start(Reply::text("the answer").behind(&gate)).await;
    let patient = json!({ "limits": { "stopSecs": 120 }, "llm": { "timeoutSecs": 120 } });
    let project = Project::with_model(&model.url(), patient);
    let daemon = Arc::new(project.start().await);
    let asked = {
        let daemon = daemon.clone();
        JoinSet::from_iter([
            async move { daemon.execute(json!({ "instructions": "q", "chatId": "g" })).await },
        ])
    };
    daemon.until_state("api:chat:g", "running").await;
    daemon.signal(rustix::process::Signal::TERM);
    daemon
        .until("the daemon to refuse messages", async |daemon: &Daemon| {
            // A message before the signal is processed is accepted, and must not be waited for.
            let body = json!({ "instructions": "late", "chatId": "late", "timeoutMs": 1 });
            let late = daemon.post("/api/execute", &body).send().await;
            late.is_err() || late.is_ok_and(|answer| answer.status() == 503)
        })
        .await;
    gate.open();
    let answers = asked.join_all().await;
    assert_eq!(answers[0]["output"], "the answer");
    let daemon = Arc::into_inner(daemon).unwrap();
    assert!(daemon.ended().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_at_once_and_the_turn_goes_on_at_the_next_start() {
    let mut calls = 0;
    let model = FakeModel::start(Script::compute(move |_| {
        calls += 1;
        if calls == 1 { Reply::hang() } else { Reply::text("after all") }
    }))
    .await;
    let project = Project::with_model(
        &model.url(),
        json!({ "limits": { "stopSecs": 600 }, "llm": { "timeoutSecs": 600 } }),
    );
    let daemon = project.start().await;
    let body = json!({ "instructions": "q", "chatId": "g", "messageId": "m1", "timeoutMs": 1 });
    assert_eq!(daemon.execute(body.clone()).await["status"], "running");
    daemon.until("the model to be asked", async |_: &Daemon| model.requests().len() == 1).await;
    daemon.signal(rustix::process::Signal::TERM);
    daemon
        .until("the first signal to be heard", async |daemon: &Daemon| {
            // A message before the signal is processed is accepted, and must not be waited for.
            let body = json!({ "instructions": "late", "chatId": "late", "timeoutMs": 1 });
            let late = daemon.post("/api/execute", &body).send().await;
            late.is_err() || late.is_ok_and(|answer| answer.status() == 503)
        })
        .await;
    daemon.signal(rustix::process::Signal::TERM);
    assert!(!daemon.ended().await.success());
    let daemon = project.start().await;
    let answer = daemon.execute(json!({ "instructions": "q", "chatId": "g", "messageId": "m1" })).await;
    assert_eq!(answer["output"], "after all");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_a_mebibyte_that_waits_is_answered_after_a_kill() {
    let mut calls = 0;
    let model = FakeModel::start(Script::compute(move |seen: &Seen| {
        calls += 1;
        if calls == 1 {
            Reply::hang()
        } else {
            Reply::text(&format!("{} bytes", seen.last_user_text().len()))
        }
    }))
    .await;
    let project = Project::with_model(
        &model.url(),
        json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 600 } }),
    );
    let daemon = project.start().await;
    let long = "x ".repeat(350_000);
    let ask = |text: &str, id: &str| json!({ "instructions": text, "chatId": "w", "messageId": id });
    for (text, id) in [("short", "m1"), (&long, "m2"), (&long, "m3")] {
        let mut body = ask(text, id);
        body["timeoutMs"] = json!(1);
        daemon.execute(body).await;
        daemon.until("the model to be asked", async |_: &Daemon| model.requests().len() == 1).await;
    }
    daemon.kill();
    let daemon = project.start().await;
    for id in ["m1", "m2", "m3"] {
        assert_eq!(daemon.execute(ask("again", id)).await["status"], "done", "{id}");
    }
    assert!(daemon.stop().await.success());
}

/// The content of the commands' scratch folders below this temporary folder.
fn scratch_of(temporary: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let ours = entries(temporary).into_iter().filter(|path| path.to_string_lossy().contains("shipagent-"));
    ours.flat_map(|folder| entries(&folder)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_commands_of_a_killed_daemon_left_behind_is_gone_after_the_next_start() {
    let command = "echo $TMPDIR > where.txt; echo x > $TMPDIR/left.txt; echo > begun.txt; sleep 60";
    let model = FakeModel::start(Script::compute(move |_| {
        Reply::calls([("exec_shell", json!({ "command": command }))])
    }))
    .await;
    let extra = json!({ "permissions": { "exec_shell": { "mode": "allow" } } });
    let project = Project::with_model(&model.url(), extra);
    let temporary = tempfile::tempdir().unwrap();
    let start = async || {
        let mut command = project.command(&["run"]);
        command.env("TMPDIR", temporary.path());
        Daemon::start(command, project.path()).await
    };
    let daemon = start().await;
    let body = json!({ "instructions": "go", "chatId": "a", "messageId": "m1", "timeoutMs": 1 });
    daemon.execute(body).await;
    let begun = project.path().join("begun.txt");
    daemon.until("the command to begin", async |_: &Daemon| begun.exists()).await;
    let left = scratch_of(temporary.path());
    let told = std::fs::read_to_string(project.path().join("where.txt")).unwrap();
    assert_eq!(left, [std::path::PathBuf::from(told.trim())], "the folder is the command's own");
    let others = temporary.path().join("shipagent-0123456789abcdef/command-x");
    std::fs::create_dir_all(&others).unwrap();
    daemon.kill();
    assert!(left[0].is_dir(), "nobody was there to remove it");
    let daemon = start().await;
    daemon.until("the sweep", async |_: &Daemon| !left[0].exists()).await;
    assert!(others.is_dir(), "what is another daemon's stays");
    assert!(daemon.stop().await.success());
}
