//! The sandbox status is always shown: at the start, by the doctor and in the console, and a weaker sandbox is never
//! used silently.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply};

fn project(sandbox: &str) -> Project {
    Project::new(json!({
        "llm": { "provider": "offline" }, "permissions": { "exec_shell": { "sandbox": sandbox } },
    }))
}

#[test]
fn a_start_says_it_in_its_summary() {
    for (sandbox, expected) in [("auto", "sandbox   on"), ("off", "sandbox   off: commands run unconfined")] {
        let project = project(sandbox);
        let mut command = project.command(&["run"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        // The daemon is ready before the probe ends; the line is printed later.
        assert!(said.any(|line| line.trim_start().starts_with("console")));
        assert!(said.any(|line| line.trim_start().starts_with(expected)), "{sandbox}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn the_doctor_tries_it_out() {
    for (sandbox, status) in [("require", "ok"), ("off", "warning")] {
        let said = project(sandbox).run(&["doctor", "--json"]).stdout;
        let report: Value = serde_json::from_str(&said).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["check"] == "sandbox").unwrap();
        // The tests may also run on a machine with gaps.
        assert!(check["status"] == status || check["status"] == "warning", "{check}");
        assert_eq!(check["message"].as_str().unwrap().starts_with("on"), sandbox == "require", "{check}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_command_waits_until_it_is_known() {
    let look = Reply::calls([("exec_shell", json!({ "command": "ls" }))]);
    let model = FakeModel::start([look, Reply::text("Seen.")]).await;
    let project = Project::with_model(
        &model.url(),
        json!({ "queue": { "mergeMs": 0 }, "permissions": { "exec_shell": { "sandbox": "require" } } }),
    );
    let daemon = project.start().await;
    let answer = daemon.execute(json!({ "instructions": "look", "chatId": "a" })).await;
    assert_eq!(answer["toolCalls"][0]["output"]["sandbox"], "read-only", "{answer}");
    daemon
        .until("the console to know", async |daemon| {
            let info = daemon.get_json("/api/info").await;
            info["sandbox"]["required"] == true && info["sandbox"]["level"] != "unavailable"
        })
        .await;
}
