//! The default model, named models, the helper and fallbacks.

use serde_json::{Value, json};

use super::{naming, settled, with_deep};
use crate::fakes::daemon::{Daemon, PATIENCE};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::learning::scene::is_distil;

async fn say(daemon: &Daemon, chat: &str, user: &str, words: &str) -> String {
    let body = json!({ "instructions": words, "chatId": chat, "userId": user });
    daemon.execute(body).await["output"].as_str().unwrap_or_default().to_owned()
}

async fn put(daemon: &Daemon, thread: &str, model: Value) -> reqwest::Response {
    let request = daemon.http.put(format!("{}/api/threads/{thread}/model", daemon.base));
    let request = request.bearer_auth(crate::fakes::daemon::TOKEN).header("content-type", "application/json");
    request.body(json!({ "model": model }).to_string()).timeout(PATIENCE).send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_console_chooses_the_model_of_a_thread_and_others_keep_theirs() {
    let model = naming().await;
    let project = with_deep(&model.url(), json!({}));
    let daemon = project.start().await;
    assert_eq!(say(&daemon, "a", "op", "first").await, "fake: first");
    let shown = daemon.get_json("/api/threads/api:chat:a/model").await;
    let models = json!([{ "name": "deep", "model": "fake-deep" }]);
    assert_eq!(shown, json!({ "default": "fake", "models": models, "chosen": null }));
    assert_eq!(put(&daemon, "api:chat:a", json!("deep")).await.status(), 200);
    assert_eq!(put(&daemon, "api:chat:a", json!("deeper")).await.status(), 422);
    assert_eq!(put(&daemon, "telegram:chat:404", json!("deep")).await.status(), 404);
    assert_eq!(daemon.get_json("/api/threads/api:chat:a/model").await["chosen"], "deep");
    assert_eq!(say(&daemon, "a", "op", "hi").await, "fake-deep: hi");
    assert_eq!(say(&daemon, "b", "op", "hi").await, "fake: hi");
    daemon.kill();
    let daemon = project.start().await;
    assert_eq!(say(&daemon, "a", "op", "again").await, "fake-deep: again");
    assert_eq!(put(&daemon, "api:chat:a", Value::Null).await.status(), 200);
    assert_eq!(say(&daemon, "a", "op", "at last").await, "fake: at last");
    let audit = project.run(&["audit", "--event", "model-chosen", "--json"]);
    assert_eq!(audit.stdout.lines().count(), 2, "{audit:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_choose_and_members_only_where_they_may() {
    let model = naming().await;
    for (choosers, chosen) in [("owners", "fake: hi"), ("members", "fake-deep: hi")] {
        let extra = json!({ "owners": ["api:user:ann"], "llm": { "modelChoice": choosers } });
        let project = with_deep(&model.url(), extra);
        let daemon = project.start().await;
        say(&daemon, "a", "bob", "/model deep").await;
        assert_eq!(say(&daemon, "a", "bob", "hi").await, chosen, "{choosers}");
        say(&daemon, "a", "ann", "/model deep").await;
        assert_eq!(say(&daemon, "a", "bob", "hi").await, "fake-deep: hi");
        say(&daemon, "a", "ann", "/model default").await;
        assert_eq!(say(&daemon, "a", "bob", "hi").await, "fake: hi");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_answered_by_its_model_and_an_unknown_one_is_a_mistake() {
    let model = naming().await;
    let project = with_deep(&model.url(), json!({}));
    let file = |name: &str| format!("---\nevery: 1h\nmodel: {name}\ndeliver: none\n---\ncount");
    project.write(".ship/tasks/good.md", &file("deep"));
    project.write(".ship/tasks/bad.md", &file("shallow"));
    let daemon = project.start().await;
    let started = daemon.post("/api/tasks/good/run", &json!({})).send().await.unwrap();
    assert_eq!(started.status(), 200);
    daemon
        .until("the run", async |daemon| {
            daemon.get_json("/api/tasks/good").await["last"]["outcome"] == "done"
        })
        .await;
    assert_eq!(model.requests()[0].body["model"], "fake-deep");
    let line = &settled(&project)[0];
    assert_eq!(
        (&line["model"], &line["purpose"], &line["taskId"]),
        (&json!("fake-deep"), &json!("task"), &json!("good"))
    );
    let validated = project.run(&["tasks", "validate"]);
    assert!(validated.stdout.contains("bad.md:3:") && validated.stdout.contains("shallow"), "{validated:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fallback_is_recorded_with_its_reason_in_the_message_the_ledger_and_the_audit() {
    let model = FakeModel::start(Script::compute(|seen: &Seen| match seen.body["model"].as_str() {
        Some("fake-b") => Reply::text("from b"),
        _ => Reply::status(401, r#"{"error":{"message":"bad key"}}"#),
    }))
    .await;
    let extra = json!({ "llm": { "fallbacks": [{ "model": "fake-b" }] } });
    let project = with_deep(&model.url(), extra);
    let daemon = project.start().await;
    assert_eq!(say(&daemon, "a", "op", "hi").await, "from b");
    let page = daemon.get_json("/api/threads/api:chat:a/messages").await;
    let metadata = &page["messages"][1]["metadata"];
    assert_eq!(metadata["fallback"], json!({ "model": "fake-b", "reason": "auth" }));
    let lines = settled(&project);
    let told: Vec<_> = lines.iter().map(|line| (&line["model"], &line["error"], &line["fallback"])).collect();
    let expected =
        [(&json!("fake"), &json!("auth"), &Value::Null), (&json!("fake-b"), &Value::Null, &json!("auth"))];
    assert_eq!(told, expected);
    // A named model falls back as well.
    put(&daemon, "api:chat:a", json!("deep")).await;
    assert_eq!(say(&daemon, "a", "op", "hi").await, "from b");
    let audit = project.run(&["audit", "--event", "model-fallback", "--json"]);
    let reasons: Vec<Value> = audit.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let reasons: Vec<_> = reasons.iter().map(|line| line["reason"].as_str().unwrap_or_default()).collect();
    assert_eq!(reasons, ["fake → fake-b: auth", "fake-deep → fake-b: auth"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_helper_does_the_chores_and_they_are_counted_as_such() {
    let model = FakeModel::start(Script::compute(|seen: &Seen| {
        let chores = seen.body["model"] == "fake-helper";
        assert_eq!(chores, is_distil(seen), "{:?}", seen.body["model"]);
        if chores { Reply::text(r#"{"memories":[]}"#) } else { Reply::text("Noted.") }
    }))
    .await;
    let extra = json!({
        "llm": { "helper": { "model": "fake-helper" } },
        "memory": { "distilEvery": 1, "auto": "propose" },
    });
    let project = with_deep(&model.url(), extra);
    let daemon = project.start().await;
    assert_eq!(say(&daemon, "a", "op", "My favourite colour is blue.").await, "Noted.");
    daemon.until("the distil", async |_| settled(&project).len() == 2).await;
    let lines = settled(&project);
    let told: Vec<_> = lines.iter().map(|line| (&line["model"], &line["purpose"])).collect();
    let expected = [(&json!("fake"), &json!("turn")), (&json!("fake-helper"), &json!("distil"))];
    assert_eq!(told, expected);
}
