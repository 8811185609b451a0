//! Messages without a mention: one question gets one answer, and doubt means silence.

use std::time::Duration;

use serde_json::json;

use super::scene::{GROUP, Team, echo, is_gate, until};
use crate::fakes::fake_model::{Latch, Reply, Script};
use crate::fakes::feishu::people::Message;

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
        let gate = agent.model.requests().into_iter().find(is_gate).unwrap();
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_comes_late_is_not_answered_again() {
    let scripts = vec![("Alpha", echo("Alpha", YES)), ("Beta", echo("Beta", YES))];
    let team = Team::start(scripts, relevant(&[GROUP.to_owned()])).await;
    team.known().await;
    let question = Message::group(GROUP, "ou_ada", "who broke the build").ago(200);
    for claimed in [true, false] {
        let id = format!("om_late_{claimed}");
        team.agents[0].feishu.write_as(&question, &id);
        let answered = || team.outbound().iter().filter(|line| line["chain"] == *id).count();
        until("an answer of Alpha", || answered() == 1).await;
        // As if it had been three minutes ago. An answer counts without a claim, too.
        team.change_lines(|line| {
            if line["kind"] == "claim" && !claimed {
                line["key"] = "om_other".into();
            }
            if line["via"] == "outbound" && (line["key"] == *id || line["chain"] == *id) {
                line["at"] = (line["at"].as_i64().unwrap() - 180_000).into();
            }
        });
        team.agents[1].feishu.write_as(&question, &id);
        let lost =
            || team.agents[1].line_of(GROUP, &id).is_some_and(|line| line.contains("\"claim\":\"lost\""));
        until("Beta's decision", lost).await;
    }
    assert_eq!(team.agents[1].said(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_come_together_are_judged_once() {
    let gate = Latch::new();
    let held = gate.clone();
    let script =
        Script::compute(
            move |seen| {
                if is_gate(seen) { Reply::text(NO).behind(&held) } else { Reply::text("no") }
            },
        );
    let mut extra = relevant(&[GROUP.to_owned()]);
    extra["groups"] = json!({ "gate": { "settleMs": 1_000 } });
    let team = Team::start(vec![("Alpha", script)], extra).await;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(team.write(GROUP, "ou_ada", &format!("question {number}"), &[]));
    }
    until("a decision", || team.agents[0].gates() == 1).await;
    gate.open();
    let decided =
        |id: &String| team.agents[0].line_of(GROUP, id).is_some_and(|line| line.contains("\"gate\""));
    until("all decided", || ids.iter().all(decided)).await;
    assert_eq!(team.agents[0].gates(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_is_late_means_silence() {
    let script = Script::compute(|seen| if is_gate(seen) { Reply::hang() } else { Reply::text("no") });
    let team = Team::start(vec![("Alpha", script)], relevant(&[GROUP.to_owned()])).await;
    let id = team.write(GROUP, "ou_ada", "who broke the build", &[]);
    let decided = || team.agents[0].line_of(GROUP, &id).is_some_and(|line| line.contains("\"failed\""));
    until("a decision", decided).await;
    assert_eq!((team.agents[0].said().len(), team.agents[0].gates()), (0, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_goes_on_with_one_agent_is_not_answered_by_another_one() {
    let sure = "{\"answer\": true, \"score\": 100}";
    let mut extra = relevant(&[GROUP.to_owned()]);
    extra["adapters"]["feishu"]["groups"]["followupSecs"] = 3600.into();
    let team = Team::start(vec![("Alpha", echo("Alpha", sure)), ("Beta", echo("Beta", sure))], extra).await;
    team.known().await;
    team.write(GROUP, "ou_ada", "hello", &[0]);
    team.told("Alpha says: hello", 1).await;
    for number in 0..4 {
        let id = team.write(GROUP, "ou_ada", &format!("and now {number}"), &[]);
        team.hears(0, &format!("Alpha says: and now {number}")).await;
        let lost = || team.agents[1].line_of(GROUP, &id).is_some_and(|line| line.contains("\"lost\""));
        until("Beta's decision", lost).await;
    }
    assert!(team.agents[1].said().is_empty(), "{:?}", team.agents[1].said());
}
