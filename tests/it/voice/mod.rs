//! Voice: recordings become text, on every platform, through real sockets and with real speech.

mod decisions;
mod doctor;
mod failures;
mod programs;
mod spoken;
mod telegram;
mod transcripts;

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;

/// A daemon on Feishu whose model answers `re: ` and the last words.
struct Scene {
    feishu: Feishu,
    model: FakeModel,
    project: Project,
}

fn echo() -> Script {
    Script::compute(|seen| Reply::text(&format!("re: {}", seen.last_user_text())))
}

/// The `voice` section with a recogniser at this address.
fn stt(url: &str) -> Value {
    json!({ "voice": { "stt": { "provider": "openai", "baseUrl": url, "apiKey": "stt-key-canary", "model": "tiny" } } })
}

impl Scene {
    async fn new(script: Script, extra: Value) -> Self {
        let (feishu, model) = (Feishu::start().await, FakeModel::start(script).await);
        let mut config = feishu.section(json!({}));
        merge(&mut config, json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 60 } }));
        merge(&mut config, extra);
        let project = Project::with_model(&model.url(), config);
        Self { feishu, model, project }
    }

    async fn start(&self) -> Daemon {
        self.project.start().await
    }

    fn record(&self, ogg: &[u8]) -> String {
        let key = self.feishu.keep_file("voice.opus", ogg);
        let content = json!({ "file_key": key, "duration": 2000 });
        self.feishu.write(&Message::private("ou_ada", "").of_kind("audio", content))
    }

    /// Waits until the bot has sent these words in a chat.
    async fn until_said(&self, chat: &str, words: &str) {
        let said = |text: &String| text.contains(words);
        self.feishu.wait_for(words, |world| world.said(chat).iter().any(said).then_some(())).await;
    }

    /// The messages of people in the direct chat.
    fn messages(&self) -> Vec<Value> {
        messages_of(&self.project, "feishu:chat:oc_ada")
    }
}

/// The messages of people in a thread, in their last version.
fn messages_of(project: &Project, thread: &str) -> Vec<Value> {
    let file = std::fs::read_to_string(project.thread_file(thread)).unwrap_or_default();
    let mut messages: Vec<Value> = Vec::new();
    for line in file.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let message = line.get("message").unwrap_or(&line);
        if message["role"] == "user" {
            messages.retain(|known| known["id"] != message["id"]);
            messages.push(message.clone());
        }
    }
    messages
}

/// The text of a message, and the address of its recording.
fn content_of(message: &Value) -> (String, String) {
    let parts = message["parts"].as_array().unwrap();
    let text = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    let url = parts.iter().find_map(|part| part["url"].as_str()).unwrap_or_default();
    (text, url.to_owned())
}

/// The lines of the usage ledger for this purpose.
fn charges(project: &Project, purpose: &str) -> Vec<Value> {
    let logs = std::fs::read_dir(project.path().join(".ship/logs")).unwrap();
    let names = logs.map(|entry| entry.unwrap().path());
    let ledgers = names.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("usage-"));
    let text: String = ledgers.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["purpose"] == purpose).collect()
}
