//! A task runs at its time, delivers its result, and is looked at and changed from outside.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};

/// The texts of the assistant's messages in a thread.
pub(super) async fn texts(daemon: &Daemon, thread: &str) -> Vec<String> {
    let page = daemon.get_json(&format!("/api/threads/{thread}/messages?limit=200")).await;
    let messages = page["messages"].as_array().cloned().unwrap_or_default();
    let parts = messages.iter().filter(|message| message["role"] == "assistant").map(|message| {
        let parts = message["parts"].as_array().unwrap();
        parts.iter().filter_map(|part| part["text"].as_str()).collect::<String>()
    });
    parts.collect()
}

/// A time this many milliseconds from now, as a task file has it.
pub(super) fn in_millis(millis: i64) -> String {
    let now = jiff::Timestamp::now();
    now.checked_add(jiff::SignedDuration::from_millis(millis)).unwrap().to_string()
}

fn report(seen: &Seen) -> Reply {
    Reply::text(&format!("report on {}", seen.last_user_text().lines().last().unwrap_or_default()))
}

/// Whether the model is offered the tool, and has not called it.
fn offers_task_done(seen: &Seen) -> bool {
    seen.body["tools"].to_string().contains("task_done")
        && !seen.body["messages"].to_string().contains("noted")
}

async fn task(daemon: &Daemon, id: &str) -> Value {
    daemon.get_json(&format!("/api/tasks/{id}")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_runs_at_its_time_and_its_result_goes_to_another_thread() {
    let model = FakeModel::start(Script::compute(report)).await;
    let project = Project::with_model(&model.url(), json!({}));
    let daemon = project.start().await;
    let file =
        format!("---\nat: {}\ndeliver: [api:chat:team, api:chat:boss]\n---\nthe commits", in_millis(1500));
    project.write(".ship/tasks/daily.md", &file);
    for thread in ["api:chat:team", "api:chat:boss"] {
        daemon.until("the result", async |daemon| !texts(daemon, thread).await.is_empty()).await;
        assert_eq!(texts(&daemon, thread).await, ["report on the commits"]);
    }
    daemon.until("the end", async |daemon| task(daemon, "daily").await["status"] == "over").await;
    let task = task(&daemon, "daily").await;
    assert_eq!(task["last"]["outcome"], "done");
    assert_eq!(task["last"]["trigger"], "schedule");
    assert_eq!(task["history"].as_array().unwrap().len(), 1);
    let prompt = model.requests()[0].last_user_text().to_owned();
    assert!(prompt.contains("task daily") && prompt.ends_with("the commits"), "{prompt}");

    // The answer to a result goes on in that conversation, with the result in its history.
    let answer = daemon.execute(json!({ "instructions": "and yesterday?", "chatId": "team" })).await;
    assert_eq!(answer["output"], "report on and yesterday?");
    let seen = model.requests().last().unwrap().body["messages"].to_string();
    assert!(seen.contains("report on the commits"), "{seen}");
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reminder_is_sent_without_a_model() {
    let model = FakeModel::start(Script::compute(report)).await;
    let project = Project::with_model(&model.url(), json!({}));
    let due = in_millis(1000);
    project.write(
        ".ship/tasks/tea.md",
        &format!("---\nat: {due}\nkind: message\ndeliver: api:chat:me\n---\nTea is ready."),
    );
    let daemon = project.start().await;
    daemon.until("the reminder", async |daemon| !texts(daemon, "api:chat:me").await.is_empty()).await;
    assert_eq!(texts(&daemon, "api:chat:me").await, ["Tea is ready."]);
    assert!(model.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_without_news_says_nothing_and_a_failing_one_is_counted() {
    let script = Script::compute(|seen: &Seen| match seen.last_user_text() {
        text if text.contains("quiet") && offers_task_done(seen) => {
            Reply::calls([("task_done", json!({ "report": false }))])
        }
        text if text.contains("quiet") => Reply::text("Nothing happened."),
        _ => Reply::status(400, "no such model"),
    });
    let model = FakeModel::start(script).await;
    let project = Project::with_model(&model.url(), json!({}));
    for name in ["quiet", "broken"] {
        let file = format!("---\nevery: 10h\ndeliver: api:chat:{name}\n---\n{name}");
        project.write(&format!(".ship/tasks/{name}.md"), &file);
    }
    let daemon = project.start().await;
    for (name, outcome, failures) in [("quiet", "quiet", 0), ("broken", "failed", 1)] {
        daemon.until("the file", async |daemon| task(daemon, name).await["status"] == "waiting").await;
        let started = daemon.post(&format!("/api/tasks/{name}/run"), &json!({})).send().await.unwrap();
        assert!(started.status().is_success(), "{}", started.text().await.unwrap());
        daemon.until("the end", async |daemon| task(daemon, name).await["last"]["outcome"] == outcome).await;
        let task = task(&daemon, name).await;
        assert_eq!((&task["failures"], &task["last"]["trigger"]), (&json!(failures), &json!("manual")));
        assert_eq!(texts(&daemon, &format!("api:chat:{name}")).await, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unattended_run_that_may_not_ask_is_told_so_once_and_then_stopped() {
    let script = Script::compute(|_: &Seen| {
        Reply::calls([("exec_shell", json!({ "command": "touch made-by-a-task" }))])
    });
    let model = FakeModel::start(script).await;
    let project = Project::with_model(&model.url(), json!({}));
    project.write(".ship/tasks/eager.md", "---\nevery: 10h\nonApproval: deny\ndeliver: none\n---\ntry it");
    let daemon = project.start().await;
    daemon.until("the file", async |daemon| task(daemon, "eager").await["status"] == "waiting").await;
    daemon.post("/api/tasks/eager/run", &json!({})).send().await.unwrap();
    daemon.until("the end", async |daemon| task(daemon, "eager").await["last"].is_object()).await;
    let ended = task(&daemon, "eager").await;
    assert_eq!((&ended["last"]["outcome"], &ended["failures"]), (&json!("failed"), &json!(1)));
    assert!(ended["last"]["text"].as_str().unwrap().contains("onApproval"), "{ended}");
    assert!(model.requests().len() <= 3, "it does not argue: {}", model.requests().len());
    assert!(!project.path().join("made-by-a-task").exists());
    let approvals = daemon.get_json("/api/approvals?state=pending").await;
    assert_eq!(approvals["approvals"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_of_a_task_is_told_where_its_result_goes_and_the_run_goes_on_after_it() {
    let script = Script::compute(|seen: &Seen| {
        let messages = seen.body["messages"].as_array().unwrap();
        match messages.iter().any(|message| message["role"] == "tool") {
            true => Reply::text("it is there"),
            false => Reply::calls([("exec_shell", json!({ "command": "touch made-by-a-task" }))]),
        }
    });
    let model = FakeModel::start(script).await;
    let project = Project::with_model(&model.url(), json!({}));
    project.write(".ship/tasks/maker.md", "---\nevery: 10h\ndeliver: api:chat:team\n---\nmake it");
    let daemon = project.start().await;
    daemon.until("the file", async |daemon| task(daemon, "maker").await["status"] == "waiting").await;
    daemon.post("/api/tasks/maker/run", &json!({})).send().await.unwrap();
    daemon.until("the notice", async |daemon| !texts(daemon, "api:chat:team").await.is_empty()).await;
    let notice = texts(&daemon, "api:chat:team").await.remove(0);
    assert!(notice.contains("A1") && notice.contains("touch made-by-a-task"), "{notice}");
    let again = daemon.post("/api/tasks/maker/run", &json!({})).send().await.unwrap();
    assert_eq!(again.status(), 409, "it is still waiting");
    let pending = daemon.get_json("/api/approvals?state=pending").await;
    let id = pending["approvals"][0]["id"].as_str().unwrap().to_owned();
    let decided =
        daemon.post(&format!("/api/approvals/{id}"), &json!({ "decision": "approve" })).send().await;
    assert!(decided.unwrap().status().is_success());
    daemon.until("the result", async |daemon| texts(daemon, "api:chat:team").await.len() == 3).await;
    let told = texts(&daemon, "api:chat:team").await;
    assert!(
        told[1].contains("A1") && told[2] == "it is there",
        "the outcome is told, then the result: {told:?}"
    );
    assert!(project.path().join("made-by-a-task").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_file_is_shown_and_a_repaired_one_runs() {
    let model = FakeModel::start(Script::compute(report)).await;
    let project = Project::with_model(&model.url(), json!({}));
    project.write(".ship/tasks/daily.md", "---\nschedule: */5 * * * *\n---\nthe commits");
    let daemon = project.start().await;
    let broken = task(&daemon, "daily").await;
    assert_eq!((&broken["status"], &broken["mistake"]["line"]), (&json!("broken"), &json!(2)));
    assert!(broken["mistake"]["message"].as_str().unwrap().contains("quotes"), "{broken}");
    let refused = daemon.post("/api/tasks/daily/run", &json!({})).send().await.unwrap();
    assert_eq!(refused.status(), 422);
    let file = "---\nschedule: \"*/5 * * * *\"\ndeliver: api:chat:team\n---\nthe commits";
    project.write(".ship/tasks/daily.md", file);
    daemon.until("the repair", async |daemon| task(daemon, "daily").await["status"] == "waiting").await;
    let run = async || {
        let request = daemon.post("/api/tasks/daily/run", &json!({})).header("Idempotency-Key", "k1");
        request.send().await.unwrap().status()
    };
    // The scheduler reads the file a moment later.
    daemon.until("the run", async |_| run().await.is_success()).await;
    daemon.until("the result", async |daemon| !texts(daemon, "api:chat:team").await.is_empty()).await;
    assert!(run().await.is_success(), "the same key is the same run");
    assert_eq!(texts(&daemon, "api:chat:team").await.len(), 1);
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looking_at_tasks_changes_nothing_and_a_pause_survives_a_kill() {
    let model = FakeModel::start(Script::compute(report)).await;
    let project = Project::with_model(&model.url(), json!({}));
    project.write(".ship/tasks/a.md", "---\nevery: 1h\n---\nfirst");
    project.write(".ship/tasks/b.md", "---\nat: 2020-01-01 09:00\ntimezone: UTC\n---\nlong past");
    let daemon = project.start().await;
    daemon.until("b is over", async |daemon| task(daemon, "b").await["status"] == "over").await;
    let state = || {
        let read = |name: &str| std::fs::read(project.path().join(".ship/state/tasks").join(name)).ok();
        (read("a.json"), read("b.json"))
    };
    daemon.until("the states", async |_| state().0.is_some() && state().1.is_some()).await;
    let before = state();
    for args in [
        &["tasks", "list"][..],
        &["tasks", "list", "--json"],
        &["tasks", "validate"],
        &["tasks", "history", "b"],
    ] {
        let output = project.run(args);
        assert!(output.code == Some(0), "{args:?}: {}", output.stderr);
    }
    daemon.get_json("/api/tasks").await;
    assert_eq!(state(), before);
    let shown = project.run(&["tasks", "history", "b"]);
    assert!(shown.stdout.contains("missed"), "{}", shown.stdout);

    let paused = project.run(&["tasks", "pause", "a"]);
    assert!(paused.code == Some(0), "{}", paused.stderr);
    daemon.kill();
    project.start().await.kill();
    let listed = project.run(&["tasks", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["tasks"][0]["status"], "paused");
    assert!(project.run(&["tasks", "resume", "a"]).code == Some(0));
    assert!(project.run(&["tasks", "clean"]).stdout.contains("b"));
    assert!(project.path().join(".ship/tasks/done/b.md").is_file());
    let none = project.run(&["tasks", "show", "nothing"]);
    assert!(none.code != Some(0) && none.stderr.contains("tasks list"), "{}", none.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_is_due_while_the_machine_sleeps_runs_once_when_it_wakes() {
    let model = FakeModel::start(Script::compute(report)).await;
    let project = Project::with_model(&model.url(), json!({}));
    let daemon = project.start().await;
    let due = in_millis(3_000);
    project.write(".ship/tasks/t.md", &format!("---\nat: {due}\ndeliver: api:chat:all\n---\nthe night"));
    let listed = async |daemon: &Daemon| task(daemon, "t").await["status"].is_string();
    daemon.until("the task", listed).await;
    daemon.signal(Signal::STOP);
    let due: jiff::Timestamp = due.parse().unwrap();
    while jiff::Timestamp::now() <= due {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    daemon.signal(Signal::CONT);
    daemon.until("the end", async |daemon| task(daemon, "t").await["status"] == "over").await;
    daemon.until("the result", async |daemon| !texts(daemon, "api:chat:all").await.is_empty()).await;
    assert_eq!(texts(&daemon, "api:chat:all").await, ["report on the night"]);
    assert_eq!(task(&daemon, "t").await["history"].as_array().unwrap().len(), 1);
    assert_eq!(model.requests().len(), 1);
}
