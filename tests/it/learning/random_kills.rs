//! kill -9 at random moments while conversations are distilled and summed up: no note twice, none lost, the prompt stays valid.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::scene::{is_distil, is_summary, ledger, notes, project, questions, shown, times, until};
use crate::compaction::scene::checkpoints;
use crate::fakes::dice::{Dice, seed};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::prompt::check_prompts;

const ANN: &str = "api:user:ann";
const THREAD: &str = "api:chat:k";
const ROUNDS: usize = 14;
/// Turns of a round.
const TURNS: usize = 2;

/// Everything takes a while, so that a kill falls into each step.
fn script(seen: &Seen) -> Reply {
    let fact = |(number, line): (u64, String)| {
        let (_, fact) = line.split_once("my ")?;
        let fact = fact.split('.').next().unwrap_or_default();
        Some(json!({ "ids": [number], "text": format!("Ann's {fact}") }))
    };
    let facts: Vec<Value> = shown(seen).into_iter().filter_map(fact).collect();
    if is_distil(seen) {
        Reply::text(&json!({ "memories": facts }).to_string()).after(Duration::from_millis(25))
    } else if is_summary(seen) {
        let observations = json!([{ "ids": [1], "who": "Ann", "text": "They talked." }]);
        let answer = json!({ "observations": observations, "open": [], "notes": facts });
        Reply::text(&answer.to_string()).after(Duration::from_millis(25))
    } else {
        Reply::text(&format!("Noted. {}", "All of it is written down. ".repeat(12)))
    }
}

fn fact(number: usize) -> String {
    let names =
        ["heron", "otter", "badger", "falcon", "lynx", "marten", "osprey", "plover", "raven", "stoat"];
    format!("my animal number {number} is a {}.", names[number % names.len()])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_killed_at_random_moments_learns_each_fact_once() {
    let seed = seed();
    println!("SHIPAGENT_TEST_SEED={seed}");
    let mut dice = Dice::new(seed);
    let model = FakeModel::start(Script::compute(script)).await;
    let project = project(&model.url(), 4, json!({ "memory": { "keepRuns": 2 } }));
    let mut said = 0;
    for round in 0..ROUNDS {
        let daemon = project.start().await;
        for _ in 0..TURNS {
            let body = json!({ "instructions": fact(said), "chatId": "k", "userId": "ann", "messageId": format!("q{said}") });
            let reply = daemon.execute(body).await;
            assert_eq!(reply["status"], "done", "{reply}");
            said += 1;
        }
        if round % 2 == 1 {
            let order = json!({ "instructions": "/compact", "chatId": "k", "userId": "ann",
                "messageId": format!("k{round}"), "timeoutMs": 1 });
            daemon.execute(order).await;
        }
        // Not to wait for anything: the moment of the kill is what is random.
        tokio::time::sleep(Duration::from_millis(dice.roll(160))).await;
        daemon.kill();
    }
    // Left alone after a few more turns, it reads what is left.
    let daemon = project.start().await;
    for more in 0..4 {
        let body = json!({ "instructions": "and what else?", "chatId": "k", "userId": "ann", "messageId": format!("m{more}") });
        assert_eq!(daemon.execute(body).await["status"], "done");
    }
    let missing =
        || (0..said).filter(|number| !notes(&project, ANN).contains(&format!("number {number} is"))).count();
    until("all notes", || missing() == 0).await;
    daemon.kill();
    let kept = notes(&project, ANN);
    for number in 0..said {
        assert_eq!(times(&kept, &format!("number {number} is")), 1, "{kept}");
    }
    let added: Vec<Value> =
        ledger(&project).into_iter().filter(|line| line["op"] == "add" && line["tier"] == "notes").collect();
    assert_eq!(added.len(), said, "one line for each note");
    let made = checkpoints(&project, THREAD);
    let numbers: Vec<u64> = made.iter().map(|data| data["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len(), "{numbers:?}");
    let asked: Vec<Value> = questions(&project, THREAD);
    let items: Vec<String> = asked
        .iter()
        .flat_map(|part| part["input"]["items"].as_array().cloned().unwrap_or_default())
        .map(|item| item["note"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        items.iter().collect::<BTreeSet<_>>().len(),
        items.len(),
        "no note is asked about twice: {items:?}"
    );
    let talk: Vec<Seen> =
        model.requests().into_iter().filter(|seen| !is_distil(seen) && !is_summary(seen)).collect();
    check_prompts(&talk);
    println!("{ROUNDS} kills, {said} facts, {} checkpoints, {} questions", made.len(), asked.len());
}
