//! Messages of the operator over HTTP: edited, taken back, branched with their files.

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project, TOKEN};
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script};

const PICTURE: &str = "data:image/png;base64,iVBORw0KGgo=";

fn project(model: &FakeModel) -> Project {
    Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 600 } }))
}

async fn say(daemon: &Daemon, id: &str, body: Value) {
    let mut said = json!({ "id": id, "text": id });
    crate::fakes::daemon::merge(&mut said, body);
    let sent = daemon.post("/api/threads/web:chat:1/messages", &said).send().await.unwrap();
    assert_eq!(sent.status(), 202);
}

async fn change(daemon: &Daemon, method: &str, id: &str, body: Option<Value>) -> (u16, Value) {
    let path = format!("{}/api/threads/web:chat:1/messages/{id}", daemon.base);
    let mut request = daemon.http.request(method.parse().unwrap(), path).bearer_auth(TOKEN);
    if let Some(body) = body {
        request = request.json(&body);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

async fn parts(daemon: &Daemon, thread: &str, at: usize) -> Vec<Value> {
    let page = daemon.get_json(&format!("/api/threads/{thread}/messages")).await;
    page["messages"][at]["parts"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edited_question_keeps_its_picture() {
    let model = FakeModel::start(Reply::text("seen")).await;
    let project = project(&model);
    let daemon = project.start().await;
    let file = json!({ "mediaType": "image/png", "url": PICTURE, "filename": "a.png" });
    say(&daemon, "m1", json!({ "files": [file] })).await;
    model.wait_for_requests(1).await;
    daemon.until_state("web:chat:1", "idle").await;
    let (status, _) = change(&daemon, "PATCH", "m1", Some(json!({ "text": "what is this" }))).await;
    assert_eq!(status, 202);
    model.wait_for_requests(2).await;
    daemon.until_state("web:chat:1", "idle").await;
    let parts = parts(&daemon, "web:chat:1", 0).await;
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert_eq!((&parts[0]["filename"], &parts[1]["text"]), (&json!("a.png"), &json!("what is this")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_of_a_question_whose_answer_is_being_written_is_refused() {
    let gate = Latch::new();
    let held = gate.clone();
    let script = Script::compute(move |_| {
        Reply::pieces(["The harbour is full of ships tonight, and ", "the ", "lights are on."])
            .gated_after(2, &held)
    });
    let model = FakeModel::start(script).await;
    let project = project(&model);
    let daemon = project.start().await;
    say(&daemon, "m1", json!({})).await;
    model.wait_for_requests(1).await;
    daemon
        .until("the answer to begin", async |daemon| {
            let (status, problem) = change(daemon, "PATCH", "m1", Some(json!({ "text": "other" }))).await;
            status == 409 && problem["error"]["message"].as_str().unwrap().contains("stop the answer first")
        })
        .await;
    gate.open();
    daemon.until_state("web:chat:1", "idle").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_was_taken_back_is_not_answered_also_after_a_kill() {
    let gate = Latch::new();
    let held = gate.clone();
    let script = Script::compute(move |seen| {
        let reply = Reply::text(&format!("re: {}", seen.unanswered_texts()));
        if seen.last_user_text() == "m1" { reply.behind(&held) } else { reply }
    });
    let model = FakeModel::start(script).await;
    let project = project(&model);
    let daemon = project.start().await;
    say(&daemon, "m1", json!({})).await;
    model.wait_for_requests(1).await;
    for id in ["m2", "m3"] {
        say(&daemon, id, json!({})).await;
    }
    let (status, taken) = change(&daemon, "DELETE", "m2", None).await;
    assert_eq!((status, &taken["messageId"]), (200, &json!("m2")));
    assert_eq!(change(&daemon, "DELETE", "m2", None).await.0, 409, "it does not wait any more");
    assert_eq!(change(&daemon, "DELETE", "m1", None).await.0, 409, "it is being answered");
    assert_eq!(change(&daemon, "DELETE", "none", None).await.0, 404);
    daemon.kill();
    let daemon = project.start().await;
    gate.open();
    daemon
        .until("both answers", async |daemon| {
            let page = daemon.get_json("/api/threads/web:chat:1/messages").await.to_string();
            page.contains("re: m1") && page.contains("re: m3")
        })
        .await;
    daemon.until_state("web:chat:1", "idle").await;
    let asked: Vec<String> = model.requests().iter().map(|seen| seen.body["messages"].to_string()).collect();
    assert!(!asked.iter().any(|messages| messages.contains("\"m2\"")), "{asked:?}");
    assert_eq!(parts(&daemon, "web:chat:1", 2).await[0]["text"], "m2", "people can still read it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_has_its_own_files_and_outlives_the_old_thread() {
    let model = FakeModel::start(Reply::text("seen")).await;
    let project = project(&model);
    let daemon = project.start().await;
    project.write(".ship/files/web%3Achat%3A1/report 1.txt", "all is well");
    let file = json!({ "type": "file", "mediaType": "text/plain", "filename": "report 1.txt",
        "url": "/api/files/web%3Achat%3A1/report%201%2Etxt" });
    let message = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "read" }, file] });
    let sent = daemon.post("/api/chat", &json!({ "id": "1", "messages": [message] })).send().await.unwrap();
    assert_eq!(sent.status(), 200);
    sent.text().await.unwrap();
    say(&daemon, "m2", json!({})).await;
    daemon.until_state("web:chat:1", "idle").await;

    let made =
        daemon.post("/api/threads/web:chat:1/branch", &json!({ "before": "m2" })).send().await.unwrap();
    let branch = made.json::<Value>().await.unwrap()["threadId"].as_str().unwrap().to_owned();
    let gone = daemon.http.delete(format!("{}/api/threads/web:chat:1", daemon.base)).bearer_auth(TOKEN);
    assert_eq!(gone.send().await.unwrap().status(), 200);
    let parts = parts(&daemon, &branch, 0).await;
    let url = parts.iter().find_map(|part| part["url"].as_str()).unwrap();
    let served = daemon.get(url).send().await.unwrap();
    assert_eq!((served.status().as_u16(), served.text().await.unwrap().as_str()), (200, "all is well"));
}
