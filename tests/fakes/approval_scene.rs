//! A daemon whose model runs the commands it is told to, over HTTP: the setup of most approval tests.

use serde_json::{Value, json};

use super::daemon::{Daemon, Project, merge};
use super::fake_model::{FakeModel, Reply, Script, Seen};
use super::prompt::check_prompts;

/// Runs the requested commands, all in one step, and reports their results. Any other text is repeated.
pub(crate) fn obedient(seen: &Seen) -> Reply {
    let messages = seen.body["messages"].as_array().unwrap();
    let results = messages.iter().rev().take_while(|message| message["role"] == "tool");
    let results: Vec<&str> = results.filter_map(|message| message["content"].as_str()).collect();
    if !results.is_empty() {
        return Reply::text(&format!("{} results", results.len()));
    }
    let Some(commands) = seen.last_user_text().strip_prefix("run ") else {
        return Reply::text(&format!("echo {}", seen.last_user_text()));
    };
    let commands: Vec<String> = serde_json::from_str(commands).unwrap();
    Reply::calls(commands.iter().map(|command| ("exec_shell", json!({ "command": command }))))
}

/// A project, its model and its daemon.
pub(crate) struct Scene {
    pub(crate) model: FakeModel,
    pub(crate) project: Project,
    pub(crate) daemon: Daemon,
}

impl Scene {
    pub(crate) async fn new(extra: Value) -> Self {
        Self::with(obedient, extra).await
    }

    pub(crate) async fn with(reply: impl FnMut(&Seen) -> Reply + Send + 'static, extra: Value) -> Self {
        let model = FakeModel::start(Script::compute(reply)).await;
        let mut config = json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 120 } });
        merge(&mut config, extra);
        let project = Project::with_model(&model.url(), config);
        project.write("out/log.txt", "");
        let daemon = project.start().await;
        Self { model, project, daemon }
    }

    pub(crate) async fn killed_and_started(self) -> Self {
        let Self { model, project, daemon } = self;
        daemon.kill();
        let daemon = project.start().await;
        Self { model, project, daemon }
    }

    /// Sends a message and waits until it is answered, or until an approval is pending.
    pub(crate) async fn say(&self, text: &str, id: &str) -> Value {
        self.say_as("ada", "a", text, id).await
    }

    pub(crate) async fn say_as(&self, user: &str, chat: &str, text: &str, id: &str) -> Value {
        let body = json!({ "instructions": text, "chatId": chat, "messageId": id, "userId": user });
        self.daemon.execute(body).await
    }

    /// Sends a message without waiting for its answer.
    pub(crate) async fn drop_in(&self, chat: &str, text: &str, id: &str) {
        let body =
            json!({ "instructions": text, "chatId": chat, "messageId": id, "userId": "ada", "timeoutMs": 1 });
        self.daemon.execute(body).await;
    }

    /// Requests commands that each need approval; returns the approvals in order.
    pub(crate) async fn ask(&self, commands: &[&str]) -> Vec<Value> {
        let answer = self.say(&format!("run {}", json!(commands)), "m1").await;
        assert_eq!(answer["status"], "awaiting-approval", "{answer}");
        let asked = answer["approvals"].as_array().unwrap().clone();
        assert_eq!(asked.len(), commands.len(), "{answer}");
        asked
    }

    pub(crate) async fn decide(&self, approval: &Value, decision: &str) -> (u16, String) {
        let path = format!("/api/approvals/{}", approval["id"].as_str().unwrap());
        let answer = self.daemon.post(&path, &json!({ "decision": decision })).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    pub(crate) async fn pending(&self) -> Vec<Value> {
        let pending = self.daemon.get_json("/api/approvals?state=pending").await;
        pending["approvals"].as_array().unwrap().clone()
    }

    /// The current state of an approval.
    pub(crate) async fn stands(&self, approval: &Value) -> Value {
        let all = self.daemon.get_json("/api/approvals").await;
        all["approvals"].as_array().unwrap().iter().find(|one| one["id"] == approval["id"]).unwrap().clone()
    }

    /// The outcome of a message, once the thread is idle.
    pub(crate) async fn outcome(&self, chat: &str, id: &str) -> Value {
        self.daemon.until_state(&format!("api:chat:{chat}"), "idle").await;
        let answer = self.say_as("ada", chat, "again", id).await;
        assert_eq!(answer["status"], "done", "{answer}");
        answer
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.project.path().join("out/log.txt")).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Stops it, and checks all prompts of the model.
    pub(crate) async fn end(self) {
        check_prompts(&self.model.requests());
        assert!(self.daemon.stop().await.success());
    }
}
