//! Where words come from decides what may be done with them unasked, also where ship.json allows the call.

use serde_json::{Value, json};

use super::scene::{core, is_distil, ledger, memories, notes, project, until};
use crate::fakes::daemon::{Daemon, Project};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen, words_of};

const KAT: &str = "api:user:kat";

/// Distils, and makes the calls of a message such as `do read_file {…} then memory_upsert {…}`, one after the other.
fn obedient(seen: &Seen) -> Reply {
    if is_distil(seen) {
        return memories(seen);
    }
    let messages = seen.body["messages"].as_array().unwrap();
    let newest = messages.iter().rposition(|m| m["role"] == "user" && m["name"] != "facts").unwrap();
    let done = messages[newest..].iter().filter(|message| message["role"] == "tool").count();
    let text = words_of(&messages[newest]).to_owned();
    let Some((_, calls)) = text.split_once("do ") else { return Reply::text("Noted.") };
    match calls.split(" then ").nth(done) {
        Some(call) => {
            let (name, arguments) = call.split_once(' ').unwrap();
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            Reply::calls([(name, arguments)])
        }
        None => Reply::text("Done."),
    }
}

async fn scene(permissions: Value) -> (FakeModel, Project, Daemon) {
    let model = FakeModel::start(Script::compute(obedient)).await;
    let project =
        project(&model.url(), 1, json!({ "permissions": permissions, "memory": { "auto": "off" } }));
    project.write("page.txt", "The office is closed on Mondays.\n");
    let daemon = project.start().await;
    (model, project, daemon)
}

fn say(text: &str) -> Value {
    json!({ "instructions": text, "chatId": "k", "userId": "kat" })
}

async fn open_questions(daemon: &Daemon) -> Vec<Value> {
    let all = daemon.get_json("/api/approvals?state=pending").await;
    all["approvals"].as_array().unwrap().clone()
}

fn upsert(tier: &str, text: &str) -> String {
    format!("memory_upsert {}", json!({ "scope": "user", "action": "add", "tier": tier, "text": text }))
}

const READ: &str = r#"read_file {"path":"page.txt"}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_tools_have_shown_never_becomes_core_memory_unasked() {
    let (_model, project, daemon) = scene(json!({ "memory_upsert": { "mode": "allow" } })).await;
    daemon.execute(say(&format!("do {}", upsert("core", "likes tea")))).await;
    assert!(core(&project, KAT).contains("likes tea"), "what a person asks for is allowed");
    let note = upsert("notes", "the office is closed on Mondays");
    daemon.execute(say(&format!("do {READ} then {note}"))).await;
    assert!(notes(&project, KAT).contains("closed on Mondays"));
    let line = ledger(&project).pop().unwrap();
    assert_eq!((&line["origin"], &line["reviewed"]), (&json!("tool"), &json!(false)), "{line}");
    assert_eq!(open_questions(&daemon).await.len(), 0);
    let item = upsert("core", "the office is closed on Mondays");
    daemon.execute(say(&format!("do {READ} then {item}"))).await;
    let open = open_questions(&daemon).await;
    assert_eq!(open.len(), 1, "{open:?}");
    assert!(open[0].to_string().contains("output of tools"), "{}", open[0]);
    assert!(!core(&project, KAT).contains("Mondays"));
    // A person who has seen it may want it.
    let id = open[0]["id"].as_str().unwrap();
    let answer = daemon.post(&format!("/api/approvals/{id}"), &json!({ "decision": "approve" })).send().await;
    assert_eq!(answer.unwrap().status(), 200);
    until("the approved item", || core(&project, KAT).contains("Mondays")).await;
    daemon.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_quotes_an_unreviewed_note_is_asked_about_although_it_is_allowed() {
    let model = FakeModel::start(Script::compute(obedient)).await;
    let allowed = json!({ "permissions": { "write_file": { "mode": "allow" } } });
    let project = project(&model.url(), 1, allowed);
    let daemon = project.start().await;
    daemon.execute(say("my deploy host is blue and the script is called ship all")).await;
    until("the note", || notes(&project, KAT).contains("deploy host is blue")).await;
    let search = r#"memory_search {"query":"deploy host script"}"#;
    let write = |text: &str| format!("write_file {}", json!({ "path": "out.txt", "content": text }));
    let quote = write("deploy host is blue and the script is called ship all");
    daemon.execute(say(&format!("do {search} then {quote}"))).await;
    let asked = |open: &[Value]| open.iter().any(|one| one["tool"] == "write_file");
    assert!(asked(&open_questions(&daemon).await), "{:?}", open_questions(&daemon).await);
    assert!(!project.path().join("out.txt").exists());
    daemon.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_remembered_does_not_go_to_another_conversation_unasked() {
    let (_model, project, daemon) = scene(json!({ "chat_send": { "mode": "allow" } })).await;
    let note = json!({ "id": "n1", "at": 1_795_032_000_000_i64, "author": "Kat", "text": "the birthday party is a surprise for Mia" });
    project.write("import/notes.jsonl", &format!("{note}\n"));
    let folder = project.path().join("import");
    assert_eq!(project.run(&["memory", "import", folder.to_str().unwrap(), "--scope", KAT]).code, Some(0));
    daemon.execute(json!({ "instructions": "hello", "chatId": "other", "userId": "mia" })).await;
    let search = r#"memory_search {"query":"birthday party surprise"}"#;
    let send = |text: &str| format!("chat_send {}", json!({ "thread": "api:chat:other", "text": text }));
    let tell = send("Guess what: the birthday party is a surprise for Mia!");
    daemon.execute(say(&format!("do {search} then {tell}"))).await;
    let open = open_questions(&daemon).await;
    assert_eq!(open.len(), 1, "{open:?}");
    assert!(open[0].to_string().contains("remembered here"), "{}", open[0]);
    let other = std::fs::read_to_string(project.thread_file("api:chat:other")).unwrap();
    assert!(!other.contains("surprise"), "{other}");
    daemon.kill();
}
