//! kill -9 while tasks are due, accepted, running and delivering: each slot runs once and delivers once.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::runs::{in_millis, texts};
use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::dice::{Dice, seed};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;
use crate::fakes::qq::QqFake;
use crate::fakes::qq::people::Place;
use crate::fakes::telegram::server::FakeTelegram;

/// Kills of one test; five of them run side by side.
const KILLS: usize = 42;
const TASKS: usize = 40;
const CHATS: usize = 4;
const QQ_PEOPLE: [&str; 3] = ["U1", "U2", "U3"];
const GREETING: &str = "done hi.";

/// Where a process may die.
const STEPS: [&str; 6] =
    ["task-due", "task-stored", "task-accepted", "task-result", "task-delivered", "delivery-sent"];
const ANN: i64 = 7;

/// Answers with the number of the task, after a moment; where the prompt says so, after a look at the files.
fn numbered(seen: &Seen) -> Reply {
    let text = seen.last_user_text().lines().last().unwrap_or_default().to_owned();
    let looked = seen.body["messages"].as_array().unwrap().last().unwrap()["role"] == "tool";
    if text.starts_with("look") && !looked {
        return Reply::calls([("list_files", json!({ "path": "." }))]).after(Duration::from_millis(20));
    }
    Reply::text(&format!("done {text}.")).after(Duration::from_millis(20))
}

/// Lets a daemon run until it dies at this step, or is killed after a while.
async fn die_at(project: &Project, step: &str) {
    let mut command = project.command(&["run"]);
    let mut child = command.env("SHIPAGENT_FAIL_POINT", step).spawn().unwrap();
    for _ in 0..40 {
        if child.try_wait().unwrap().is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Tasks that are due while daemons come and go: half of them are runs with a tool, the others runs without one and
/// reminders. Each delivers to a chat of one of three platforms. Telegram knows no idempotency keys: there a message may
/// come twice when a process dies between its delivery and its receipt.
async fn every_slot_delivers_once(round: u64) {
    let (feishu, telegram, qq) = (Feishu::start().await, FakeTelegram::start().await, QqFake::start().await);
    let model = FakeModel::unrecorded(Script::compute(numbered)).await;
    let people: Vec<String> = (0..CHATS).map(|chat| format!("ou_p{chat}")).collect();
    let mut config = feishu.section(json!({ "allowedUsers": people }));
    let section = json!({ "botToken": telegram.token(), "apiUrl": telegram.url(), "allowedUsers": [ANN] });
    merge(&mut config, json!({ "adapters": { "telegram": section } }));
    merge(&mut config, qq.config());
    let project = Project::with_model(&model.url(), config);
    let ann = telegram.user(ANN, "Ann");
    telegram.private(&ann).say(&ann, "hi");
    let daemon = project.start().await;
    telegram.wait_for(|world| world.bot_texts(ANN).iter().any(|text| text == GREETING)).await;
    // A chat exists once a person has written.
    for person in &people {
        feishu.write(&Message::private(person, "hi"));
        feishu.wait_for_words(&person.replace("ou_", "oc_"), GREETING).await;
    }
    for person in QQ_PEOPLE {
        qq.says(Place::C2c(person), "hi");
        qq.text_with(person, GREETING).await;
    }
    assert!(daemon.stop().await.success());
    let seed = seed() ^ (round + 1).wrapping_mul(7919);
    let mut dice = Dice::new(seed);
    for number in 0..TASKS {
        let (kind, words) = words_of(number);
        let due = in_millis(300 + i64::try_from(dice.roll(9_000)).unwrap());
        let file = format!("---\nat: {due}\nkind: {kind}\ndeliver: {}\n---\n{words}", target_of(number));
        project.write(&format!(".ship/tasks/t{number}.md"), &file);
    }
    for _ in 0..KILLS {
        if dice.roll(4) == 0 {
            let step = STEPS[usize::try_from(dice.roll(STEPS.len() as u64)).unwrap() % STEPS.len()];
            die_at(&project, step).await;
            continue;
        }
        let daemon = project.start().await;
        tokio::time::sleep(Duration::from_millis(dice.roll(160))).await;
        daemon.kill();
    }
    let daemon = project.start().await;
    // QQ lets the agent answer for some minutes only; a slow machine may have taken longer.
    for person in QQ_PEOPLE {
        qq.says(Place::C2c(person), "hi");
    }
    let expected: BTreeMap<String, usize> = (0..TASKS)
        .map(|number| match words_of(number) {
            ("prompt", words) => format!("done {words}."),
            (_, words) => words,
        })
        .map(|text| (text, 1))
        .collect();
    let delivered = || {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        let said = feishu
            .look(|world| (0..CHATS).flat_map(|chat| world.said(&format!("oc_p{chat}"))).collect::<Vec<_>>());
        let on_qq = qq.look(|rules| QQ_PEOPLE.map(|person| rules.texts(person)).concat());
        for text in said.into_iter().chain(on_qq).filter(|text| text != GREETING) {
            *found.entry(text).or_default() += 1;
        }
        for text in telegram.read(|world| world.bot_texts(ANN)).into_iter().filter(|text| text != GREETING) {
            found.insert(text, 1);
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

/// Where the result of a task goes.
fn target_of(number: usize) -> String {
    match number % 5 {
        0 => format!("telegram:chat:{ANN}"),
        1 => format!("qq:chat:{}", QQ_PEOPLE[number % QQ_PEOPLE.len()]),
        _ => format!("feishu:chat:oc_p{}", number % CHATS),
    }
}

/// The kind and the words of a task.
fn words_of(number: usize) -> (&'static str, String) {
    match number % 4 {
        0 => ("prompt", format!("prompt {number}")),
        1 => ("message", format!("message {number}")),
        _ => ("prompt", format!("look {number}")),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_between_a_delivery_and_its_receipt_delivers_once() {
    let (feishu, qq) = (Feishu::start().await, QqFake::start().await);
    let model = FakeModel::unrecorded(Script::compute(numbered)).await;
    let mut config = feishu.section(json!({}));
    merge(&mut config, qq.config());
    let project = Project::with_model(&model.url(), config);
    let daemon = project.start().await;
    feishu.write(&Message::private("ou_ada", "hi"));
    feishu.wait_for_words("oc_ada", GREETING).await;
    qq.says(Place::C2c("U1"), "hi");
    qq.text_with("U1", GREETING).await;
    assert!(daemon.stop().await.success());
    for (name, chat) in [("feishu", "feishu:chat:oc_ada"), ("qq", "qq:chat:U1")] {
        let due = in_millis(0);
        project.write(
            &format!(".ship/tasks/{name}.md"),
            &format!("---\nat: {due}\ndeliver: {chat}\n---\nlook {name}"),
        );
        let mut command = project.command(&["run"]);
        let died = command.env("SHIPAGENT_FAIL_POINT", "delivery-sent").spawn().unwrap().wait().unwrap();
        assert!(!died.success(), "{name}");
        let daemon = project.start().await;
        let over =
            async |daemon: &Daemon| daemon.get_json(&format!("/api/tasks/{name}")).await["status"] == "over";
        daemon.until("the end", over).await;
        let answer = format!("done look {name}.");
        if name == "feishu" {
            feishu.wait_for_words("oc_ada", &answer).await;
        } else {
            qq.text_with("U1", &answer).await;
        }
        assert!(daemon.stop().await.success());
        let said = [feishu.look(|world| world.said("oc_ada")), qq.look(|rules| rules.texts("U1"))].concat();
        assert_eq!(said.iter().filter(|text| **text == answer).count(), 1, "{said:?}");
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
