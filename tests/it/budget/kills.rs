//! kill -9 between a reservation and its end: the call is counted once, in full, and never lost.

use serde_json::{Value, json};

use super::{budget, ledger};
use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply};

async fn say(daemon: &Daemon, text: &str, id: &str) -> Option<Value> {
    let body = json!({ "instructions": text, "chatId": "a", "messageId": id, "userId": "ada" });
    let answer = daemon.post("/api/execute", &body).send().await.ok()?;
    serde_json::from_str(&answer.text().await.ok()?).ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_a_kill_cut_off_counts_once_and_in_full() {
    for step in ["call-reserved", "call-answered", "call-settled"] {
        let model = FakeModel::start(Reply::text("hello")).await;
        let mut config = budget(json!({ "day": 100 }));
        merge(&mut config, json!({ "queue": { "mergeMs": 0 } }));
        let project = Project::with_model(&model.url(), config);
        let mut command = project.command(&["run"]);
        command.env("SHIPAGENT_FAIL_POINT", step);
        let daemon = Daemon::start(command, project.path()).await;
        assert_eq!(say(&daemon, "hi", "m1").await, None, "{step}");
        assert!(!daemon.ended().await.success(), "{step}");

        let daemon = project.start().await;
        daemon.until_state("api:chat:a", "idle").await;
        let answer = say(&daemon, "hi", "m1").await.unwrap();
        assert_eq!((&answer["status"], &answer["output"]), (&json!("done"), &json!("hello")), "{step}");
        let shown = say(&daemon, "/budget", "m2").await.unwrap();
        let shown = shown["output"].as_str().unwrap();
        assert!(shown.contains("0.80 USD of 100.00 USD"), "{step}: {shown}");
        assert!(daemon.stop().await.success());

        let lines = ledger(&project);
        let ids = |kind: &str| -> Vec<Value> {
            lines.iter().filter(|line| line["t"] == kind).map(|line| line["id"].clone()).collect()
        };
        let (reserved, settled) = (ids("reserve"), ids("settle"));
        assert_eq!(reserved.len(), 2, "{step}: {lines:#?}");
        assert!(settled.iter().all(|id| settled.iter().filter(|other| *other == id).count() == 1));
        assert!(settled.iter().all(|id| reserved.contains(id)), "{step}");
        // The sums are a cache: without them the ledger tells the same.
        std::fs::remove_dir_all(project.path().join(".ship/state/usage")).unwrap_or_default();
        let daemon = project.start().await;
        let shown = say(&daemon, "/budget", "m3").await.unwrap();
        assert!(shown["output"].as_str().unwrap().contains("0.80 USD of"), "{step}: {shown}");
        assert!(daemon.stop().await.success());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_raise_that_a_kill_cut_off_is_made_once() {
    for step in ["budget-raise", "budget-raised"] {
        let model = FakeModel::start(Reply::text("hello")).await;
        let mut config = budget(json!({ "day": 0.5 }));
        merge(&mut config, json!({ "queue": { "mergeMs": 0 } }));
        let project = Project::with_model(&model.url(), config);
        let mut command = project.command(&["run"]);
        command.env("SHIPAGENT_FAIL_POINT", step);
        let daemon = Daemon::start(command, project.path()).await;
        assert_eq!(say(&daemon, "one", "m1").await.unwrap()["status"], "done");
        let asked = say(&daemon, "two", "m2").await.unwrap();
        let question = asked["approvals"][0]["id"].as_str().unwrap_or_else(|| panic!("{step}: {asked}"));
        let path = format!("/api/approvals/{question}");
        let raise = json!({ "decision": "approve", "scope": "plus-one" });
        drop(daemon.post(&path, &raise).send().await);
        assert!(!daemon.ended().await.success(), "{step}");
        let daemon = project.start().await;
        daemon.until_state("api:chat:a", "idle").await;
        assert_eq!(say(&daemon, "two", "m2").await.unwrap()["status"], "done", "{step}");
        assert_eq!(super::lines(&project, "grant").len(), 1, "{step}");
        assert!(daemon.stop().await.success());
    }
}
