//! Messages that name nobody: one question gets one answer, and doubt means silence.

use std::time::Duration;

use serde_json::json;

use super::scene::{GROUP, Team, echo, until};
use crate::fakes::fake_model::{Reply, Script};

const YES: &str = "{\"answer\": true, \"score\": 80}";
const NO: &str = "{\"answer\": false, \"score\": 90}";

fn relevant(chats: &[String]) -> serde_json::Value {
    json!({ "adapters": { "feishu": { "groups": { "respond": "relevant" }, "allowedChats": chats } } })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_agents_and_two_hundred_questions_give_two_hundred_answers() {
    const QUESTIONS: usize = 200;
    // The budget of a room is 6 decisions a minute, so each question has a room of its own.
    let chats: Vec<String> = (0..QUESTIONS).map(|number| format!("oc_room{number}")).collect();
    let scripts = ["A", "B", "C", "D"].map(|name| (name, echo(name, YES))).into();
    let team = Team::start(scripts, relevant(&chats)).await;
    let answers = || -> Vec<String> {
        team.agents
            .iter()
            .flat_map(|agent| {
                agent
                    .feishu
                    .look(|world| world.posted.iter().map(|posted| posted.chat.clone()).collect::<Vec<_>>())
            })
            .collect()
    };
    // A few at a time: a model that does not answer within its deadline on a busy machine means silence.
    for (number, batch) in chats.chunks(8).enumerate() {
        for chat in batch {
            team.write(chat, "ou_ada", &format!("who knows {chat}"), &[]);
        }
        let asked = number * 8 + batch.len();
        until("an answer to every question", || answers().len() >= asked).await;
    }
    // A second answer would come within the time of a claim.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut answered = answers();
    answered.sort();
    let total = answered.len();
    answered.dedup();
    assert_eq!((total, answered.len()), (QUESTIONS, QUESTIONS));
    let shares: Vec<usize> = team.agents.iter().map(|agent| agent.said().len()).collect();
    println!("answers of each agent: {shares:?}");
    assert!(shares.iter().all(|share| *share > 0), "{shares:?}");
    until("all decisions", || team.agents.iter().all(|agent| agent.gates() >= QUESTIONS)).await;
    for agent in &team.agents {
        assert_eq!(agent.gates(), QUESTIONS, "one decision for each question");
        let gate = agent.model.requests().into_iter().find(super::scene::is_gate).unwrap();
        assert_eq!(gate.body["max_tokens"], 60);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_fails_or_says_no_means_silence_and_rules_ask_no_model() {
    let broken = Script::compute(|_| Reply::status(500, "broken"));
    let scripts = vec![("Alpha", echo("Alpha", NO)), ("Beta", broken), ("Gamma", echo("Gamma", "perhaps"))];
    let team = Team::start(scripts, relevant(&[GROUP.to_owned()])).await;
    for text in ["👍", "k", "https://example.org/x"] {
        let id = team.write(GROUP, "ou_ada", text, &[]);
        team.stored(GROUP, &id).await;
    }
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(team.agents.iter().all(|agent| agent.model.requests().is_empty()), "rules decide");
    let asked = team.write(GROUP, "ou_ada", "who broke the build", &[]);
    for agent in &team.agents {
        let file = agent.project.thread_file("feishu:chat:oc_group");
        let decided = || {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            text.lines().any(|line| line.contains(&asked) && line.contains("\"gate\""))
        };
        until("a decision", decided).await;
    }
    assert!(team.agents.iter().all(|agent| agent.said().is_empty()));
    assert_eq!(team.agents[0].gates(), 1, "one call for an undecided message");
    // The decision is stored: a restart neither asks nor answers again.
    let mut team = team;
    for agent in &mut team.agents {
        agent.daemon.take().unwrap().kill();
        agent.start().await;
    }
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert_eq!(team.agents[0].gates(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_that_are_named_answer_each_and_a_name_in_words_is_enough() {
    let scripts =
        vec![("Alpha", echo("Alpha", NO)), ("Beta", echo("Beta", NO)), ("Gamma", echo("Gamma", NO))];
    let team = Team::start(scripts, relevant(&[GROUP.to_owned()])).await;
    team.known().await;
    team.write(GROUP, "ou_ada", "both of you", &[0, 1]);
    team.hears(0, "Alpha says: both of you").await;
    team.hears(1, "Beta says: both of you").await;
    team.write(GROUP, "ou_bob", "Alpha, and you alone?", &[]);
    // The model repeats the newest line, which may be the other agent's answer.
    team.agents[0]
        .feishu
        .wait_for("a second answer of Alpha", |world| {
            let says = world.posted.iter().filter(|posted| world.words(posted).starts_with("Alpha says: "));
            (says.count() >= 2).then_some(())
        })
        .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let others: Vec<Vec<String>> = team.agents.iter().skip(1).map(|agent| agent.said()).collect();
    assert!(others.iter().flatten().all(|said| !said.contains("alone")), "{others:?}");
}
