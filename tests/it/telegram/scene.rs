//! The common setup: a fake Telegram, a model that echoes, and a project for both.

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::telegram::account::Account;
use crate::fakes::telegram::server::FakeTelegram;

/// The bot's username, as people write it.
pub(crate) const BOT: &str = "@ship_test_bot";

/// A Telegram, a model and a project.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) fake: FakeTelegram,
    pub(crate) model: FakeModel,
    pub(crate) project: Project,
}

impl Scene {
    /// Ann (7) may write in private; the groups -1001, -1002 and -55 are served.
    pub(crate) async fn new(extra: Value) -> Self {
        let echo = Script::compute(|seen| Reply::text(&format!("re: {}", seen.last_user_text())));
        Self::with_model(echo, extra).await
    }

    /// The same with another model.
    pub(crate) async fn with_model(script: impl Into<Script>, extra: Value) -> Self {
        let fake = FakeTelegram::for_bot(Account::default()).await;
        let model = FakeModel::start(script).await;
        let mut config = json!({
            "adapters": { "telegram": { "botToken": fake.token(), "apiUrl": fake.url(), "allowedUsers": [7],
                "allowedChats": [-1001, -1002, -55] } },
            "owners": ["telegram:user:1"],
            "queue": { "mergeMs": 0 },
        });
        merge(&mut config, extra);
        let project = Project::with_model(&model.url(), config);
        Self { fake, model, project }
    }

    /// Waits until the bot's messages in a chat are these.
    pub(crate) async fn until_said(&self, chat: i64, texts: &[&str]) {
        self.fake.wait_for(|world| world.bot_texts(chat) == texts).await;
    }
}

/// The messages of a thread.
pub(crate) async fn messages(daemon: &Daemon, thread: &str) -> Vec<Value> {
    let page = daemon.get_json(&format!("/api/threads/{thread}/messages?limit=100")).await;
    page["messages"].as_array().unwrap().clone()
}

/// The texts of people in a thread.
pub(crate) async fn said(daemon: &Daemon, thread: &str) -> Vec<String> {
    let all = messages(daemon, thread).await;
    let people = all.iter().filter(|message| message["role"] == "user");
    people.map(|message| text_of(message).to_owned()).collect()
}

/// The text of a message.
pub(crate) fn text_of(message: &Value) -> &str {
    let parts = message["parts"].as_array().unwrap();
    let text = parts.iter().find(|part| part["type"] == "text");
    text.and_then(|part| part["text"].as_str()).unwrap_or_default()
}
