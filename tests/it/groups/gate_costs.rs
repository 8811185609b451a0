//! What deciding about messages of a group costs: it is in the ledger, has a share of the day, and ends with all calls.

use serde_json::{Value, json};

use super::scene::{GROUP, Team, echo, until};
use crate::fakes::feishu::people::Message;

const NO: &str = "{\"answer\": false, \"score\": 90}";

/// The lines of an agent's usage ledger.
fn ledger(team: &Team) -> Vec<Value> {
    let logs =
        std::fs::read_dir(team.agents[0].project.path().join(".ship/logs")).into_iter().flatten().flatten();
    let usage = logs.filter(|file| file.file_name().to_string_lossy().starts_with("usage-"));
    let text: String = usage.map(|file| std::fs::read_to_string(file.path()).unwrap()).collect();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// A person asks, and the agent has decided.
async fn ask(team: &Team, text: &str) {
    let id = team.write(GROUP, "ou_ada", text, &[]);
    let file = team.agents[0].project.thread_file("feishu:chat:oc_group");
    let decided = || {
        let stored = std::fs::read_to_string(&file).unwrap_or_default();
        stored.lines().any(|line| line.contains(&id) && line.contains("\"gate\""))
    };
    until("a decision", decided).await;
}

async fn team(budget: Value) -> Team {
    let config = json!({
        "adapters": { "feishu": { "groups": { "respond": "relevant" }, "allowedChats": [GROUP] } },
        "owners": ["api:user:olga"],
        "budget": budget,
    });
    Team::start(vec![("Alpha", echo("Alpha", NO))], config).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_is_counted_and_has_the_share_of_the_day_for_chores() {
    let team = team(json!({ "prices": { "*": { "perCall": 0.4 } }, "day": 10, "helpersShare": 0.1 })).await;
    for question in ["who broke the build?", "who mends the build?", "who tests the build?"] {
        ask(&team, question).await;
    }
    assert_eq!(team.agents[0].gates(), 2, "two of 0.40 fit into a tenth of 10");
    let settled: Vec<Value> = ledger(&team).into_iter().filter(|line| line["t"] == "settle").collect();
    assert_eq!(settled.len(), 2, "{settled:?}");
    for line in &settled {
        assert_eq!((&line["purpose"], &line["threadId"]), (&json!("gate"), &json!("feishu:chat:oc_group")));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_decided_by_a_model_while_an_owner_has_stopped_all_calls() {
    let team = team(json!({})).await;
    let daemon = team.agents[0].daemon.as_ref().unwrap();
    let stop = json!({ "instructions": "/budget stop", "chatId": "o", "userId": "olga" });
    assert!(daemon.execute(stop).await["output"].to_string().contains("stopped"));
    ask(&team, "who broke the build?").await;
    assert_eq!(team.agents[0].gates(), 0);
    let resume = json!({ "instructions": "/budget resume", "chatId": "o", "userId": "olga" });
    daemon.execute(resume).await;
    ask(&team, "who mends the build?").await;
    assert_eq!(team.agents[0].gates(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_are_told_once_a_day_that_a_group_has_used_up_its_decisions() {
    let config = json!({
        "adapters": { "feishu": { "groups": { "respond": "relevant" }, "allowedChats": [GROUP] } },
        "owners": ["feishu:user:ou_ada"],
    });
    let team = Team::start(vec![("Alpha", echo("Alpha", NO))], config).await;
    team.agents[0].feishu.write(&Message::private("ou_ada", "hello").now());
    team.hears(0, "Alpha says: hello").await;
    for number in 0..8 {
        ask(&team, &format!("who broke build {number}?")).await;
    }
    assert_eq!(team.agents[0].gates(), 6, "no call beyond the budget of a minute");
    let notices = || {
        let said = team.agents[0].said();
        said.into_iter().filter(|text| text.contains("name nobody")).collect::<Vec<_>>()
    };
    until("a notice to the owner", || !notices().is_empty()).await;
    // The second message beyond it is settled; a second notice would be on its way.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(notices().len(), 1, "{:?}", notices());
}
