//! kill -9 at any moment of a compaction: the prompt stays valid, nothing is told twice, nothing is lost.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::scene::{answer, checkpoints, is_summary, question, small_window, summary};
use crate::fakes::dice::Dice;
use crate::fakes::fake_model::{FakeModel, Script};
use crate::fakes::prompt::check_prompts;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_killed_while_it_compacts_goes_on_with_a_valid_chain() {
    let model = FakeModel::start(Script::compute(|seen| {
        if is_summary(seen) { summary(seen).after(Duration::from_millis(40)) } else { answer() }
    }))
    .await;
    let project = small_window(&model.url(), json!({ "memory": { "keepRuns": 2 } }));
    let mut dice = Dice::new(15);
    let mut said = 0;
    for round in 0..15 {
        let daemon = project.start().await;
        for _ in 0..3 {
            let body =
                json!({ "instructions": question(said), "chatId": "k", "messageId": format!("q{said}") });
            let reply = daemon.execute(body).await;
            assert_eq!(reply["status"], "done", "{reply}");
            said += 1;
        }
        let order = json!({ "instructions": "/compact", "chatId": "k", "messageId": format!("k{round}"), "timeoutMs": 1 });
        daemon.execute(order).await;
        tokio::time::sleep(Duration::from_millis(dice.roll(120))).await;
        daemon.kill();
    }
    let made = checkpoints(&project, "api:chat:k");
    println!("{} checkpoints in 15 kills", made.len());
    assert!(!made.is_empty());
    let numbers: Vec<u64> = made.iter().map(|data| data["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len(), "no number twice: {numbers:?}");
    let spans: Vec<(&Value, &Value)> = made.iter().map(|data| (&data["from"], &data["through"])).collect();
    assert!(spans.windows(2).all(|pair| pair[0].1 != pair[1].1), "nothing is covered twice: {spans:?}");

    let daemon = project.start().await;
    let last = daemon.execute(json!({ "instructions": "still there?", "chatId": "k" })).await;
    assert_eq!(last["status"], "done", "{last}");
    let requests = model.requests();
    check_prompts(&requests);
    let shown =
        requests.iter().rfind(|seen| !is_summary(seen)).unwrap().body["messages"].as_array().unwrap().clone();
    let covered: u64 = shown
        .iter()
        .filter(|message| message["name"] == "history")
        .filter_map(|message| {
            message["content"].as_str()?.split("messages=\"").nth(1)?.split('"').next()?.parse::<u64>().ok()
        })
        .sum();
    let tail = shown.iter().filter(|message| message["role"] == "user" && message["name"].is_null()).count();
    let questions = u64::try_from(said).unwrap();
    assert_eq!(
        covered / 2 + u64::try_from(tail).unwrap() - 1,
        questions,
        "each question is shown or covered once"
    );
}
