//! Finding, deleting and branching threads over HTTP, with a real daemon.

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply};

fn offline() -> Project {
    Project::new(json!({ "llm": { "provider": "offline" } }))
}

async fn titles(daemon: &Daemon, query: &str) -> Vec<String> {
    let body = daemon.get_json(&format!("/api/threads?{query}")).await;
    let rows = body["threads"].as_array().unwrap_or_else(|| panic!("{body}")).clone();
    rows.iter().map(|row| row["title"].as_str().unwrap().to_owned()).collect()
}

async fn delete(daemon: &Daemon, thread: &str) -> (u16, Value) {
    let request = daemon.http.delete(format!("{}/api/threads/{thread}", daemon.base));
    let answer = request.bearer_auth(crate::fakes::daemon::TOKEN).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_are_found_by_words_in_them_in_english_and_chinese() {
    let project = offline();
    let daemon = project.start().await;
    for (chat, words) in
        [("a", "the blue heron lands"), ("b", "苍鹭落在码头上"), ("c", "nothing of that kind")]
    {
        daemon.execute(json!({ "instructions": words, "chatId": chat })).await;
    }
    assert_eq!(titles(&daemon, "q=heron").await, ["the blue heron lands"]);
    assert_eq!(titles(&daemon, "q=blue%20heron").await, ["the blue heron lands"]);
    assert_eq!(titles(&daemon, "q=%E7%A0%81%E5%A4%B4").await, ["苍鹭落在码头上"]);
    assert_eq!(titles(&daemon, "q=heron&platform=telegram").await, Vec::<String>::new());
    assert_eq!(titles(&daemon, "q=heron&state=idle").await.len(), 1);
    assert_eq!(titles(&daemon, "q=walrus").await, Vec::<String>::new());
    // By time and person, alone and together with words.
    for (query, count) in [
        ("since=2020-01-01T00:00:00Z", 3),
        ("until=2020-01-01T00:00:00Z", 0),
        ("since=2020-01-01T00:00:00Z&until=2999-01-01T00:00:00Z&q=heron", 1),
        ("person=nobody", 0),
    ] {
        assert_eq!(titles(&daemon, query).await.len(), count, "{query}");
    }
    assert_eq!(daemon.get("/api/threads?since=yesterday").send().await.unwrap().status(), 400);
    let name =
        daemon.get_json("/api/threads/api:chat:a/messages").await["messages"][0]["metadata"]["authorName"]
            .clone();
    let person = name.as_str().unwrap_or("user").to_uppercase();
    assert_eq!(titles(&daemon, &format!("person={person}")).await.len(), 3, "{person}");
    assert_eq!(titles(&daemon, &format!("person={person}&q=heron")).await.len(), 1);
    let found = daemon.get_json("/api/threads?q=heron").await;
    let snippet = found["threads"][0]["snippet"]["text"].as_str().unwrap();
    assert!(snippet.contains("heron"), "{snippet}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_thread_is_gone_with_its_files_and_index_also_after_a_kill() {
    let project = offline();
    let daemon = project.start().await;
    for chat in ["gone", "kept"] {
        daemon.execute(json!({ "instructions": format!("walrus in {chat}"), "chatId": chat })).await;
    }
    let files = project.path().join(".ship/files/api%3Achat%3Agone");
    project.write(".ship/files/api%3Achat%3Agone/note.txt", "kept words");
    assert_eq!(titles(&daemon, "q=walrus").await.len(), 2);
    assert_eq!(delete(&daemon, "api:chat:gone").await, (200, json!({ "deleted": true })));
    assert_eq!(delete(&daemon, "api:chat:gone").await.0, 404);
    assert!(!files.exists() && !project.thread_file("api:chat:gone").exists());
    assert_eq!(titles(&daemon, "").await, ["walrus in kept"]);
    assert_eq!(titles(&daemon, "q=walrus").await, ["walrus in kept"]);
    daemon.kill();
    let daemon = project.start().await;
    assert_eq!(titles(&daemon, "").await, ["walrus in kept"]);
    assert!(!project.thread_file("api:chat:gone").exists());
    let audit = project.run(&["audit", "--json"]).stdout;
    assert!(audit.contains("thread-deleted"), "{audit}");
    // The same id begins anew.
    let again = daemon.execute(json!({ "instructions": "list: .", "chatId": "gone" })).await;
    assert_eq!(again["status"], "done");
    let messages = daemon.get_json("/api/threads/api:chat:gone/messages").await;
    assert_eq!(messages["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_works_cannot_be_deleted_until_it_is_stopped() {
    let model = FakeModel::start([Reply::hang()]).await;
    let project = Project::with_model(&model.url(), json!({ "llm": { "timeoutSecs": 600 } }));
    let daemon = project.start().await;
    daemon.execute(json!({ "instructions": "hang", "chatId": "busy", "timeoutMs": 1 })).await;
    let (status, problem) = delete(&daemon, "api:chat:busy").await;
    assert_eq!((status, &problem["error"]["code"]), (409, &json!("thread-at-work")));
    let stopped = daemon.post("/api/threads/api:chat:busy/stop", &json!(null)).send().await.unwrap();
    assert_eq!(stopped.status(), 200);
    daemon.until_state("api:chat:busy", "idle").await;
    assert_eq!(delete(&daemon, "api:chat:busy").await.0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_begins_with_what_was_said_before_and_the_old_thread_stays() {
    let project = offline();
    let daemon = project.start().await;
    for (id, words) in [("m1", "list: ."), ("m2", "read: Agent.md"), ("m3", "list: .ship")] {
        let body = json!({ "instructions": words, "chatId": "long", "messageId": id });
        daemon.execute(body).await;
    }
    let path = "/api/threads/api:chat:long";
    let before = daemon.get_json(&format!("{path}/messages")).await;
    let third = before["messages"][4]["id"].clone();
    let made = daemon.post(&format!("{path}/branch"), &json!({ "before": third })).send().await.unwrap();
    assert_eq!(made.status(), 201);
    let made: Value = made.json().await.unwrap();
    assert_eq!(made["messages"], 4);
    let branch = made["threadId"].as_str().unwrap().to_owned();
    assert!(branch.starts_with("web:chat:"));
    let said = json!({ "id": "other", "text": "list: ." });
    let sent = daemon.post(&format!("/api/threads/{branch}/messages"), &said).send().await.unwrap();
    assert_eq!(sent.status(), 202);
    daemon.until_state(&branch, "idle").await;
    let copied = daemon.get_json(&format!("/api/threads/{branch}/messages")).await;
    let texts: Vec<&Value> = copied["messages"].as_array().unwrap().iter().map(|m| &m["parts"]).collect();
    assert_eq!(
        texts[..4],
        before["messages"].as_array().unwrap()[..4].iter().map(|m| &m["parts"]).collect::<Vec<_>>()
    );
    assert_eq!(daemon.get_json(&format!("{path}/messages")).await, before, "nothing was rewritten");
    let unknown = daemon.post(&format!("{path}/branch"), &json!({ "before": "none" })).send().await.unwrap();
    assert_eq!(unknown.status(), 404);
}
