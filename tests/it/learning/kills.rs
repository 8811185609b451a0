//! The daemon dies at each step of learning: notes are neither lost nor doubled, and the prompt stays valid.

use serde_json::{Value, json};

use super::scene::{is_distil, is_summary, ledger, memories, notes, project, questions, shown, times, until};
use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::prompt::check_prompts;

const ANN: &str = "api:user:ann";

fn script(seen: &Seen) -> Reply {
    if is_distil(seen) {
        memories(seen)
    } else if is_summary(seen) {
        let notes: Vec<Value> = shown(seen)
            .into_iter()
            .filter_map(|(number, line)| {
                let (_, fact) = line.split_once("my ")?;
                let fact = fact.split('.').next().unwrap_or_default();
                Some(json!({ "ids": [number], "text": format!("Ann's {fact}") }))
            })
            .collect();
        let observations = json!([{ "ids": [1], "who": "Ann", "text": "They talked." }]);
        Reply::text(&json!({ "observations": observations, "open": [], "notes": notes }).to_string())
    } else {
        Reply::text(&format!("Noted. {}", "All of it is written down. ".repeat(12)))
    }
}

/// Says these things to a daemon that dies at a step.
async fn until_dead(project: &Project, step: &str, texts: &[String]) {
    let mut command = project.command(&["run"]);
    command.env("SHIPAGENT_FAIL_POINT", step);
    let daemon = Daemon::start(command, project.path()).await;
    for (number, text) in texts.iter().enumerate() {
        // It may be gone by now.
        drop(daemon.post("/api/execute", &body(number, text)).send().await);
    }
    assert!(!daemon.ended().await.success(), "it does not die at {step}");
}

fn body(number: usize, text: &str) -> Value {
    json!({ "instructions": text, "chatId": "k", "userId": "ann", "messageId": format!("q{number}") })
}

fn facts() -> Vec<String> {
    [
        "my dog is called Bo",
        "my town is Lisbon",
        "my sister is Mia",
        "hello and good evening",
        "what is new with us all?",
        "and how is the weather there then?",
    ]
    .into_iter()
    .map(str::to_owned)
    .collect()
}

fn check(project: &Project, model: &FakeModel, step: &str) {
    let kept = notes(project, ANN);
    for fact in ["dog is called Bo", "town is Lisbon", "sister is Mia"] {
        assert_eq!(times(&kept, fact), 1, "killed at {step}: {kept}");
    }
    let added: Vec<Value> =
        ledger(project).into_iter().filter(|line| line["op"] == "add" && line["tier"] == "notes").collect();
    assert_eq!(added.len(), 3, "killed at {step}: {added:?}");
    let talk: Vec<Seen> =
        model.requests().into_iter().filter(|seen| !is_distil(seen) && !is_summary(seen)).collect();
    check_prompts(&talk);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_killed_at_any_step_of_a_distil_learns_everything_once() {
    for step in ["distil-begun", "distil-called", "memory-ledger", "distil-applied"] {
        let model = FakeModel::start(Script::compute(script)).await;
        let project = project(&model.url(), 6, json!({}));
        until_dead(&project, step, &facts()).await;
        // The turns that are left, and one more.
        let daemon = project.start().await;
        let mut texts = facts();
        texts.push("one more thing, and that is all".to_owned());
        for (number, text) in texts.iter().enumerate() {
            let reply = daemon.execute(body(number, text)).await;
            assert_eq!(reply["status"], "done", "{step}: {reply}");
        }
        until("the notes", || times(&notes(&project, ANN), "sister is Mia") > 0).await;
        daemon.kill();
        check(&project, &model, step);
        assert!(questions(&project, "api:chat:k").len() <= 1, "{step}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_killed_at_any_step_of_flush_and_checkpoint_learns_everything_once() {
    for step in ["flush-summarised", "memory-ledger", "flush-applied", "checkpoint-committed"] {
        let model = FakeModel::start(Script::compute(script)).await;
        let project = project(&model.url(), 0, json!({ "memory": { "keepRuns": 1 } }));
        let mut texts = facts();
        texts.push("/compact".to_owned());
        until_dead(&project, step, &texts).await;
        let daemon = project.start().await;
        let order =
            json!({ "instructions": "/compact", "chatId": "k", "userId": "ann", "messageId": "again" });
        daemon.execute(order).await;
        let reply =
            daemon.execute(json!({ "instructions": "still there?", "chatId": "k", "userId": "ann" })).await;
        assert_eq!(reply["status"], "done", "{step}: {reply}");
        daemon.kill();
        check(&project, &model, step);
        let made = crate::compaction::scene::checkpoints(&project, "api:chat:k");
        assert!(!made.is_empty() && made[0]["flushed"].as_array().unwrap().len() == 3, "{step}: {made:?}");
    }
}
