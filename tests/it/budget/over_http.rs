//! A cap that is reached over HTTP: asked, decided, refused, joined by other threads, revoked, and after a restart.

use serde_json::{Value, json};

use super::{budget, lines};
use crate::fakes::approval_scene::Scene;

/// Two calls of 0.40 fit into a day of 1; the third one waits for owners.
async fn at_the_cap(caps: Value) -> (Scene, Value) {
    let scene = Scene::new(budget(caps)).await;
    for id in ["m1", "m2"] {
        assert_eq!(scene.say("hello", id).await["status"], "done");
    }
    let asked = scene.say("third", "m3").await;
    (scene, asked)
}

async fn decide(scene: &Scene, approval: &Value, body: Value) -> u16 {
    let path = format!("/api/approvals/{}", approval["id"].as_str().unwrap());
    scene.daemon.post(&path, &body).send().await.unwrap().status().as_u16()
}

async fn grants(scene: &Scene) -> Vec<Value> {
    scene.daemon.get_json("/api/grants").await["grants"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_resumes_exactly_the_turn_that_asked_and_a_revoked_grant_stops_the_next_call() {
    let (scene, asked) = at_the_cap(json!({ "day": 1 })).await;
    assert_eq!(asked["status"], "awaiting-approval", "{asked}");
    let question = asked["approvals"][0].clone();
    assert_eq!((&question["kind"], &question["state"]), (&json!("budget"), &json!("pending")), "{question}");
    assert_eq!(question["scopes"], json!(["plus-one", "plus-five", "midnight"]));
    let summary = question["summary"].as_str().unwrap();
    assert!(summary.contains("0.80 USD of 1.00 USD") && summary.contains("0.40 USD"), "{summary}");
    assert_eq!(scene.model.requests().len(), 2, "the third call was not sent");

    // The requester cannot raise the cap, though they may approve what they ask for otherwise.
    let refused = scene.say(&format!("+5 {}", question["number"].as_str().unwrap()), "m4").await;
    assert!(refused["output"].as_str().unwrap().contains("may not decide"), "{refused}");
    let refused = scene.say("approve", "m5").await;
    assert!(refused["output"].as_str().unwrap().contains("may not decide"), "{refused}");
    assert_eq!(scene.stands(&question).await["state"], "pending");

    let scene = scene.killed_and_started().await;
    assert_eq!(decide(&scene, &question, json!({ "decision": "approve", "scope": "thread" })).await, 409);
    let raise = json!({ "decision": "approve", "scope": "plus-one" });
    assert_eq!(decide(&scene, &question, raise.clone()).await, 200);
    assert_eq!(decide(&scene, &question, raise).await, 409, "pressed twice");
    assert_eq!(scene.outcome("a", "m3").await["output"], "echo third");
    assert_eq!(scene.model.requests().len(), 3);
    assert_eq!(lines(&scene.project, "grant").len(), 1);

    let listed = scene.project.run(&["grants", "list"]);
    assert!(
        listed.stdout.contains("B1") && listed.stdout.contains("Today's budget: 1.00 USD more"),
        "{listed:?}"
    );
    let held = grants(&scene).await;
    assert_eq!((held.len(), &held[0]["id"], &held[0]["scope"]), (1, &json!("B1"), &json!("cap")), "{held:?}");
    assert_eq!(scene.say("fourth", "m6").await["status"], "done", "1.20 of 2.00 were used");
    let gone = scene.project.run(&["grants", "revoke", "B1"]);
    assert_eq!(gone.code, Some(0), "{gone:?}");
    assert_eq!(grants(&scene).await, Vec::<Value>::new());
    let asked = scene.say("fifth", "m7").await;
    assert_eq!(asked["status"], "awaiting-approval", "{asked}");
    assert_eq!(decide(&scene, &asked["approvals"][0], json!({ "decision": "deny" })).await, 200);
    scene.daemon.until_state("api:chat:a", "idle").await;
    let ended = scene.say("fifth", "m7").await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert!(ended["error"].to_string().contains("used up"), "{ended}");
    assert_eq!(scene.model.requests().len(), 4);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_threads_at_once_have_one_question_and_all_go_on() {
    let (scene, asked) = at_the_cap(json!({ "day": 1 })).await;
    let question = asked["approvals"][0].clone();
    tokio::join!(scene.drop_in("b", "from b", "b1"), scene.drop_in("c", "from c", "c1"));
    for chat in ["a", "b", "c"] {
        scene.daemon.until_state(&format!("api:chat:{chat}"), "awaiting-approval").await;
    }
    let joined = scene.say_as("ada", "b", "from b", "b1").await;
    assert_eq!(
        (&joined["status"], &joined["approvals"][0]["id"]),
        (&json!("awaiting-approval"), &question["id"])
    );
    assert_eq!(scene.pending().await.len(), 1);
    assert_eq!(scene.model.requests().len(), 2);
    let raise = json!({ "decision": "approve", "scope": "midnight" });
    assert_eq!(decide(&scene, &question, raise).await, 200);
    for (chat, id, output) in
        [("a", "m3", "echo third"), ("b", "b1", "echo from b"), ("c", "c1", "echo from c")]
    {
        assert_eq!(scene.outcome(chat, id).await["output"], output);
    }
    assert_eq!((scene.model.requests().len(), lines(&scene.project, "grant").len()), (5, 1));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_ends_every_turn_that_waits() {
    let (scene, asked) = at_the_cap(json!({ "day": 1 })).await;
    scene.drop_in("b", "from b", "b1").await;
    scene.daemon.until_state("api:chat:b", "awaiting-approval").await;
    assert_eq!(decide(&scene, &asked["approvals"][0], json!({ "decision": "deny" })).await, 200);
    for (chat, id) in [("a", "m3"), ("b", "b1")] {
        scene.daemon.until_state(&format!("api:chat:{chat}"), "idle").await;
        let ended = scene.say_as("ada", chat, "again", id).await;
        assert!(ended["error"].to_string().contains("used up"), "{ended}");
    }
    assert_eq!((scene.model.requests().len(), scene.pending().await.len()), (2, 0));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_a_cap_that_stops_a_turn_ends_with_a_sentence_and_nothing_is_asked() {
    let (scene, ended) = at_the_cap(json!({ "perThreadDay": 1, "onLimit": "stop" })).await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert!(ended["error"].to_string().contains("budget of this conversation is used up"), "{ended}");
    assert_eq!(scene.say_as("ada", "b", "elsewhere", "b1").await["status"], "done");
    assert_eq!(scene.pending().await, Vec::<Value>::new());
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_stop_all_calls_until_they_allow_them_again() {
    let mut config = budget(json!({ "day": 100 }));
    crate::fakes::daemon::merge(&mut config, json!({ "owners": ["api:user:olga"] }));
    let scene = Scene::new(config).await;
    let told = scene.say("/budget stop", "m1").await;
    assert!(told["output"].as_str().unwrap().contains("Only owners"), "{told}");
    assert_eq!(scene.say("hello", "m2").await["status"], "done");
    let told = scene.say_as("olga", "o", "/budget stop", "o1").await;
    assert!(told["output"].as_str().unwrap().contains("stopped"), "{told}");
    let scene = scene.killed_and_started().await;
    let ended = scene.say("hello?", "m3").await;
    assert!(ended["status"] == "failed" && ended["error"].to_string().contains("stopped"), "{ended}");
    assert_eq!(scene.model.requests().len(), 1);
    let shown = scene.say("/budget", "m4").await;
    assert!(shown["output"].as_str().unwrap().contains("owners see them"), "{shown}");
    let shown = scene.say_as("olga", "o", "/budget", "o3").await;
    assert!(shown["output"].as_str().unwrap().contains("0.40 USD of 100.00 USD"), "{shown}");
    scene.say_as("olga", "o", "/budget resume", "o2").await;
    assert_eq!(scene.say("hello again", "m5").await["status"], "done");
    scene.end().await;
}
