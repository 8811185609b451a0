//! What runs cost, and a run that may not cost more.

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};

async fn run(daemon: &Daemon, id: &str, runs: usize) -> Value {
    let path = format!("/api/tasks/{id}");
    let started = async |daemon: &Daemon| {
        daemon.post(&format!("{path}/run"), &json!({})).send().await.unwrap().status().is_success()
    };
    daemon.until("the task", started).await;
    let history = async |daemon: &Daemon| daemon.get_json(&path).await["history"].clone();
    daemon.until("the end", async |daemon| history(daemon).await.as_array().unwrap().len() == runs).await;
    daemon.get_json(&path).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costs_of_runs_are_listed_and_a_run_ends_at_its_own_limit() {
    let script = Script::compute(|seen: &Seen| {
        let looked = seen.body["messages"].as_array().unwrap().last().unwrap()["role"] == "tool";
        match seen.last_user_text().contains("look") && !looked {
            true => Reply::calls([("list_files", json!({ "path": "." }))]),
            false => Reply::text("done"),
        }
    });
    let model = FakeModel::start(script).await;
    let budget = json!({ "prices": { "*": { "perCall": 0.4 } }, "onLimit": "stop", "currency": "EUR", "perDollar": 0.5 });
    let project = Project::with_model(
        &model.url(),
        json!({ "owners": ["api:user:ada"], "language": "en", "budget": budget }),
    );
    for (name, keys) in [("cheap", ""), ("limited", "maxCost: 0.5\n"), ("free", "maxCost: 2\n")] {
        let file = format!("---\nevery: 10h\n{keys}deliver: api:chat:team\n---\nlook");
        project.write(&format!(".ship/tasks/{name}.md"), &file);
    }
    let daemon = project.start().await;
    for runs in 1..=2 {
        let cheap = run(&daemon, "cheap", runs).await;
        // Two calls of 0.40 EUR each are 1.60 US dollars.
        assert_eq!(cheap["last"]["costMicros"], 1_600_000, "{cheap}");
        assert_eq!(cheap["cost30DaysMicros"], 1_600_000 * runs, "{cheap}");
    }
    let limited = run(&daemon, "limited", 1).await;
    assert_eq!(limited["last"]["outcome"], "budget", "the second call does not fit: {limited}");
    assert_eq!(limited["last"]["costMicros"], 800_000, "{limited}");
    assert_eq!(run(&daemon, "free", 1).await["last"]["outcome"], "done");

    let listed = project.run(&["tasks", "list"]).stdout;
    assert!(listed.contains("1.60 EUR") && listed.contains("0.40 EUR"), "{listed}");
    let history = project.run(&["tasks", "history", "cheap"]).stdout;
    assert_eq!(history.matches("0.80 EUR").count(), 2, "{history}");
    let in_chat =
        |who: &str| daemon.execute(json!({ "instructions": "/tasks", "chatId": "team", "userId": who }));
    let owner = in_chat("ada").await;
    assert!(owner["output"].as_str().unwrap().contains("cost 0.80 EUR, 30 days 1.60 EUR"), "{owner}");
    let other = in_chat("bo").await;
    assert!(other["output"].as_str().unwrap().contains("cheap"), "{other}");
    assert!(!other["output"].as_str().unwrap().contains("EUR"), "owners alone see costs: {other}");
}
