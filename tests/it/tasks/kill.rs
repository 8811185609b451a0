//! kill -9 while tasks are due, accepted, running and delivering: each slot runs once and delivers once.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::runs::{in_millis, texts};
use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::dice::{Dice, seed};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;

/// Kills of one test; five of them run side by side.
const KILLS: usize = 42;
const TASKS: usize = 40;
const CHATS: usize = 4;
const GREETING: &str = "done hi.";

/// Answers with the number of the task, after a moment.
fn numbered(seen: &Seen) -> Reply {
    let text = seen.last_user_text().lines().last().unwrap_or_default().to_owned();
    Reply::text(&format!("done {text}.")).after(Duration::from_millis(20))
}

/// Tasks that are due while daemons come and go: half of them run in threads of their own, the others are reminders.
/// Each delivers to a chat of a platform.
async fn every_slot_delivers_once(round: u64) {
    let feishu = Feishu::start().await;
    let model = FakeModel::unrecorded(Script::compute(numbered)).await;
    let people: Vec<String> = (0..CHATS).map(|chat| format!("ou_p{chat}")).collect();
    let project = Project::with_model(&model.url(), feishu.section(json!({ "allowedUsers": people })));
    let daemon = project.start().await;
    // A chat exists when somebody has written.
    for person in &people {
        feishu.write(&Message::private(person, "hi"));
        feishu.wait_for_words(&person.replace("ou_", "oc_"), GREETING).await;
    }
    assert!(daemon.stop().await.success());
    let seed = seed() ^ (round + 1).wrapping_mul(7919);
    let mut dice = Dice::new(seed);
    for number in 0..TASKS {
        let kind = if number % 2 == 0 { "prompt" } else { "message" };
        let due = in_millis(300 + i64::try_from(dice.roll(9_000)).unwrap());
        let chat = format!("feishu:chat:oc_p{}", number % CHATS);
        let file = format!("---\nat: {due}\nkind: {kind}\ndeliver: {chat}\n---\n{kind} {number}");
        project.write(&format!(".ship/tasks/t{number}.md"), &file);
    }
    for _ in 0..KILLS {
        let daemon = project.start().await;
        tokio::time::sleep(Duration::from_millis(dice.roll(160))).await;
        daemon.kill();
    }
    let daemon = project.start().await;
    let expected: BTreeMap<String, usize> = (0..TASKS)
        .map(|number| match number % 2 == 0 {
            true => format!("done prompt {number}."),
            false => format!("message {number}"),
        })
        .map(|text| (text, 1))
        .collect();
    let delivered = || {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        let said = feishu
            .look(|world| (0..CHATS).flat_map(|chat| world.said(&format!("oc_p{chat}"))).collect::<Vec<_>>());
        for text in said.into_iter().filter(|text| text != GREETING) {
            *found.entry(text).or_default() += 1;
        }
        found
    };
    let all_over = async |daemon: &Daemon| {
        let tasks = daemon.get_json("/api/tasks").await;
        delivered().len() >= TASKS
            && tasks["tasks"].as_array().unwrap().iter().all(|task| task["status"] == "over")
    };
    daemon.until("all results", all_over).await;
    assert_eq!(delivered(), expected, "seed {seed}");
    for number in 0..TASKS {
        let task = daemon.get_json(&format!("/api/tasks/t{number}")).await;
        assert_eq!(task["history"].as_array().unwrap().len(), 1, "one run: {task}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_slot_delivers_once_over_random_kills_one() {
    every_slot_delivers_once(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_slot_delivers_once_over_random_kills_two() {
    every_slot_delivers_once(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_slot_delivers_once_over_random_kills_three() {
    every_slot_delivers_once(3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_slot_delivers_once_over_random_kills_four() {
    every_slot_delivers_once(4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_slot_delivers_once_over_random_kills_five() {
    every_slot_delivers_once(5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_at_each_step_of_a_run_repeats_and_loses_nothing() {
    for step in ["task-due", "task-stored", "task-accepted", "task-result", "task-delivered"] {
        let model = FakeModel::start(Script::compute(numbered)).await;
        let project = Project::with_model(&model.url(), json!({}));
        let due = in_millis(0);
        project.write(".ship/tasks/t.md", &format!("---\nat: {due}\ndeliver: api:chat:all\n---\nprompt"));
        let mut command = project.command(&["run"]);
        command.env("SHIPAGENT_FAIL_POINT", step);
        let died = command.spawn().unwrap().wait().unwrap();
        assert!(!died.success(), "{step}");
        let daemon = project.start().await;
        let over = async |daemon: &Daemon| daemon.get_json("/api/tasks/t").await["status"] == "over";
        daemon.until("the end", over).await;
        assert_eq!(texts(&daemon, "api:chat:all").await, ["done prompt."], "{step}");
        assert_eq!(model.requests().len(), 1, "{step}: the model is asked once");
        let task = daemon.get_json("/api/tasks/t").await;
        assert_eq!(task["history"].as_array().unwrap().len(), 1, "{step}: {task}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_while_the_model_answers_asks_it_again_and_delivers_once() {
    let first = std::sync::atomic::AtomicBool::new(true);
    let script =
        Script::compute(move |seen: &Seen| match first.swap(false, std::sync::atomic::Ordering::Relaxed) {
            true => Reply::hang(),
            false => numbered(seen),
        });
    let model = FakeModel::start(script).await;
    let project = Project::with_model(&model.url(), json!({}));
    project
        .write(".ship/tasks/t.md", &format!("---\nat: {}\ndeliver: api:chat:all\n---\nprompt", in_millis(0)));
    let daemon = project.start().await;
    model.wait_for_requests(1).await;
    daemon.kill();
    let daemon = project.start().await;
    daemon.until("the result", async |daemon| !texts(daemon, "api:chat:all").await.is_empty()).await;
    assert_eq!(texts(&daemon, "api:chat:all").await, ["done prompt."]);
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_while_a_tool_runs_is_asked_about_where_the_result_goes() {
    let script = Script::compute(|seen: &Seen| {
        let messages = seen.body["messages"].as_array().unwrap();
        match messages.iter().any(|message| message["role"] == "tool") {
            true => Reply::text("reported"),
            false => Reply::calls([("exec_shell", json!({ "command": "echo x >> made && sleep 60" }))]),
        }
    });
    let model = FakeModel::start(script).await;
    let config = json!({ "owners": ["api:user:ada"], "permissions": { "exec_shell": { "mode": "allow" } } });
    let project = Project::with_model(&model.url(), config);
    project
        .write(".ship/tasks/t.md", &format!("---\nat: {}\ndeliver: api:chat:all\n---\nprompt", in_millis(0)));
    let daemon = project.start().await;
    let made = || std::fs::read_to_string(project.path().join("made")).unwrap_or_default();
    daemon.until("the tool", async |_| made() == "x\n").await;
    daemon.kill();
    let daemon = project.start().await;
    let pending =
        async |daemon: &Daemon| daemon.get_json("/api/approvals?state=pending").await["approvals"].clone();
    daemon.until("the question", async |daemon| pending(daemon).await[0].is_object()).await;
    assert_eq!(pending(&daemon).await[0]["kind"], "unknown-outcome");
    // It is decided in the chat where the result goes.
    daemon.until("the copy", async |daemon| !texts(daemon, "api:chat:all").await.is_empty()).await;
    daemon.execute(json!({ "instructions": "skip A1", "chatId": "all", "userId": "ada" })).await;
    let reported =
        async |daemon: &Daemon| texts(daemon, "api:chat:all").await.contains(&"reported".to_owned());
    daemon.until("the result", reported).await;
    let said = texts(&daemon, "api:chat:all").await;
    assert_eq!(said.iter().filter(|text| *text == "reported").count(), 1, "{said:?}");
    assert_eq!(made(), "x\n", "the command ran once");
}
