//! What makes a conversation shorter: a full window, a provider that refuses, rest, and a person who asks for it.

use std::time::Duration;

use serde_json::json;

use super::scene::{answer, checkpoints, is_summary, question, small_window, summary, until};
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script};
use crate::fakes::in_process::{HandClock, InProcess};
use crate::fakes::prompt::check_prompts;
use crate::fakes::sdk::judge;

const THREAD: &str = "web:chat:c";

fn script() -> Script {
    Script::compute(|seen| if is_summary(seen) { summary(seen) } else { answer() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn facts_told_in_turn_three_are_known_after_two_hundred_turns() {
    let model = FakeModel::start(script()).await;
    let project = small_window(&model.url(), json!({}));
    let clock = HandClock::evening();
    let daemon = InProcess::start(&project, &clock);
    for turn in 0..200 {
        clock.advance(Duration::from_secs(60));
        match turn {
            2 => daemon.say("c", "fact: the staging host is `blue-7`.").await,
            3 => daemon.say("c", "fact: 预发环境的主机叫青龙.").await,
            _ => daemon.say("c", &question(turn)).await,
        };
    }
    daemon.stop().await;
    let made = checkpoints(&project, THREAD);
    assert!(made.len() >= 2, "{} checkpoints", made.len());
    let numbers: Vec<u64> = made.iter().map(|data| data["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=u64::try_from(made.len()).unwrap()).collect::<Vec<_>>());
    let by_model = made.iter().filter(|data| data["by"] == "model").count();
    assert_eq!(by_model, made.len());
    let requests = model.requests();
    let last = requests.iter().rfind(|seen| !is_summary(seen)).unwrap();
    let shown = last.body["messages"].as_array().unwrap();
    let history: Vec<_> = shown.iter().filter(|message| message["name"] == "history").collect();
    assert!(!history.is_empty() && shown[1]["name"] == "history", "checkpoints come first");
    let told = history.iter().map(|message| message["content"].to_string()).collect::<String>();
    assert!(told.contains("blue-7") && told.contains("青龙"), "{told}");
    let sizes = requests
        .iter()
        .map(|seen| shipagent::domain::tokens::estimate_tokens(&seen.body["messages"].to_string()));
    println!("{} checkpoints in 200 turns, longest prompt about {} tokens", made.len(), sizes.max().unwrap());
    check_prompts(&requests);
    judge(&[project.thread_file(THREAD)]).await;

    // A restart shows the model the same.
    let daemon = InProcess::start(&project, &clock);
    daemon.say("c", "still there?").await;
    daemon.stop().await;
    let again = model.requests().pop().unwrap();
    let kept: Vec<_> = again.body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|m| m["name"] == "history")
        .cloned()
        .collect();
    assert_eq!(kept.iter().collect::<Vec<_>>(), history);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_that_rests_is_compacted_unless_somebody_speaks() {
    let gate = Latch::new();
    let held = gate.clone();
    let model = FakeModel::start(Script::compute(move |seen| {
        if is_summary(seen) { summary(seen).behind(&held) } else { answer() }
    }))
    .await;
    let project = small_window(&model.url(), json!({ "memory": { "compactPercent": 100 } }));
    let daemon = InProcess::start(&project, &HandClock::evening());
    let asked = || model.requests().iter().filter(|seen| is_summary(seen)).count();
    let mut turn = 0;
    while asked() == 0 {
        daemon.say("c", &question(turn)).await;
        turn += 1;
        assert!(turn < 100, "never compacted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let reply = daemon.say("c", &question(turn)).await;
    assert!(reply.starts_with("An answer"), "a person does not wait for it: {reply}");
    assert_eq!(checkpoints(&project, THREAD), Vec::<serde_json::Value>::new(), "the first one was given up");
    gate.open();
    until("a checkpoint", || !checkpoints(&project, THREAD).is_empty()).await;
    assert_eq!(checkpoints(&project, THREAD)[0]["reason"], "idle");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_would_fill_the_window_is_compacted_before_it_is_sent() {
    let model = FakeModel::start(script()).await;
    let project = small_window(&model.url(), json!({ "memory": { "compactIdlePercent": 100 } }));
    let daemon = InProcess::start(&project, &HandClock::evening());
    for turn in 0..60 {
        daemon.say("c", &question(turn)).await;
    }
    daemon.stop().await;
    let made = checkpoints(&project, THREAD);
    assert!(!made.is_empty() && made.iter().all(|data| data["reason"] == "threshold"), "{made:?}");
    let requests = model.requests();
    let first = requests.iter().position(is_summary).unwrap();
    assert!(
        requests[first + 1].body["messages"][1]["name"] == "history",
        "the turn goes on with the checkpoint"
    );
    check_prompts(&requests);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_finds_a_prompt_too_long_is_believed() {
    let refusal = json!({ "error": { "code": "context_length_exceeded",
        "message": "This model's maximum context length is 12000 tokens. However, your messages resulted in 30000 tokens." } });
    let model = FakeModel::start(Script::compute(move |seen| {
        let tokens = shipagent::domain::tokens::estimate_tokens(&seen.body["messages"].to_string());
        match is_summary(seen) {
            true => summary(seen),
            false if tokens > 5000 => Reply::status(400, refusal.to_string()),
            false => answer(),
        }
    }))
    .await;
    let project = small_window(&model.url(), json!({ "llm": { "contextTokens": 128_000 } }));
    let daemon = InProcess::start(&project, &HandClock::evening());
    for turn in 0..40 {
        let reply = daemon.say("c", &question(turn)).await;
        assert!(reply.starts_with("An answer"), "turn {turn}: {reply}");
    }
    daemon.stop().await;
    let made = checkpoints(&project, THREAD);
    assert_eq!(made[0]["reason"], "overflow");
    let refused = model
        .requests()
        .into_iter()
        .filter(|seen| shipagent::domain::tokens::estimate_tokens(&seen.body["messages"].to_string()) > 5000);
    assert!(refused.filter(|seen| !is_summary(seen)).count() <= 3, "what it said is not forgotten");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compact_sums_up_with_the_helper_and_says_what_it_did() {
    let model = FakeModel::start(Script::compute(|_| answer())).await;
    let helper = FakeModel::start(Script::compute(summary)).await;
    let extra = json!({ "llm": { "helper": { "baseUrl": helper.url(), "model": "small" } } });
    let project = small_window(&model.url(), extra);
    let daemon = InProcess::start(&project, &HandClock::evening());
    let nothing = daemon.say("c", "/compact").await;
    assert!(nothing.contains("too little"), "{nothing}");
    daemon.say("c", "fact: the staging host is `blue-7`.").await;
    for turn in 0..8 {
        daemon.say("c", &question(turn)).await;
    }
    let told = daemon.say("c", "/compact host names").await;
    assert!(told.contains("10 earlier messages") && told.contains("tokens"), "{told}");
    let asked = helper.requests();
    assert_eq!((asked.len(), asked[0].body["model"].as_str()), (1, Some("small")));
    assert!(asked[0].body["messages"][0]["content"].as_str().unwrap().contains("keep above all: host names"));
    let data = checkpoints(&project, THREAD).pop().unwrap();
    assert_eq!((&data["reason"], &data["by"]), (&json!("manual"), &json!("model")));
    assert!(data["tokensAfter"].as_u64() < data["tokensBefore"].as_u64());
    daemon.say("c", "and now?").await;
    assert!(
        model.requests().pop().unwrap().body["messages"][1]["content"].as_str().unwrap().contains("blue-7")
    );
    daemon.stop().await;
    let shown = project.run(&["threads", "show", THREAD]);
    assert!(shown.stdout.contains("earlier conversation summarised, 10 messages"), "{shown:?}");
    assert!(shown.stdout.contains("blue-7"), "{shown:?}");
}
