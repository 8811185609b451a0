//! An agent that dies after it has claimed a question: another one answers it.

use std::time::Duration;

use serde_json::json;

use super::scene::{GROUP, Team, echo, until};
use crate::fakes::feishu::people::Message;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_of_an_agent_that_dies_lapses_and_one_of_the_others_answers() {
    const YES: &str = "{\"answer\": true, \"score\": 80}";
    let extra = json!({ "adapters": { "feishu": { "groups": { "respond": "relevant" } } } });
    let scripts = ["Alpha", "Beta", "Gamma"].map(|name| (name, echo(name, YES))).into();
    let mut team = Team::start(scripts, extra).await;
    team.known().await;
    let hello = team.write(GROUP, "ou_ada", "k", &[]);
    team.stored(GROUP, &hello).await;
    until("a line", || !team.segments().is_empty()).await;
    // The agent of the first claim is not there any more, that of the second is at work.
    team.enroll("busy");
    team.forge_claim("om_left", "dead", 45);
    team.forge_claim("om_taken", "busy", 45);
    // The model repeats the newest message.
    for (id, text) in [("om_taken", "who mends it"), ("om_left", "who broke the build")] {
        for agent in &team.agents {
            agent.feishu.write_as(&Message::group(GROUP, "ou_ada", text).now(), id);
        }
        for agent in &team.agents {
            let stored =
                || std::fs::read_to_string(agent.project.thread_file("feishu:chat:oc_group")).unwrap();
            let is_lost = |line: &str| line.contains(id) && line.contains("\"claim\":\"lost\"");
            until("a lost claim", || stored().lines().any(is_lost)).await;
        }
    }
    // What was lost is known after a restart, too.
    team.agents[2].daemon.take().unwrap().kill();
    team.agents[2].start().await;
    let answers = || team.agents.iter().flat_map(|agent| agent.said()).collect::<Vec<_>>();
    until("an answer", || !answers().is_empty()).await;
    let took_over = team.agents.iter().filter(|agent| {
        agent.line_of(GROUP, "om_left").is_some_and(|line| line.contains("\"lapsed\":\"dead\""))
    });
    assert!(took_over.count() >= 1, "the agent that answers has noted whose claim lapsed");
    // A second answer would come within the time of a claim.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let answers = answers();
    assert!(answers.len() == 1 && answers[0].ends_with("who broke the build"), "{answers:?}");
    for agent in &team.agents {
        let taken = agent.line_of(GROUP, "om_taken").unwrap();
        assert!(!taken.contains("lapsed"), "{taken}");
    }
    let gates: Vec<usize> = team.agents.iter().map(|agent| agent.gates()).collect();
    assert!(gates.iter().all(|gates| *gates <= 2), "no model is asked again: {gates:?}");
}
