//! kill -9 between a reservation and its end: the call is counted once, in full, and never lost.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::{budget, ledger};
use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::dice::{self, Dice};
use crate::fakes::fake_model::{FakeModel, Reply, Script};

async fn say(daemon: &Daemon, text: &str, id: &str) -> Option<Value> {
    let body = json!({ "instructions": text, "chatId": "a", "messageId": id, "userId": "ada" });
    let answer = daemon.post("/api/execute", &body).send().await.ok()?;
    serde_json::from_str(&answer.text().await.ok()?).ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_a_kill_cut_off_counts_once_and_in_full() {
    for step in ["call-reserved", "call-answered", "call-settled"] {
        let model = FakeModel::start(Reply::text("hello")).await;
        let mut config = budget(json!({ "day": 100 }));
        merge(&mut config, json!({ "queue": { "mergeMs": 0 }, "owners": ["api:user:ada"] }));
        let project = Project::with_model(&model.url(), config);
        let mut command = project.command(&["run"]);
        command.env("SHIPAGENT_FAIL_POINT", step);
        let daemon = Daemon::start(command, project.path()).await;
        assert_eq!(say(&daemon, "hi", "m1").await, None, "{step}");
        assert!(!daemon.ended().await.success(), "{step}");

        let daemon = project.start().await;
        daemon.until_state("api:chat:a", "idle").await;
        let answer = say(&daemon, "hi", "m1").await.unwrap();
        assert_eq!((&answer["status"], &answer["output"]), (&json!("done"), &json!("hello")), "{step}");
        let shown = say(&daemon, "/budget", "m2").await.unwrap();
        let shown = shown["output"].as_str().unwrap();
        assert!(shown.contains("0.80 USD of 100.00 USD"), "{step}: {shown}");
        assert!(daemon.stop().await.success());

        let lines = ledger(&project);
        let ids = |kind: &str| -> Vec<Value> {
            lines.iter().filter(|line| line["t"] == kind).map(|line| line["id"].clone()).collect()
        };
        let (reserved, settled) = (ids("reserve"), ids("settle"));
        assert_eq!(reserved.len(), 2, "{step}: {lines:#?}");
        assert!(settled.iter().all(|id| settled.iter().filter(|other| *other == id).count() == 1));
        assert!(settled.iter().all(|id| reserved.contains(id)), "{step}");
        // The sums are a cache: without them the ledger tells the same.
        std::fs::remove_dir_all(project.path().join(".ship/state/usage")).unwrap_or_default();
        let daemon = project.start().await;
        let shown = say(&daemon, "/budget", "m3").await.unwrap();
        assert!(shown["output"].as_str().unwrap().contains("0.80 USD of"), "{step}: {shown}");
        assert!(daemon.stop().await.success());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_raise_that_a_kill_cut_off_is_made_once() {
    for step in ["budget-raise", "budget-raised"] {
        let model = FakeModel::start(Reply::text("hello")).await;
        let mut config = budget(json!({ "day": 0.5 }));
        merge(&mut config, json!({ "queue": { "mergeMs": 0 } }));
        let project = Project::with_model(&model.url(), config);
        let mut command = project.command(&["run"]);
        command.env("SHIPAGENT_FAIL_POINT", step);
        let daemon = Daemon::start(command, project.path()).await;
        assert_eq!(say(&daemon, "one", "m1").await.unwrap()["status"], "done");
        let asked = say(&daemon, "two", "m2").await.unwrap();
        let question = asked["approvals"][0]["id"].as_str().unwrap_or_else(|| panic!("{step}: {asked}"));
        let path = format!("/api/approvals/{question}");
        let raise = json!({ "decision": "approve", "scope": "plus-one" });
        drop(daemon.post(&path, &raise).send().await);
        assert!(!daemon.ended().await.success(), "{step}");
        let daemon = project.start().await;
        daemon.until_state("api:chat:a", "idle").await;
        assert_eq!(say(&daemon, "two", "m2").await.unwrap()["status"], "done", "{step}");
        assert_eq!(super::lines(&project, "grant").len(), 1, "{step}");
        assert!(daemon.stop().await.success());
    }
}

/// What the ledger comes to, in millionths: each call once, as it was settled, or else as it was reserved.
fn counted(project: &Project) -> u64 {
    let lines = ledger(project);
    let of = |kind: &'static str| lines.iter().filter(move |line| line["t"] == kind);
    let settled = |id: &Value| of("settle").any(|line| line["id"] == *id);
    let cost = |line: &Value| line["cost"].as_u64().unwrap();
    let ends: u64 = of("settle").map(cost).sum();
    ends + of("reserve").filter(|line| !settled(&line["id"])).map(cost).sum::<u64>()
}

/// The daemon's sums, those it rebuilds from the ledger, and those of the command line are the same.
async fn agree(project: &Project, calls: u64, step: &str) {
    for rebuilt in [false, true] {
        if rebuilt {
            std::fs::remove_dir_all(project.path().join(".ship/state/usage")).unwrap_or_default();
        }
        let daemon = project.start().await;
        let shown = say(&daemon, "/budget", &format!("b{rebuilt}")).await.unwrap();
        let cents = (counted(project) + 5_000) / 10_000;
        let expected = format!("{}.{:02} USD of 100000.00 USD", cents / 100, cents % 100);
        assert!(shown["output"].as_str().unwrap().contains(&expected), "{step}: {expected} in {shown}");
        let report = daemon.get_json("/api/usage?by=purpose").await;
        let total = &report["reports"][0]["total"];
        assert_eq!(
            (&total["costMicros"], &total["calls"]),
            (&json!(counted(project)), &json!(calls)),
            "{step}"
        );
        assert!(daemon.stop().await.success());
    }
    let printed = project.run(&["usage", "--by", "day", "--json"]);
    let report: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(report["reports"][0]["total"]["costMicros"], counted(project), "{step}");
}

/// Tokens have prices at which a call that is lost, doubled or taken for its reservation shows.
fn priced() -> Value {
    let price = json!({ "*": { "input": 1_000, "output": 10_000 } });
    json!({ "budget": { "prices": price, "day": 100_000 }, "queue": { "mergeMs": 0 }, "owners": ["api:user:ada"] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_sent_when_the_daemon_was_killed_counts_its_reservation_once() {
    let mut asked = 0;
    let model = FakeModel::start(Script::compute(move |_| {
        asked += 1;
        if asked == 1 { Reply::hang() } else { Reply::text("hello") }
    }))
    .await;
    let project = Project::with_model(&model.url(), priced());
    let daemon = project.start().await;
    let body = json!({ "instructions": "hi", "chatId": "a", "messageId": "m1", "userId": "ada" });
    let mut waiting = tokio::task::JoinSet::new();
    waiting.spawn(daemon.post("/api/execute", &body).send());
    model.wait_for_requests(1).await;
    daemon.kill();
    drop(waiting.join_next().await);
    let daemon = project.start().await;
    assert_eq!(say(&daemon, "hi", "m1").await.unwrap()["output"], "hello");
    assert!(daemon.stop().await.success());
    assert!(counted(&project) > 1_000_000, "the reservation of 16,384 tokens is in the sum");
    agree(&project, 2, "hanging").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_behind_any_line_of_the_ledger_loses_and_doubles_nothing() {
    for line in 1..=6 {
        let model = FakeModel::start(Reply::text("hello")).await;
        let project = Project::with_model(&model.url(), priced());
        let mut command = project.command(&["run"]);
        command.env("SHIPAGENT_FAIL_POINT", format!("usage-line-written:{line}"));
        let daemon = Daemon::start(command, project.path()).await;
        // The line about a call's end is written while the answer is on its way.
        for number in 1..=4 {
            if say(&daemon, "hi", &format!("m{number}")).await.is_none() {
                break;
            }
        }
        assert!(!daemon.ended().await.success(), "{line}");
        let daemon = project.start().await;
        daemon.until_state("api:chat:a", "idle").await;
        assert_eq!(say(&daemon, "hi", "last").await.unwrap()["output"], "hello", "{line}");
        assert!(daemon.stop().await.success());
        let lines = ledger(&project);
        let ids: BTreeSet<String> = lines.iter().map(|line| line["id"].to_string()).collect();
        agree(&project, u64::try_from(ids.len()).unwrap(), &format!("line {line}")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_at_random_moments_lose_and_double_no_call() {
    let seed = dice::seed();
    eprintln!("seed {seed}");
    let mut dice = Dice::new(seed);
    let pace = Duration::from_millis(5);
    let model =
        FakeModel::start(Script::compute(move |_| Reply::pieces(["one ", "two ", "three"]).paced(pace)))
            .await;
    let project = Project::with_model(&model.url(), priced());
    for round in 0..4 {
        let daemon = project.start().await;
        let moment = Duration::from_millis(5 + dice.roll(120));
        let talk = async {
            for number in 0.. {
                if say(&daemon, "hi", &format!("r{round}m{number}")).await.is_none() {
                    break;
                }
            }
        };
        // The moment itself is random: nothing is waited for.
        tokio::time::timeout(moment, talk).await.unwrap_or_default();
        daemon.kill();
    }
    let daemon = project.start().await;
    daemon.until_state("api:chat:a", "idle").await;
    assert_eq!(say(&daemon, "hi", "last").await.unwrap()["output"], "one two three");
    assert!(daemon.stop().await.success());
    let lines = ledger(&project);
    let ids: BTreeSet<String> = lines.iter().map(|line| line["id"].to_string()).collect();
    let settled: Vec<&Value> = lines.iter().filter(|line| line["t"] == "settle").collect();
    let ended: BTreeSet<String> = settled.iter().map(|line| line["id"].to_string()).collect();
    assert_eq!(ended.len(), settled.len(), "no call ends twice");
    agree(&project, u64::try_from(ids.len()).unwrap(), &format!("seed {seed}")).await;
}
