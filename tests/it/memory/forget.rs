//! A person is forgotten: asked once about what is remembered, asked again about what was said. Afterwards no way to read
//! finds it, also not through an index that is made anew.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use shipagent::domain::ChatKind;

use crate::fakes::daemon::{PATIENCE, Project};
use crate::fakes::fake_model::{FakeModel, Script};
use crate::fakes::in_process::{HandClock, InProcess};
use crate::recall::scene::{reply, result, texts};

const ANN: &str = "web:user:ann";
const BOB: &str = "web:user:bob";
/// In Ann's core memory, in her notes, and said by her in two chats.
const SECRETS: [&str; 4] = ["xylophone", "quetzal", "marzipan", "bathysphere"];

struct Scene {
    model: FakeModel,
    project: Project,
    daemon: InProcess,
    clock: Arc<HandClock>,
}

impl Scene {
    async fn say(&self, author: &str, thread: &str, text: &str) -> String {
        self.daemon.say_as(author, ChatKind::Direct, thread, text).await
    }

    /// What a person can read by every way there is, as one text.
    async fn readable(&self, author: &str, thread: &str) -> String {
        let mut read = String::new();
        for query in SECRETS {
            self.say(author, thread, "/new").await;
            let asked = [format!("find {query}"), format!("list {query}"), "list".to_owned()];
            for text in asked.into_iter().chain([format!("what about the {query}?")]) {
                self.say(author, thread, &text).await;
                let request =
                    self.model.requests().last().unwrap().body["messages"].as_array().unwrap().clone();
                let prompt = serde_json::to_string(&request).unwrap();
                // The question itself has the word.
                read.push_str(&prompt.replace(&text, ""));
                if !text.starts_with("what") {
                    read.push_str(&texts(&result(&self.model.requests())).join("\n").replace(&text, ""));
                }
            }
        }
        read.push_str(&self.say(author, thread, "/memory").await);
        for query in SECRETS {
            let found = self.project.run(&["memory", "search", query, "--scope", author, "--json"]);
            read.push_str(&found.stdout.replace(&format!("{query}?"), ""));
        }
        read.push_str(&self.project.run(&["memory", "show", "--scope", author, "--json"]).stdout);
        read
    }
}

/// The secret sentences, as they were said; the words alone are also in the questions.
fn sentence(secret: &str) -> String {
    format!("The {secret} is hidden behind the third door")
}

fn found(read: &str) -> Vec<&'static str> {
    SECRETS.into_iter().filter(|secret| read.contains(&sentence(secret))).collect()
}

async fn scene() -> Scene {
    let model = FakeModel::start(Script::compute(reply)).await;
    let config = json!({ "language": "en", "queue": { "mergeMs": 0 },
        "memory": { "history": "scope", "auto": "off", "refreshMinutes": 0 } });
    let project = Project::with_model(&model.url(), config);
    project.write(".ship/memory/users/web%3Auser%3Aann.md", &format!("- {}\n", sentence(SECRETS[0])));
    let note =
        json!({ "id": "n1", "at": 1_795_032_000_000_i64, "author": "Ann", "text": sentence(SECRETS[1]) });
    project.write("import/notes.jsonl", &format!("{note}\n"));
    let folder = project.path().join("import");
    let imported = project.run(&["memory", "import", folder.to_str().unwrap(), "--scope", ANN]);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let clock = HandClock::evening();
    let daemon = InProcess::start(&project, &clock);
    let scene = Scene { model, project, daemon, clock };
    scene.say(ANN, "web:chat:one", &sentence(SECRETS[2])).await;
    scene.say(ANN, "web:chat:two", &sentence(SECRETS[3])).await;
    scene.say(BOB, "web:chat:bob", &sentence(SECRETS[2])).await;
    scene.clock.advance(Duration::from_secs(60));
    scene
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_asks_twice_is_forgotten_by_every_way_to_read() {
    let scene = scene().await;
    // Other conversations are indexed behind their commits.
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while found(&scene.readable(ANN, "web:chat:one").await) != SECRETS {
        assert!(tokio::time::Instant::now() < deadline, "all of it is found before");
    }
    assert!(scene.say(ANN, "web:chat:one", "/forget me").await.contains("I remember 2 things"));
    assert_eq!(found(&scene.readable(ANN, "web:chat:one").await), SECRETS, "it is asked first");
    let told = scene.say(ANN, "web:chat:one", "/forget me yes").await;
    assert!(told.contains("2 things") && told.contains("/forget me everything"), "it is asked again: {told}");
    assert_eq!(found(&scene.readable(ANN, "web:chat:one").await), SECRETS[2..], "what was said stays");
    let told = scene.say(ANN, "web:chat:one", "/forget me everything").await;
    assert!(told.contains("new conversation"), "{told}");
    scene.say(ANN, "web:chat:one", "hello").await;
    let prompt = scene.model.requests().last().unwrap().body["messages"].to_string();
    assert_eq!(found(&prompt), [""; 0], "the conversation begins anew: {prompt}");

    for round in 0..3 {
        for thread in ["web:chat:one", "web:chat:two"] {
            let read = scene.readable(ANN, thread).await;
            assert_eq!(found(&read), [""; 0], "round {round}, {thread}: {read}");
        }
        let index = scene.project.path().join(".ship/state/search.sqlite");
        if round == 0 {
            // Not even in the bytes of the index: no other person said this.
            for ending in ["", "-wal"] {
                let bytes = std::fs::read(format!("{}{ending}", index.display())).unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes);
                assert!(
                    !text.contains(&sentence(SECRETS[3])),
                    "search.sqlite{ending} has what was forgotten"
                );
            }
            assert_eq!(scene.project.run(&["memory", "reindex"]).code, Some(0));
        } else {
            for ending in ["", "-wal", "-shm"] {
                std::fs::remove_file(format!("{}{ending}", index.display())).ok();
            }
        }
    }
    let bobs = scene.readable(BOB, "web:chat:bob").await;
    assert_eq!(found(&bobs), [SECRETS[2]], "what others said is still found");
    // What is said from now on is found again.
    scene.clock.advance(Duration::from_secs(60));
    scene.say(ANN, "web:chat:one", &sentence("bathysphere")).await;
    assert_eq!(found(&scene.readable(ANN, "web:chat:one").await), ["bathysphere"]);
    scene.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_forgets_what_a_person_said_beside_a_daemon() {
    let model = FakeModel::start(Script::compute(reply)).await;
    let project = Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0 } }));
    let daemon = project.start().await;
    let say = async |text: &str| {
        let body = json!({ "instructions": text, "chatId": "c", "userId": "ann" });
        assert_eq!(daemon.execute(body).await["status"], "done");
        model.requests().last().unwrap().body["messages"].to_string()
    };
    say(&sentence("marzipan")).await;
    say("/new").await;
    assert_eq!(found(&say("find marzipan").await), ["marzipan"]);
    let scope = ["--scope", "api:user:ann", "--json"];
    let done = project.run(&[&["memory", "forget", "--all", "--history"], &scope[..]].concat());
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.contains("\"history\":true"), "{done:?}");
    say("/new").await;
    assert_eq!(found(&say("find marzipan").await), [""; 0]);
    assert_eq!(found(&say("list marzipan").await), [""; 0]);
    assert_eq!(found(&say("list").await), [""; 0]);
    daemon.kill();
}

/// The files in which anything is remembered, as one text.
fn files(project: &Project) -> String {
    let folder = project.path().join(".ship/memory");
    let mut all = String::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap()));
            }
        }
    }
    all
}

#[tokio::test]
async fn what_is_forgotten_is_in_no_file_although_the_process_was_killed_on_the_way() {
    let scope = ["--scope", ANN];
    for step in ["memory-ledger", "memory-core-removed", "memory-files"] {
        for whole in [false, true] {
            if !whole && step == "memory-core-removed" {
                continue;
            }
            let project = Project::with_model("http://127.0.0.1:1", json!({}));
            let core = format!("- {}\n", sentence(SECRETS[0]));
            project.write("core.md", &core);
            let file = project.path().join("core.md");
            let edit = ["memory", "edit", file.to_str().unwrap(), scope[0], scope[1]];
            assert_eq!(project.run(&edit).code, Some(0));
            let note = json!({ "id": "n1", "at": 1_795_032_000_000_i64, "text": sentence(SECRETS[1]) });
            project.write("import/notes.jsonl", &format!("{note}\n"));
            let folder = project.path().join("import");
            let import = ["memory", "import", folder.to_str().unwrap(), scope[0], scope[1]];
            assert_eq!(project.run(&import).code, Some(0));
            let shown = project.run(&["memory", "show", "--json", scope[0], scope[1]]).stdout;
            let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
            let id = shown["items"][0]["id"].as_str().unwrap();
            let what = if whole { "--all" } else { id };
            let mut command = project.command(&["memory", "forget", what, scope[0], scope[1]]);
            command.env("SHIPAGENT_FAIL_POINT", step);
            assert!(!command.output().unwrap().status.success(), "it does not die at {step}");
            // Any command may come next.
            let listed =
                project.run(&["memory", "search", "hidden door", "--json", scope[0], scope[1]]).stdout;
            let told = files(&project);
            assert!(!told.contains(&sentence(SECRETS[0])), "{step}, all: {whole}: {told}");
            assert!(!listed.contains(&sentence(SECRETS[0])), "{step}, all: {whole}: {listed}");
            assert_eq!(told.contains(&sentence(SECRETS[1])), !whole, "{step}: {told}");
            assert_eq!(listed.contains(&sentence(SECRETS[1])), !whole, "{step}: {listed}");
        }
    }
}
