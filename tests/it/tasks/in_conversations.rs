//! Runs inside a conversation of people: queued like a message, with limits and ends of their own.

use std::time::Duration;

use serde_json::{Value, json};

use super::chats::{ANN, Scene, Spot};
use super::runs::texts;
use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};

async fn task(daemon: &Daemon, id: &str) -> Value {
    daemon.get_json(&format!("/api/tasks/{id}")).await
}

async fn start(daemon: &Daemon, id: &str) {
    let started = async |daemon: &Daemon| {
        let answer = daemon.post(&format!("/api/tasks/{id}/run"), &json!({})).send().await.unwrap();
        answer.status().is_success()
    };
    daemon.until("the task", started).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_waits_for_a_persons_turn_and_its_timeout_stops_only_itself() {
    let script = Script::compute(|seen: &Seen| match seen.last_user_text() {
        text if text.contains("slow question") => Reply::text("slow answer").after(Duration::from_secs(4)),
        text if text.contains("hang") => Reply::hang(),
        text => Reply::text(&format!("re: {}", text.lines().last().unwrap_or_default())),
    });
    let model = FakeModel::start(script).await;
    let project =
        Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0, "whileRunning": "interrupt" } }));
    let file = |prompt: &str, keys: &str| {
        format!("---\nevery: 10h\nthread: api:chat:team\ntimeout: 2s\n{keys}---\n{prompt}")
    };
    project.write(".ship/tasks/waits.md", &file("look", "deliver: [api:chat:team, api:chat:other]\n"));
    project.write(".ship/tasks/hangs.md", &file("hang", ""));
    let daemon = project.start().await;
    let ask = json!({ "instructions": "slow question", "chatId": "team" });
    let (answer, ()) = tokio::join!(daemon.execute(ask), async {
        model.wait_for_requests(1).await;
        start(&daemon, "waits").await;
        daemon.until("the run", async |daemon| task(daemon, "waits").await["status"] == "running").await;
    });
    assert_eq!(answer["output"], "slow answer", "the run neither joins nor interrupts nor stops it");
    daemon.until("the end", async |daemon| task(daemon, "waits").await["last"].is_object()).await;
    let ended = task(&daemon, "waits").await;
    assert_eq!(ended["last"]["outcome"], "done", "waiting is not its time: {ended}");
    assert_eq!(texts(&daemon, "api:chat:team").await, ["slow answer", "re: look"]);
    assert_eq!(texts(&daemon, "api:chat:other").await, ["re: look"], "and to where it is delivered");

    start(&daemon, "hangs").await;
    model.wait_for_requests(3).await;
    let next = daemon.execute(json!({ "instructions": "next", "chatId": "team" })).await;
    assert_eq!(next["output"], "re: next", "what waits behind the stopped run is answered");
    daemon.until("the end", async |daemon| task(daemon, "hangs").await["last"].is_object()).await;
    assert_eq!(task(&daemon, "hangs").await["last"]["outcome"], "timed-out");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_with_its_own_model_steps_and_tools_leaves_those_of_people_alone() {
    let script = Script::compute(|seen: &Seen| {
        let has_done = seen.body["tools"].to_string().contains("task_done");
        let has_upsert = seen.body["tools"].to_string().contains("task_upsert");
        match seen.last_user_text() {
            text if text.contains("loop") => Reply::calls([("list_files", json!({ "path": "." }))]),
            text if text.contains("task ") => {
                Reply::text(&format!("task: done {has_done} upsert {has_upsert}"))
            }
            _ => Reply::text(&format!("person: done {has_done} upsert {has_upsert}")),
        }
    });
    let model = FakeModel::start(script).await;
    let project = Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0 } }));
    project.write(".ship/tasks/tools.md", "---\nevery: 10h\nthread: api:chat:team\n---\nlook");
    project.write(".ship/tasks/steps.md", "---\nevery: 10h\nthread: api:chat:team\nmaxSteps: 2\n---\nloop");
    let daemon = project.start().await;
    start(&daemon, "tools").await;
    daemon.until("the run", async |daemon| !texts(daemon, "api:chat:team").await.is_empty()).await;
    let said = daemon.execute(json!({ "instructions": "hi", "chatId": "team" })).await;
    assert_eq!(said["output"], "person: done false upsert true");
    assert_eq!(texts(&daemon, "api:chat:team").await[0], "task: done true upsert false");
    let before = model.requests().len();
    start(&daemon, "steps").await;
    daemon.until("the end", async |daemon| task(daemon, "steps").await["last"].is_object()).await;
    assert_eq!(task(&daemon, "steps").await["last"]["outcome"], "failed");
    assert_eq!(model.requests().len() - before, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quiet_runs_in_a_chat_of_a_platform_say_nothing_there() {
    let script = Script::compute(|seen: &Seen| match seen.last_user_text() {
        text if text.contains("token") => Reply::text("NO_REPLY"),
        text if text.contains("tool") && !seen.body["messages"].to_string().contains("noted") => {
            Reply::calls([("task_done", json!({ "report": false }))])
        }
        text if text.contains("tool") => Reply::text("Nothing happened."),
        text if text.contains("news") => Reply::text("There is news."),
        _ => Reply::text("hello"),
    });
    let scene = Scene::new(script, json!({})).await;
    for name in ["token", "tool", "news"] {
        let file = format!("---\nevery: 10h\nthread: telegram:chat:{ANN}\n---\n{name}");
        scene.project.write(&format!(".ship/tasks/{name}.md"), &file);
    }
    let daemon = scene.project.start().await;
    scene.say(Spot::TelegramDirect, "hi");
    scene.hear(Spot::TelegramDirect, &["hello"]).await;
    for (name, outcome) in [("token", "quiet"), ("tool", "quiet"), ("news", "done")] {
        start(&daemon, name).await;
        daemon.until("the end", async |daemon| task(daemon, name).await["last"].is_object()).await;
        assert_eq!(task(&daemon, name).await["last"]["outcome"], outcome, "{name}");
    }
    scene.hear(Spot::TelegramDirect, &["There is news."]).await;
    let said = scene.telegram.read(|world| world.bot_texts(ANN));
    assert_eq!(said, ["hello", "There is news."]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_may_not_report_to_its_conversation_is_refused_in_the_checks() {
    let model = FakeModel::start(Script::compute(|_| Reply::text("x"))).await;
    let project = Project::with_model(&model.url(), json!({}));
    project.write(".ship/tasks/mute.md", "---\nevery: 1h\nthread: api:chat:team\ndeliver: none\n---\nx");
    project.write(".ship/tasks/日报.md", "---\nevery: 1h\n---\nx");
    project.write(".ship/tasks/Daily.md", "---\nevery: 1h\n---\nx");
    project.write(".ship/tasks/good.md", "---\nevery: 1h\n---\nx");
    let checked = project.run(&["tasks", "validate"]);
    assert!(checked.code != Some(0));
    for line in ["mute.md:4: ", "Daily.md: ", "日报.md: ", "good: "] {
        assert!(checked.stdout.contains(line), "{line}: {}", checked.stdout);
    }
    let listed: Value = serde_json::from_str(&project.run(&["tasks", "list", "--json"]).stdout).unwrap();
    let broken = listed["tasks"].as_array().unwrap().iter().filter(|task| task["status"] == "broken").count();
    assert_eq!(broken, 3, "{listed}");
}
