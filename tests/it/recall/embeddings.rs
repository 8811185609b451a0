//! Search by meaning, with an embedding server: it finds what no word has in common, and words alone when it is down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::scene::{reply, result, texts};
use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::in_process::{HandClock, InProcess};
use crate::learning::scene::until;

/// Words of one meaning share an axis.
const MEANINGS: [&[&str]; 3] = [&["car", "automobile", "vehicle"], &["dog", "puppy"], &["home", "flat"]];

fn vector(text: &str) -> Vec<f64> {
    let lower = text.to_lowercase();
    let mut vector: Vec<f64> = MEANINGS
        .iter()
        .map(|words| f64::from(u8::from(words.iter().any(|word| lower.contains(word)))))
        .collect();
    vector.push(0.1);
    vector
}

fn embeddings(seen: &Seen) -> Reply {
    let inputs = seen.body["input"].as_array().unwrap();
    assert!(inputs.len() <= 64, "{}", inputs.len());
    let item = |(index, text): (usize, &Value)| json!({ "index": index, "embedding": vector(text.as_str().unwrap()) });
    Reply::json(&json!({ "data": inputs.iter().enumerate().map(item).collect::<Vec<_>>() }))
}

struct Scene {
    model: FakeModel,
    project: Project,
    down: Arc<AtomicBool>,
}

impl Scene {
    async fn new(embeddings_section: Value) -> Self {
        let down = Arc::new(AtomicBool::new(false));
        let broken = down.clone();
        let model = FakeModel::start(Script::compute(move |seen| match seen.path.ends_with("/embeddings") {
            true if broken.load(Ordering::SeqCst) => Reply::status(500, "down"),
            true => embeddings(seen),
            false => reply(seen),
        }))
        .await;
        let mut memory = json!({ "auto": "off" });
        if !embeddings_section.is_null() {
            memory["embeddings"] = embeddings_section;
        }
        let project =
            Project::with_model(&model.url(), json!({ "queue": { "mergeMs": 0 }, "memory": memory }));
        for (name, scope) in [("anns", "web:user:ann"), ("bobs", "web:user:bob")] {
            let lines: Vec<String> = (0..100)
                .map(|number| {
                    let text = match number {
                        50 => format!("{name} new automobile is blue"),
                        _ => format!("{name} remark {number} about the weather"),
                    };
                    json!({ "id": format!("{name}-{number}"), "at": 1_795_032_000_000_i64 + number, "author": "x", "text": text })
                        .to_string()
                })
                .collect();
            project.write(&format!("{name}/notes.jsonl"), &format!("{}\n", lines.join("\n")));
            let folder = project.path().join(name);
            let done = project.run(&["memory", "import", folder.to_str().unwrap(), "--scope", scope]);
            assert_eq!(done.code, Some(0), "{done:?}");
        }
        Self { model, project, down }
    }

    fn embedded(&self) -> usize {
        let calls = self.model.requests().into_iter().filter(|seen| seen.path.ends_with("/embeddings"));
        calls.map(|seen| seen.body["input"].as_array().unwrap().len()).sum()
    }

    async fn find(&self, daemon: &InProcess, query: &str) -> Vec<String> {
        daemon.say("c", "/new").await;
        daemon.say("c", &format!("find {query}")).await;
        let chats: Vec<Seen> =
            self.model.requests().into_iter().filter(|seen| !seen.path.ends_with("/embeddings")).collect();
        texts(&result(&chats))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_embeddings_a_text_is_found_by_its_meaning_and_only_in_its_scope() {
    let scene = Scene::new(json!({ "model": "tiny", "dimensions": 8 })).await;
    let daemon = InProcess::start(&scene.project, &HandClock::evening());
    // The first search makes the index, and the follower embeds it behind it.
    scene.find(&daemon, "vehicle").await;
    until("the vectors", || scene.embedded() > 100).await;
    let mut found = scene.find(&daemon, "vehicle").await;
    for _ in 0..50 {
        if found.iter().any(|text| text.contains("automobile")) {
            break;
        }
        found = scene.find(&daemon, "vehicle").await;
    }
    assert!(found.contains(&"anns new automobile is blue".to_owned()), "{found:?}");
    assert!(!found.iter().any(|text| text.contains("bobs")), "{found:?}");
    let sent: Vec<Seen> =
        scene.model.requests().into_iter().filter(|seen| seen.path.ends_with("/embeddings")).collect();
    assert_eq!((&sent[0].body["model"], &sent[0].body["dimensions"]), (&json!("tiny"), &json!(8)));
    assert_eq!(
        sent[0].authorization.as_deref(),
        Some("Bearer sk-test-canary-123456"),
        "same server, same key"
    );

    // Words still count, and a server that is down is done without: no error, one warning.
    assert!(scene.find(&daemon, "remark 77 weather").await[0].contains("remark 77"));
    scene.down.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        let found = scene.find(&daemon, "remark 78 weather").await;
        assert!(found[0].contains("remark 78"), "{found:?}");
    }
    // What was forgotten is not found by its meaning either.
    scene.down.store(false, Ordering::SeqCst);
    daemon.say("c", "/forget me yes").await;
    let found = scene.find(&daemon, "vehicle").await;
    assert!(!found.iter().any(|text| text.contains("automobile")), "{found:?}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_section_or_with_it_disabled_nothing_is_embedded() {
    for section in [Value::Null, json!({ "enabled": false, "model": "tiny" })] {
        let scene = Scene::new(section.clone()).await;
        let daemon = InProcess::start(&scene.project, &HandClock::evening());
        assert!(scene.find(&daemon, "vehicle").await.iter().all(|text| !text.contains("automobile")));
        assert!(scene.find(&daemon, "automobile").await[0].contains("automobile"));
        daemon.stop().await;
        assert_eq!(scene.embedded(), 0, "{section}");
    }
}
