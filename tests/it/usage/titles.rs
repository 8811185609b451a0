//! Titles of threads by the helper model.

use serde_json::{Value, json};

use super::{settled, with_deep};
use crate::fakes::daemon::{Daemon, Project, TOKEN};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};

/// A daemon whose helper names threads, and answers as `helper` says.
async fn titling(helper: impl FnMut(&Seen) -> Reply + Send + 'static) -> (FakeModel, Project) {
    let mut helper = helper;
    let answer = move |seen: &Seen| match seen.body["model"].as_str() {
        Some("fake-helper") => helper(seen),
        _ => Reply::text("At nine."),
    };
    let model = FakeModel::start(Script::compute(answer)).await;
    let extra = json!({ "owners": ["api:user:ann"],
        "llm": { "helper": { "model": "fake-helper" }, "titles": true } });
    let project = with_deep(&model.url(), extra);
    (model, project)
}

async fn say(daemon: &Daemon, chat: &str, words: &str) -> String {
    let body = json!({ "instructions": words, "chatId": chat, "userId": "ann" });
    daemon.execute(body).await["output"].as_str().unwrap_or_default().to_owned()
}

async fn title(daemon: &Daemon, thread: &str) -> String {
    let listed = daemon.get_json("/api/threads").await;
    let rows = listed["threads"].as_array().unwrap();
    let row = rows.iter().find(|row| row["threadId"] == thread);
    row.map_or_else(String::new, |row| row["title"].as_str().unwrap().to_owned())
}

async fn until_title(daemon: &Daemon, thread: &str, wanted: &str) {
    daemon.until(wanted, async |daemon| title(daemon, thread).await == wanted).await;
}

fn title_calls(project: &Project) -> Vec<Value> {
    settled(project).into_iter().filter(|line| line["purpose"] == "title").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_is_named_once_after_its_first_answer_and_keeps_the_name() {
    let (model, project) = titling(|_| Reply::text("\"Harbour opening times\"\n")).await;
    let daemon = project.start().await;
    assert_eq!(say(&daemon, "a", "When does the harbour open?").await, "At nine.");
    until_title(&daemon, "api:chat:a", "Harbour opening times").await;
    let calls = title_calls(&project);
    assert_eq!(calls.len(), 1);
    assert_eq!((&calls[0]["model"], &calls[0]["threadId"]), (&json!("fake-helper"), &json!("api:chat:a")));
    let asked = model.requests().into_iter().find(|seen| seen.body["model"] == "fake-helper").unwrap();
    let limits = ["max_tokens", "max_completion_tokens"].map(|key| asked.body[key].as_u64());
    let limit = limits.into_iter().flatten().next();
    assert!(limit.is_some_and(|limit| limit <= 100) && asked.body.get("tools").is_none(), "{}", asked.body);
    let text = asked.body["messages"].to_string();
    assert!(text.contains("When does the harbour open?") && text.contains("At nine."), "{text}");

    say(&daemon, "a", "And on Sundays?").await;
    let listed = daemon.get_json("/api/threads?q=opening").await;
    assert_eq!(listed["threads"][0]["threadId"], "api:chat:a", "its title is found");
    assert!(daemon.stop().await.success());
    let daemon = project.start().await;
    say(&daemon, "a", "Thanks.").await;
    assert_eq!(title(&daemon, "api:chat:a").await, "Harbour opening times");
    let report = daemon.get_json("/api/usage?by=thread").await;
    assert_eq!(report["reports"][0]["rows"][0]["title"], "Harbour opening times");
    assert!(daemon.stop().await.success());
    assert_eq!(title_calls(&project).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_call_leaves_the_first_message_and_a_person_has_the_last_word() {
    let (_model, project) = titling(|seen| {
        let words = seen.body["messages"].to_string();
        if words.contains("never") { Reply::status(400, "{}") } else { Reply::text("By the model") }
    })
    .await;
    let daemon = project.start().await;
    let rename = async |thread: &str, title: Value| {
        let address = format!("{}/api/threads/{thread}", daemon.base);
        let request =
            daemon.http.patch(address).bearer_auth(TOKEN).header("content-type", "application/json");
        let body = json!({ "title": title }).to_string();
        assert_eq!(request.body(body).send().await.unwrap().status(), 200, "{thread}");
    };
    say(&daemon, "a", "Will it ever?").await;
    until_title(&daemon, "api:chat:a", "By the model").await;
    rename("api:chat:a", json!("By Ann")).await;
    assert_eq!(title(&daemon, "api:chat:a").await, "By Ann");
    rename("api:chat:a", Value::Null).await;
    assert_eq!(title(&daemon, "api:chat:a").await, "By the model");

    // After a call that failed the next answer is another chance, unless a person was faster.
    say(&daemon, "b", "It will never").await;
    daemon.until("the failed call", async |_| title_calls(&project).len() == 2).await;
    assert_eq!(title(&daemon, "api:chat:b").await, "It will never");
    say(&daemon, "b", "And on Sundays?").await;
    daemon.until("another failed call", async |_| title_calls(&project).len() == 3).await;
    rename("api:chat:b", json!("By Ann")).await;
    say(&daemon, "b", "Thanks.").await;
    say(&daemon, "c", "Something else").await;
    until_title(&daemon, "api:chat:c", "By the model").await;
    assert_eq!(title_calls(&project).len(), 4, "none for the thread that a person has named");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_for_a_title_ends_when_owners_stop_all_calls() {
    let (model, project) = titling(|_| Reply::hang()).await;
    let daemon = project.start().await;
    say(&daemon, "a", "When does the harbour open?").await;
    model.wait_for_requests(2).await;
    say(&daemon, "a", "/budget stop").await;
    daemon.until("the end of the call", async |_| title_calls(&project).len() == 1).await;
    assert_eq!(title_calls(&project)[0]["source"], "uncertain");
    assert_eq!(title(&daemon, "api:chat:a").await, "When does the harbour open?");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_named_without_the_setting_or_without_a_helper() {
    for llm in [json!({ "helper": { "model": "fake-helper" } }), json!({ "titles": true })] {
        let model = FakeModel::start(Reply::text("At nine.")).await;
        let project = with_deep(&model.url(), json!({ "llm": llm }));
        let daemon = project.start().await;
        say(&daemon, "a", "When does the harbour open?").await;
        say(&daemon, "a", "And on Sundays?").await;
        assert!(daemon.stop().await.success());
        assert_eq!(model.requests().len(), 2);
    }
}
