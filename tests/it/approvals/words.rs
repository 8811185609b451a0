//! Texts about approvals: decisions about settled ones, also after a restart, and replies that only a model can
//! classify.

use serde_json::{Value, json};

use crate::fakes::approval_scene::{Scene, obedient};
use crate::fakes::daemon::Daemon;
use crate::fakes::fake_model::{Reply, Seen};

const WRITES: &str = "echo one >> out/log.txt";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deciding_again_in_words_says_who_decided_also_after_a_restart() {
    let mut scene = Scene::new(json!({})).await;
    let asked = scene.ask(&[WRITES]).await.remove(0);
    let number = asked["number"].as_str().unwrap().to_owned();
    let id = asked["id"].as_str().unwrap().to_owned();
    scene.say(&format!("approve {number}"), "yes").await;
    scene.outcome("a", "m1").await;
    for restarted in [false, true] {
        if restarted {
            scene = scene.killed_and_started().await;
        }
        let again = [
            format!("approve {number}"),
            format!("拒绝 {number}"),
            format!("/approve {number}"),
            format!("/deny {number} too risky"),
            format!("approve {id}"),
        ];
        for (at, words) in again.iter().enumerate() {
            let answer = scene.say(words, &format!("again-{restarted}-{at}")).await;
            let told = answer["output"].as_str().unwrap();
            assert!(told.contains(&number) && told.contains("api:user:ada"), "{words}: {answer}");
        }
    }
    assert_eq!(scene.lines(), ["one"], "it ran once");
    assert_eq!(scene.stands(&asked).await["state"], "spent");
    // In another thread it is an ordinary message.
    let elsewhere = scene.say_as("ada", "b", &format!("approve {number}"), "elsewhere").await;
    assert_eq!(elsewhere["output"], format!("echo approve {number}"));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_looks_like_a_yes_is_asked_back_and_runs_nothing() {
    let scene = Scene::new(json!({})).await;
    let asked = scene.ask(&[WRITES]).await.remove(0);
    let number = asked["number"].as_str().unwrap().to_owned();
    for words in [
        "请求批准",
        "请您确认",
        "request to proceed",
        "please approve",
        "命令执行了",
        "requests i approved",
        "我执行吧",
        "i run it",
        "允许的命令",
        "这也行",
        "yes tomorrow",
        "请在10分钟内批准",
        "approve within 24 hours",
        "这个项目都通过了",
        "~~yes~~",
        "`yes`",
        "> yes",
        "ok...",
    ] {
        let answer = scene.say(words, words).await;
        let told = answer["output"].as_str().unwrap();
        assert!(told.contains(&format!("approve {number}")), "{words}: {answer}");
        assert_eq!(scene.stands(&asked).await["state"], "pending", "{words}");
    }
    assert!(scene.lines().is_empty(), "nothing ran");
    scene.say("同意，谢谢", "yes").await;
    scene.outcome("a", "m1").await;
    assert_eq!(scene.lines(), ["one"]);
    scene.end().await;
}

/// Classifies replies as instructed, and runs commands otherwise.
fn reader(seen: &Seen) -> Reply {
    if !seen.body["messages"][0]["content"].as_str().unwrap_or_default().contains("You see their reply") {
        return obedient(seen);
    }
    match seen.last_user_text() {
        "meinetwegen, nur zu" => Reply::text("approve"),
        "lieber nicht" => Reply::text("deny"),
        _ => Reply::text("unrelated"),
    }
}

/// The prompts of reply classifications.
fn readings(scene: &Scene) -> Vec<Value> {
    let shown = scene.model.requests().into_iter().map(|seen| seen.body);
    shown.filter(|body| body["messages"][0]["content"].to_string().contains("You see their reply")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_reads_a_yes_can_only_ask_back_and_sees_nothing_but_the_reply() {
    let scene = Scene::with(reader, json!({ "approvals": { "readReplies": "model" } })).await;
    let asked = scene.ask(&[WRITES]).await.remove(0);
    let number = asked["number"].as_str().unwrap().to_owned();
    for (words, question) in [
        (
            "meinetwegen, nur zu",
            format!("Do you mean: approve {number}?\nAnswer `approve {number}` or `deny {number}`."),
        ),
        (
            "lieber nicht",
            format!("Do you mean: deny {number}?\nAnswer `approve {number}` or `deny {number}`."),
        ),
    ] {
        let answer = scene.say(words, words).await;
        assert_eq!(answer["output"], question, "{answer}");
        assert_eq!(scene.stands(&asked).await["state"], "pending");
    }
    assert!(scene.lines().is_empty(), "nothing ran");
    scene.drop_in("a", "wie ist das Wetter", "later").await;
    scene.daemon.until("the model to look", async |_: &Daemon| readings(&scene).len() == 3).await;
    for body in readings(&scene) {
        let said = body.to_string();
        assert!(!said.contains("log.txt") && !said.contains("exec_shell"), "the reply alone: {said}");
        assert!(body.get("tools").is_none(), "{said}");
    }
    scene.say("yes", "yes").await;
    scene.outcome("a", "m1").await;
    assert_eq!(scene.lines(), ["one"]);
    // A message about another subject is answered in its turn; one with a question back is not.
    let later = scene.outcome("a", "later").await;
    assert_eq!(later["output"], "echo wie ist das Wetter");
    let spoken: Vec<String> =
        scene.model.requests().iter().map(|seen| seen.body["messages"].to_string()).collect();
    let conversation = spoken.last().unwrap();
    assert!(
        !conversation.contains("meinetwegen") && !conversation.contains("lieber nicht"),
        "{conversation}"
    );
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_behind_an_open_approval_is_told_of_it_and_gets_its_answer_later() {
    let scene = Scene::with(obedient, json!({})).await;
    let asked = scene.ask(&[WRITES]).await.remove(0);
    let held_back = scene.say("hello there", "later").await;
    assert_eq!((&held_back["status"], &held_back["success"]), (&json!("awaiting-approval"), &json!(false)));
    assert_eq!(held_back["approvals"][0]["number"], asked["number"]);
    let output = held_back["output"].as_str().unwrap();
    assert!(output.starts_with("I am waiting for a decision on A1"), "{output}");
    scene.say("yes", "yes").await;
    // The same request again waits for its answer.
    let answered = scene.say("hello there", "later").await;
    assert_eq!(answered["status"], "done", "{answered}");
    assert_eq!(scene.lines(), ["one"]);
}
