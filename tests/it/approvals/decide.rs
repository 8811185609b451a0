//! Approvals from the outside: asked, killed, decided through the old handle, run once.

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply};

fn shell(command: &str) -> Reply {
    Reply::calls([("exec_shell", json!({ "command": command }))])
}

/// A project with a pending approval for appending a line.
async fn asked(project: &Project) -> (Daemon, Value) {
    let daemon = project.start().await;
    let answer = daemon
        .execute(json!({ "instructions": "append", "chatId": "a", "messageId": "m1", "userId": "ada" }))
        .await;
    assert_eq!(answer["status"], "awaiting-approval", "{answer}");
    let approval = answer["approvals"][0].clone();
    assert_eq!((&approval["number"], &approval["state"]), (&json!("A1"), &json!("pending")), "{approval}");
    (daemon, approval)
}

fn lines(project: &Project) -> usize {
    std::fs::read_to_string(project.path().join("log.txt")).map_or(0, |text| text.lines().count())
}

async fn decide(daemon: &Daemon, approval: &Value, decision: &str) -> (u16, String) {
    decide_by(daemon, approval["id"].as_str().unwrap(), decision).await
}

async fn decide_by(daemon: &Daemon, name: &str, decision: &str) -> (u16, String) {
    let path = format!("/api/approvals/{name}");
    let answer = daemon.post(&path, &json!({ "decision": decision })).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decided_after_a_kill_through_the_old_handle_the_call_runs_once_in_the_same_turn() {
    let model = FakeModel::start([shell("echo one >> log.txt"), Reply::text("appended")]).await;
    let project = Project::with_model(&model.url(), json!({}));
    let (daemon, approval) = asked(&project).await;
    assert_eq!(lines(&project), 0, "nothing ran before it was allowed");
    daemon.kill();
    let listed = |project: &Project| -> Value {
        serde_json::from_str(&project.run(&["threads", "list", "--json"]).stdout).unwrap()
    };
    let dead = listed(&project);
    assert_eq!(dead["threads"][0]["state"], "awaiting-approval", "{dead}");
    assert_eq!(dead["threads"][0]["pendingApprovals"], 1, "{dead}");
    let daemon = project.start().await;
    daemon.until_state("api:chat:a", "awaiting-approval").await;
    assert_eq!(daemon.get_json("/api/threads").await, dead);
    let pending = daemon.get_json("/api/approvals?state=pending").await;
    assert_eq!(pending["approvals"][0]["id"], approval["id"]);
    let (status, text) = decide(&daemon, &approval, "approve").await;
    assert_eq!(status, 200, "{text}");
    let answer = daemon.execute(json!({ "instructions": "append", "chatId": "a", "messageId": "m1" })).await;
    assert_eq!(answer["output"], "appended", "{answer}");
    assert_eq!(answer["toolCalls"][0]["output"]["exitCode"], 0, "{answer}");
    assert_eq!(lines(&project), 1);
    let (status, text) = decide(&daemon, &approval, "deny").await;
    assert_eq!(status, 409);
    assert!(text.contains("was approved by web:user:operator"), "{text}");
    assert_eq!(lines(&project), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_the_number_that_people_see_is_as_good_as_the_id() {
    let model = FakeModel::start([shell("echo one >> log.txt"), Reply::text("appended")]).await;
    let project = Project::with_model(&model.url(), json!({}));
    let (daemon, approval) = asked(&project).await;
    for name in ["A2", "A", "1", "A+1", "A01x", "apr_1"] {
        assert_eq!(decide_by(&daemon, name, "approve").await.0, 404, "{name}");
    }
    let (status, text) = decide_by(&daemon, "a1", "approve").await;
    assert_eq!(status, 200, "{text}");
    let decided: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(decided["id"], approval["id"]);
    let answer = daemon.execute(json!({ "instructions": "append", "chatId": "a", "messageId": "m1" })).await;
    assert_eq!((&answer["output"], lines(&project)), (&json!("appended"), 1), "{answer}");
    assert_eq!(decide_by(&daemon, "A1", "deny").await.0, 409);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_decide_for_those_who_may_and_for_nobody_else() {
    let model = FakeModel::start([shell("echo one >> log.txt"), Reply::text("appended")]).await;
    let project = Project::with_model(&model.url(), json!({}));
    let (daemon, _) = asked(&project).await;
    let say = async |text: &str, user: &str| {
        daemon.execute(json!({ "instructions": text, "chatId": "a", "userId": user })).await
    };
    let refused = say("同意", "eve").await;
    assert!(!refused["output"].as_str().unwrap().is_empty());
    daemon.until_state("api:chat:a", "awaiting-approval").await;
    assert_eq!(lines(&project), 0, "a stranger's yes is no yes");
    say("同意", "ada").await;
    let answer = daemon.execute(json!({ "instructions": "append", "chatId": "a", "messageId": "m1" })).await;
    assert_eq!((&answer["output"], lines(&project)), (&json!("appended"), 1), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denied_call_is_not_run_and_a_read_only_one_is_not_asked_about() {
    let model = FakeModel::start([shell("ls"), shell("rm -rf src"), Reply::text("as you wish")]).await;
    let project = Project::with_model(&model.url(), json!({}));
    project.write("src/keep.txt", "keep");
    let daemon = project.start().await;
    let answer = daemon.execute(json!({ "instructions": "clean", "chatId": "a", "messageId": "m1" })).await;
    assert_eq!(answer["status"], "awaiting-approval", "{answer}");
    assert_eq!(answer["toolCalls"][0]["output"]["exitCode"], 0, "{answer}");
    let (status, text) = decide(&daemon, &answer["approvals"][0], "deny").await;
    assert_eq!(status, 200, "{text}");
    let answer = daemon.execute(json!({ "instructions": "clean", "chatId": "a", "messageId": "m1" })).await;
    assert_eq!(answer["output"], "as you wish");
    assert!(project.path().join("src/keep.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unasked_command_cannot_write_or_read_secrets_and_a_denied_one_is_refused() {
    let extra = json!({ "permissions": { "exec_shell": { "deny": ["shutdown"] } } });
    let model = FakeModel::start([shell("shutdown now"), shell("cat notes.txt"), Reply::text("done")]).await;
    let project = Project::with_model(&model.url(), extra);
    project.write("notes.txt", "milk");
    let daemon = project.start().await;
    let answer = daemon.execute(json!({ "instructions": "go", "chatId": "a" })).await;
    assert_eq!(answer["status"], "done", "{answer}");
    assert!(answer["toolCalls"][0].to_string().contains("refused"), "{answer}");
    assert_eq!(answer["toolCalls"][1]["output"]["stdout"], "milk", "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_a_kill_cut_off_is_asked_about_and_never_simply_run_again() {
    let command = "echo begun >> log.txt; sleep 60";
    let model = FakeModel::start([shell(command), Reply::text("skipped")]).await;
    let extra = json!({ "permissions": { "exec_shell": { "mode": "allow" } } });
    let project = Project::with_model(&model.url(), extra);
    let daemon = project.start().await;
    daemon.execute(json!({ "instructions": "go", "chatId": "a", "messageId": "m1", "timeoutMs": 1 })).await;
    daemon.until("the command to begin", async |_: &Daemon| lines(&project) == 1).await;
    daemon.kill();
    let daemon = project.start().await;
    daemon.until_state("api:chat:a", "awaiting-approval").await;
    let pending = daemon.get_json("/api/approvals?state=pending").await;
    let approval = pending["approvals"][0].clone();
    assert_eq!(approval["kind"], "unknown-outcome", "{approval}");
    let (status, text) = decide(&daemon, &approval, "skip").await;
    assert_eq!(status, 200, "{text}");
    let answer = daemon.execute(json!({ "instructions": "go", "chatId": "a", "messageId": "m1" })).await;
    assert_eq!((&answer["output"], lines(&project)), (&json!("skipped"), 1), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_asked_sees_the_whole_command_its_folder_and_the_change() {
    let long = format!("touch {}", "a-file-with-a-name ".repeat(20));
    let model = FakeModel::start([Reply::calls([
        ("exec_shell", json!({ "command": long, "cwd": "docs" })),
        ("write_file", json!({ "path": "docs/new.md", "content": "# New\n" })),
        ("edit_file", json!({ "path": "docs/old.md", "old": "nowhere", "new": "x" })),
    ])])
    .await;
    let project = Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0 }, "language": "en" }));
    project.write("docs/old.md", "# Old\n");
    let daemon = project.start().await;
    daemon.execute(json!({ "instructions": "go", "chatId": "a" })).await;
    let details = async |tool: &str| {
        let pending = daemon.get_json("/api/approvals?state=pending").await;
        let all = pending["approvals"].as_array().unwrap().clone();
        let found = all.iter().find(|approval| approval["tool"] == tool);
        found.map(|approval| approval["details"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    let shell = details("exec_shell").await;
    assert!(shell.contains("In the folder `docs`"), "{shell}");
    assert!(shell.contains("A longer yes would cover `touch …` with other paths of the project"), "{shell}");
    assert!(shell.contains(&format!("```sh\n{}\n```", long.trim())), "{shell}");
    let write = details("write_file").await;
    let covered = "A longer yes would cover every call of write_file whose risk is not high.";
    let start =
        format!("- write_file changes something\n\n{covered}\n\n```diff\n--- /dev/null\n+++ b/docs/new.md\n");
    assert!(write.starts_with(&start), "{write}");
    assert!(write.contains("\n+# New\n```"), "{write}");
    let edit = details("edit_file").await;
    assert!(edit.contains("As things are it would fail: `old` does not stand in docs/old.md"), "{edit}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_asked_gets_a_number() {
    let model = FakeModel::start([
        Reply::calls([
            ("list_files", json!({ "path": "." })),
            ("exec_shell", json!({ "command": "touch one" })),
        ]),
        Reply::text("made"),
        Reply::calls([("list_files", json!({ "path": "." }))]),
        Reply::text("looked"),
        shell("touch two"),
    ])
    .await;
    let project = Project::with_model(&model.url(), json!({}));
    let (daemon, approval) = asked(&project).await;
    assert_eq!(decide(&daemon, &approval, "approve").await.0, 200);
    daemon.until_state("api:chat:a", "idle").await;
    let looked = daemon.execute(json!({ "instructions": "look", "chatId": "b" })).await;
    assert_eq!(looked["output"], "looked", "{looked}");
    let second = daemon.execute(json!({ "instructions": "make", "chatId": "c" })).await;
    assert_eq!(second["approvals"][0]["number"], "A2", "{second}");
}
