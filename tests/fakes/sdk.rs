//! The AI SDK in a Node process: as a validator of thread files, and as a remote-controlled chat client.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::daemon::{Daemon, PATIENCE, Project, TOKEN};

fn check(arguments: &[&str]) -> Command {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk");
    assert!(
        dir.join("node_modules/ai").exists(),
        "the AI SDK is not installed: run ./tests/run, which installs it"
    );
    let mut command = Command::new("node");
    command.arg(dir.join("check.mjs")).args(arguments).kill_on_drop(true);
    // A proxy must not be used between two programs on the same machine.
    for name in [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
        "NODE_USE_ENV_PROXY",
    ] {
        command.env_remove(name);
    }
    command
}

/// The SDK's reading of one thread file.
#[derive(Debug)]
pub(crate) struct Judgement {
    /// The messages as its validator parsed them.
    pub(crate) messages: Vec<Value>,
    /// The messages of a chat-completions request.
    pub(crate) request: Vec<Value>,
}

/// Has the SDK read these files; fails on an error.
pub(crate) async fn judge(files: &[PathBuf]) -> Vec<Judgement> {
    let names: Vec<&str> =
        std::iter::once("threads").chain(files.iter().map(|file| file.to_str().unwrap())).collect();
    let output = check(&names).stdin(Stdio::null()).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let judged: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    judged
        .into_iter()
        .map(|mut one| {
            assert!(one["fault"].is_null(), "{}: {}", one["file"], one["fault"].as_str().unwrap_or_default());
            let mut list = |key: &str| serde_json::from_value(one[key].take()).unwrap();
            Judgement { messages: list("messages"), request: list("request") }
        })
        .collect()
}

/// Has the SDK read every thread file of a project.
pub(crate) async fn judge_project(project: &Project) -> Vec<Judgement> {
    let entries = std::fs::read_dir(project.path().join(".ship/threads")).unwrap();
    let files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    judge(&files).await
}

/// The SDK's chat client, as in a page.
#[derive(Debug)]
pub(crate) struct ChatClient {
    orders: ChildStdin,
    shown: Lines<BufReader<ChildStdout>>,
    _node: Child,
}

impl ChatClient {
    /// A client with the history of this chat.
    pub(crate) async fn open(daemon: &Daemon, chat: &str) -> Self {
        let mut command = check(&["client", &daemon.base]);
        let mut node =
            command.env("TOKEN", TOKEN).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let orders = node.stdin.take().unwrap();
        let shown = BufReader::new(node.stdout.take().unwrap()).lines();
        let mut client = Self { orders, shown, _node: node };
        client.finish(json!({ "do": "open", "chat": chat })).await;
        client
    }

    /// Sends an order without waiting for its end.
    pub(crate) async fn order(&mut self, order: Value) {
        self.orders.write_all(format!("{order}\n").as_bytes()).await.unwrap();
    }

    /// The next state of the client that matches.
    pub(crate) async fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                let line = self.shown.next_line().await.unwrap().expect("the client ended");
                last = serde_json::from_str(&line).unwrap();
                assert!(last["fault"].is_null(), "{last}");
                if wanted(&last) {
                    return;
                }
            }
        });
        assert!(found.await.is_ok(), "waited in vain for {what}; shown was {last:#}");
        last
    }

    /// Sends an order and waits for its end; returns the state then.
    pub(crate) async fn finish(&mut self, order: Value) -> Value {
        let name = order["do"].clone();
        self.order(order).await;
        self.until(&format!("the end of {name}"), |shown| shown["done"] == name).await
    }

    /// Waits until the newest message has this text.
    pub(crate) async fn until_newest(&mut self, text: &str) -> Value {
        self.until(text, |shown| newest(shown) == text).await
    }
}

/// The text of the newest message.
pub(crate) fn newest(shown: &Value) -> String {
    let parts = shown["messages"].as_array().and_then(|all| all.last()).map(|last| &last["parts"]);
    let parts = parts.and_then(Value::as_array).cloned().unwrap_or_default();
    parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str()).collect()
}
