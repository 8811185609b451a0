//! One question decides which notes go into core memory, and it is never in the way.

use serde_json::{Value, json};

use super::scene::{both, core, is_distil, ledger, notes, project, questions, times, until};
use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::in_process::{HandClock, InProcess};
use crate::fakes::prompt::check_prompts;

const ANN: &str = "web:user:ann";
const THREAD: &str = "web:chat:c";

fn state(project: &Project) -> String {
    questions(project, THREAD)
        .last()
        .map(|part| part["state"].as_str().unwrap_or_default().to_owned())
        .unwrap_or_default()
}

async fn asked(project: &Project, daemon: &InProcess) {
    daemon.say("c", "my dog is called Bo").await;
    daemon.say("c", "my town is Lisbon").await;
    until("the question", || state(project) == "approval-requested").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_keeps_all_some_or_none() {
    for (words, kept, refused) in [
        ("yes", vec!["Bo", "Lisbon"], vec![]),
        ("同意", vec!["Bo", "Lisbon"], vec![]),
        ("keep 2", vec!["Lisbon"], vec!["Bo"]),
        ("只要第1条", vec!["Bo"], vec!["Lisbon"]),
        ("no", vec![], vec!["Bo", "Lisbon"]),
    ] {
        let model = FakeModel::start(Script::compute(both)).await;
        let project = project(&model.url(), 2, json!({}));
        let daemon = InProcess::start(&project, &HandClock::evening());
        asked(&project, &daemon).await;
        let question = questions(&project, THREAD).pop().unwrap();
        let details = question["approval"].to_string();
        assert!(
            details.contains("+1. Ann's dog is called Bo") && details.contains("+2. Ann's town is Lisbon"),
            "{details}"
        );
        daemon.say("c", words).await;
        until("the decision", || matches!(state(&project).as_str(), "output-available" | "output-denied"))
            .await;
        for text in kept {
            assert_eq!(times(&core(&project, ANN), text), 1, "{words}: {}", core(&project, ANN));
        }
        for text in refused {
            assert!(!core(&project, ANN).contains(text), "{words}: {}", core(&project, ANN));
        }
        assert_eq!(times(&notes(&project, ANN), "Bo"), 1, "the notes stay");
        // Told again, it is neither noted nor asked again.
        daemon.say("c", "as I said, my dog is called Bo").await;
        daemon.say("c", "hello").await;
        let distils = || model.requests().iter().filter(|seen| is_distil(seen)).count();
        until("the second distil", || {
            distils() == 2 && ledger(&project).iter().filter(|l| l["op"] == "distil").count() == 2
        })
        .await;
        daemon.stop().await;
        assert_eq!(questions(&project, THREAD).len(), 1, "{words}");
        check_prompts(&model.requests());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_note_that_was_forgotten_while_it_was_asked_about_does_not_come_back() {
    let model = FakeModel::start(Script::compute(both)).await;
    let project = project(&model.url(), 2, json!({}));
    let daemon = InProcess::start(&project, &HandClock::evening());
    asked(&project, &daemon).await;
    let note = ledger(&project).into_iter().find(|line| line.to_string().contains("Lisbon")).unwrap();
    let forgotten = project.run(&["memory", "forget", note["id"].as_str().unwrap(), "--scope", ANN]);
    assert_eq!(forgotten.code, Some(0), "{forgotten:?}");
    daemon.say("c", "yes").await;
    until("the decision", || state(&project) == "output-available").await;
    daemon.stop().await;
    assert!(core(&project, ANN).contains("Bo"), "{}", core(&project, ANN));
    assert!(!core(&project, ANN).contains("Lisbon") && !notes(&project, ANN).contains("Lisbon"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_does_not_hold_the_conversation_up() {
    for queue in ["merge", "steer", "interrupt"] {
        let model = FakeModel::start(Script::compute(both)).await;
        let project = project(&model.url(), 2, json!({ "queue": { "whileRunning": queue } }));
        let daemon = InProcess::start(&project, &HandClock::evening());
        asked(&project, &daemon).await;
        assert_eq!(daemon.say("c", "what is for lunch?").await, "Noted.", "{queue}");
        assert_eq!(state(&project), "output-denied", "{queue}");
        assert_eq!(core(&project, ANN), "");
        daemon.stop().await;
        check_prompts(&model.requests());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_survives_a_restart() {
    let model = FakeModel::start(Script::compute(both)).await;
    let project = project(&model.url(), 2, json!({}));
    let clock = HandClock::evening();
    let daemon = InProcess::start(&project, &clock);
    asked(&project, &daemon).await;
    daemon.stop().await;
    clock.advance(std::time::Duration::from_secs(60));
    let daemon = InProcess::start(&project, &clock);
    daemon.say("c", "keep 1").await;
    until("the decision", || state(&project) == "output-available").await;
    daemon.stop().await;
    assert!(core(&project, ANN).contains("Bo") && !core(&project, ANN).contains("Lisbon"));
    let lines: Vec<Value> = ledger(&project);
    let kept = lines.iter().find(|line| line["tier"] == "core").unwrap();
    assert_eq!((&kept["by"], &kept["reviewed"]), (&ANN.into(), &true.into()));
    assert!(kept["via"].as_str().unwrap().starts_with("apr_") && kept["from"][0].is_string(), "{kept}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn core_memory_is_written_unasked_only_for_owners_and_only_where_ship_json_says_so() {
    for (owners, written) in [(json!([ANN]), true), (json!([]), false)] {
        let model = FakeModel::start(Script::compute(both)).await;
        let project = project(&model.url(), 2, json!({ "owners": owners, "memory": { "auto": "write" } }));
        let daemon = InProcess::start(&project, &HandClock::evening());
        daemon.say("c", "my dog is called Bo").await;
        daemon.say("c", "hello").await;
        until("the distil", || ledger(&project).iter().any(|line| line["op"] == "distil")).await;
        match written {
            true => until("core memory", || core(&project, ANN).contains("Bo")).await,
            false => until("the question", || state(&project) == "approval-requested").await,
        }
        daemon.stop().await;
        assert_eq!(core(&project, ANN).contains("Bo"), written);
        assert_eq!(questions(&project, THREAD).is_empty(), written);
    }
}

const KAT: &str = "api:user:kat";
const HTTP_THREAD: &str = "api:chat:k";

fn told(text: &str) -> Value {
    json!({ "instructions": text, "chatId": "k", "userId": "kat" })
}

fn asked_states(project: &Project) -> Vec<String> {
    let state = |part: Value| part["state"].as_str().unwrap().to_owned();
    questions(project, HTTP_THREAD).into_iter().map(state).collect()
}

async fn open_questions(daemon: &Daemon) -> Vec<Value> {
    let all = daemon.get_json("/api/approvals?state=pending").await;
    all["approvals"].as_array().unwrap().clone()
}

/// At every point of a crash the question is asked once, and an answer counts once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_asked_once_and_answered_once_wherever_the_daemon_dies() {
    for step in ["distil-applied", "promotion-begun", "promotion-placed", "promotion-applied"] {
        let model = FakeModel::start(Script::compute(both)).await;
        let project = project(&model.url(), 2, json!({}));
        let mut command = project.command(&["run"]);
        command.env("SHIPAGENT_FAIL_POINT", step);
        let daemon = Daemon::start(command, project.path()).await;
        daemon.execute(told("my dog is called Bo")).await;
        daemon.execute(told("hello")).await;
        if step == "promotion-applied" {
            daemon.until("the question", async |daemon| open_questions(daemon).await.len() == 1).await;
            let id = open_questions(&daemon).await[0]["id"].as_str().unwrap().to_owned();
            // It dies while it writes what was kept.
            drop(
                daemon.post(&format!("/api/approvals/{id}"), &json!({ "decision": "approve" })).send().await,
            );
        }
        assert!(!daemon.ended().await.success(), "it does not die at {step}");
        let daemon = project.start().await;
        if step == "promotion-applied" {
            until("the end of the question", || asked_states(&project) == ["output-available"]).await;
        } else {
            // A question that had no line yet is asked after the next turn.
            if asked_states(&project).is_empty() {
                daemon.execute(told("hello again")).await;
            }
            daemon.until("the question", async |daemon| open_questions(daemon).await.len() == 1).await;
            // Not even a second kill asks it again.
            daemon.kill();
            let daemon = project.start().await;
            let open = open_questions(&daemon).await;
            assert_eq!(open.len(), 1, "{step}: {open:?}");
            let id = open[0]["id"].as_str().unwrap();
            let answer = json!({ "decision": "approve" });
            let response = daemon.post(&format!("/api/approvals/{id}"), &answer).send().await.unwrap();
            assert_eq!(response.status(), 200, "{step}");
            until("the answer", || asked_states(&project) == ["output-available"]).await;
            daemon.kill();
        }
        assert_eq!(asked_states(&project).len(), 1, "{step}");
        assert_eq!(times(&core(&project, KAT), "dog is called Bo"), 1, "{step}: {}", core(&project, KAT));
        assert_eq!(times(&notes(&project, KAT), "dog is called Bo"), 1, "{step}: the note stays");
        let kept: Vec<Value> = ledger(&project).into_iter().filter(|line| line["tier"] == "core").collect();
        assert_eq!(kept.len(), 1, "{step}: {kept:?}");
        check_prompts(&model.requests());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_a_reason_chooses_and_a_second_answer_is_refused() {
    let model = FakeModel::start(Script::compute(both)).await;
    let project = project(&model.url(), 2, json!({}));
    let daemon = project.start().await;
    daemon.execute(told("my dog is called Bo")).await;
    daemon.execute(told("my town is Lisbon")).await;
    daemon.until("the question", async |daemon| open_questions(daemon).await.len() == 1).await;
    let question = open_questions(&daemon).await.remove(0);
    assert_eq!((&question["tool"], &question["risk"]), (&"memory_keep".into(), &"low".into()), "{question}");
    let path = format!("/api/approvals/{}", question["id"].as_str().unwrap());
    let answer = json!({ "decision": "approve", "reason": "only 2" });
    assert_eq!(daemon.post(&path, &answer).send().await.unwrap().status(), 200);
    until("the answer", || asked_states(&project) == ["output-available"]).await;
    assert!(core(&project, KAT).contains("Lisbon") && !core(&project, KAT).contains("Bo"));
    assert_eq!(daemon.post(&path, &answer).send().await.unwrap().status(), 409);
    daemon.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_cannot_ask_by_itself() {
    let model = FakeModel::start(Script::compute(|seen| {
        let last = seen.body["messages"].as_array().unwrap().last().unwrap().clone();
        if is_distil(seen) || last["role"] == "tool" {
            return Reply::text("Noted.");
        }
        let item = json!({ "note": "k1", "text": "the agent may do anything", "from": [] });
        Reply::calls([("memory_keep", json!({ "scope": ANN, "items": [item] }))])
    }))
    .await;
    let project = project(&model.url(), 2, json!({}));
    let daemon = InProcess::start(&project, &HandClock::evening());
    assert_eq!(daemon.say("c", "hello").await, "Noted.");
    assert_eq!(state(&project), "output-error");
    assert_eq!(core(&project, ANN), "");
    daemon.stop().await;
}
