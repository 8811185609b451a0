//! What each cap does, from the settings to the words that people read.

use serde_json::{Value, json};

use super::{budget, lines};
use crate::fakes::approval_scene::Scene;
use crate::fakes::daemon::merge;
use crate::fakes::fake_model::{Reply, Seen};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_cap_names_itself_where_it_ends_a_turn() {
    for (caps, fits, words) in [
        (
            json!({ "perUserDay": 0.5 }),
            true,
            "Today's budget of this person is used up: 0.40 USD of 0.50 USD",
        ),
        (json!({ "month": 0.5 }), true, "This month's budget is used up: 0.40 USD of 0.50 USD"),
        (json!({ "perTurn": 0.3 }), false, "The budget of this turn is used up: 0.00 USD of 0.30 USD"),
        (json!({ "tokens": { "day": 10 } }), false, "Today's budget is used up: 0 tokens of 10 tokens"),
        (
            json!({ "tokens": { "perThreadDay": 10 } }),
            false,
            "Today's budget of this conversation is used up",
        ),
        (json!({ "tokens": { "perUserDay": 10 } }), false, "Today's budget of this person is used up"),
        (json!({ "tokens": { "perTurn": 10 } }), false, "The budget of this turn is used up"),
        (json!({ "tokens": { "month": 10 } }), false, "This month's budget is used up"),
    ] {
        let mut config = caps.clone();
        merge(&mut config, json!({ "onLimit": "stop" }));
        let scene = Scene::new(budget(config)).await;
        if fits {
            assert_eq!(scene.say("hello", "m1").await["status"], "done", "{caps}");
        }
        let ended = scene.say("again", "m2").await;
        assert!(ended["status"] == "failed" && ended["error"].to_string().contains(words), "{caps}: {ended}");
        assert_eq!(scene.model.requests().len(), usize::from(fits), "{caps}");
        if caps.get("perUserDay").is_some() {
            assert_eq!(scene.say_as("bob", "a", "mine", "b1").await["status"], "done", "another person");
        }
        scene.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cap_of_a_turn_counts_all_its_steps_and_the_next_turn_begins_anew() {
    let scene = Scene::new(budget(json!({ "perTurn": 0.5, "onLimit": "stop" }))).await;
    assert_eq!(scene.say("hello", "m1").await["status"], "done");
    let ended = scene.say(r#"run ["true"]"#, "m2").await;
    let ended = match ended["status"].as_str() {
        Some("awaiting-approval") => {
            let question = ended["approvals"][0]["id"].as_str().unwrap().to_owned();
            let path = format!("/api/approvals/{question}");
            scene.daemon.post(&path, &json!({ "decision": "approve" })).send().await.unwrap();
            scene.daemon.until_state("api:chat:a", "idle").await;
            scene.say(r#"run ["true"]"#, "m2").await
        }
        _ => ended,
    };
    assert!(ended["error"].to_string().contains("The budget of this turn is used up: 0.40 USD"), "{ended}");
    assert_eq!(scene.say("hello again", "m3").await["status"], "done");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_a_cap_a_cheaper_model_answers_where_the_settings_say_so() {
    let mut config = budget(json!({
        "day": 0.5, "onLimit": "fallback", "prices": { "*": { "perCall": 0.4 }, "cheap": { "perCall": 0.04 } },
    }));
    merge(&mut config, json!({ "llm": { "fallbacks": [{ "model": "cheap", "budget": true }] } }));
    let named = |seen: &Seen| Reply::text(seen.body["model"].as_str().unwrap());
    let scene = Scene::with(named, config).await;
    let mut answers = Vec::new();
    for number in 1..=4 {
        let ended = scene.say("hello", &format!("m{number}")).await;
        let done = ended["output"].as_str().filter(|_| ended["status"] == "done");
        answers.push(done.unwrap_or("ended").to_owned());
    }
    assert_eq!(answers, ["fake", "cheap", "cheap", "ended"], "0.48 of 0.50 are used");
    let by_cap = |line: &&Value| line["model"] == "cheap" && line["fallback"] == "budget";
    assert_eq!(lines(&scene.project, "settle").iter().filter(by_cap).count(), 2);
    assert_eq!(scene.pending().await, Vec::<Value>::new());
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stand_in_that_does_not_fit_asks_owners_where_the_first_model_is_down() {
    let mut config = budget(json!({ "day": 0.1 }));
    merge(
        &mut config,
        json!({
            "budget": { "prices": { "fake": { "perCall": 0.0 } } },
            "llm": { "fallbacks": [{ "model": "dear" }] },
        }),
    );
    let answer = |seen: &Seen| match seen.body["model"].as_str() {
        Some("dear") => Reply::text("from dear"),
        _ => Reply::status(401, r#"{"error":{"message":"bad key"}}"#),
    };
    let scene = Scene::with(answer, config).await;
    let asked = scene.say("hello", "m1").await;
    assert_eq!(asked["status"], "awaiting-approval", "{asked}");
    let path = format!("/api/approvals/{}", asked["approvals"][0]["id"].as_str().unwrap());
    scene.daemon.post(&path, &json!({ "decision": "approve", "scope": "plus-one" })).send().await.unwrap();
    assert_eq!(scene.outcome("a", "m1").await["output"], "from dear");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_who_said_stop_are_not_asked_again_at_the_next_message() {
    let scene = Scene::new(budget(json!({ "day": 0.5 }))).await;
    assert_eq!(scene.say("hello", "m1").await["status"], "done");
    let asked = scene.say("second", "m2").await;
    let path = format!("/api/approvals/{}", asked["approvals"][0]["id"].as_str().unwrap());
    scene.daemon.post(&path, &json!({ "decision": "deny" })).send().await.unwrap();
    scene.daemon.until_state("api:chat:a", "idle").await;
    for (chat, id) in [("a", "m3"), ("b", "b1")] {
        let ended = scene.say_as("ada", chat, "once more", id).await;
        assert!(ended["status"] == "failed" && ended["error"].to_string().contains("used up"), "{ended}");
    }
    assert_eq!(scene.pending().await, Vec::<Value>::new());
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_waits_for_anothers_question_goes_on_after_a_restart() {
    let scene = Scene::new(budget(json!({ "day": 0.5 }))).await;
    assert_eq!(scene.say("hello", "m1").await["status"], "done");
    let asked = scene.say("second", "m2").await;
    scene.drop_in("b", "from b", "b1").await;
    scene.daemon.until_state("api:chat:b", "awaiting-approval").await;
    let scene = scene.killed_and_started().await;
    scene.daemon.until_state("api:chat:b", "awaiting-approval").await;
    assert_eq!(scene.pending().await.len(), 1, "still one question");
    let path = format!("/api/approvals/{}", asked["approvals"][0]["id"].as_str().unwrap());
    scene.daemon.post(&path, &json!({ "decision": "approve", "scope": "plus-five" })).send().await.unwrap();
    assert_eq!(scene.outcome("a", "m2").await["output"], "echo second");
    assert_eq!(scene.outcome("b", "b1").await["output"], "echo from b");
    assert_eq!(lines(&scene.project, "grant").len(), 1);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sums_of_the_project_are_for_owners_and_all_surfaces_say_the_same_in_one_currency() {
    let mut config = budget(json!({
        "day": 72, "perThreadDay": 72, "currency": "CNY", "perDollar": 7.2, "prices": { "*": { "perCall": 7.2 } },
    }));
    merge(&mut config, json!({ "owners": ["api:user:olga"] }));
    let scene = Scene::new(config).await;
    assert_eq!(scene.say("hello", "m1").await["status"], "done");
    let said = async |user: &str, chat: &str, text: &str, id: &str| {
        scene.say_as(user, chat, text, id).await["output"].as_str().unwrap().to_owned()
    };
    let members = said("ada", "a", "/budget", "m2").await;
    assert!(members.contains("of this conversation: 7.20 CNY of 72.00 CNY"), "{members}");
    assert!(!members.contains("Today's budget: "), "{members}");
    let owners = said("olga", "o", "/budget", "o1").await;
    assert!(owners.contains("Today's budget: 7.20 CNY of 72.00 CNY"), "{owners}");
    let usage = said("olga", "o", "/usage", "o2").await;
    assert!(usage.contains("7.20 CNY") && !usage.contains("USD"), "{usage}");
    let status = said("olga", "o", "/status", "o3").await;
    assert!(status.contains("7.20 CNY of 72.00 CNY"), "{status}");
    let printed = scene.project.run(&["usage"]).stdout;
    assert!(printed.contains("7.20 CNY"), "{printed}");
    let report = scene.daemon.get_json("/api/usage?by=day").await;
    assert_eq!(report["currency"], json!({ "name": "CNY", "per_dollar": 7_200_000 }));
    let metrics = scene.daemon.get("/metrics").send().await.unwrap().text().await.unwrap();
    let left = r#"shipagent_budget_remaining{scope="day",unit="money"} 9000000"#;
    assert!(metrics.contains(left) && metrics.contains("shipagent_usage_syncs_total 1\n"), "{metrics}");
    scene.end().await;
}
