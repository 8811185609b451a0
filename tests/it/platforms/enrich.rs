//! A step between an accepted message and its turn: `examples/enrich.rs`, killed during the step and after it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::json;

use super::example;
use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;

/// Notes each run, waits for the gate where the text says `slow` (30 seconds at most), and prints the text's length.
const STEP: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
text=$(cat)
echo "$text" >> runs
case "$text" in *slow*)
    tries=0
    until [ -e gate ] || [ "$tries" -ge 600 ]; do sleep 0.05; tries=$((tries + 1)); done;;
esac
echo "checked: ${#text}"
"#;

struct Scene {
    feishu: Feishu,
    model: FakeModel,
    project: Project,
    folder: PathBuf,
}

impl Scene {
    async fn new() -> Self {
        let script = Script::compute(|seen| Reply::text(&format!("re: {}", seen.last_user_text())));
        let (feishu, model) = (Feishu::start().await, FakeModel::start(script).await);
        let mut config = feishu.section(json!({}));
        merge(&mut config, json!({ "queue": { "mergeMs": 0 }, "language": "en" }));
        let project = Project::with_model(&model.url(), config);
        let folder = project.path().join("step");
        project.write("step/run", STEP);
        std::fs::set_permissions(folder.join("run"), Permissions::from_mode(0o755)).unwrap();
        Self { feishu, model, project, folder }
    }

    async fn start(&self) -> Daemon {
        let mut command = example("enrich", &self.project, &["run"]);
        command.env("ENRICH_PROGRAM", self.folder.join("run"));
        Daemon::start(command, self.project.path()).await
    }

    /// How often the step ran for a text.
    fn runs(&self, text: &str) -> usize {
        let all = std::fs::read_to_string(self.folder.join("runs")).unwrap_or_default();
        all.lines().filter(|line| *line == text).count()
    }

    /// How many stored messages have the result of the step.
    fn stored_results(&self) -> usize {
        let inbox = std::fs::read_dir(self.project.path().join(".ship/state/feishu/inbox"));
        let entries =
            inbox.into_iter().flatten().filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok());
        entries.filter(|entry| entry.contains("\"enriched\":[\"program\"]")).count()
    }

    /// Waits until the bot has sent these words in a chat.
    async fn until_said(&self, chat: &str, words: &str) {
        let said = |text: &String| text.contains(words);
        self.feishu.wait_for(words, |world| world.said(chat).iter().any(said).then_some(())).await;
    }

    async fn say(&self, text: &str) {
        let id = self.feishu.write(&Message::private("ou_ada", text));
        self.feishu.acknowledgement(&format!("{id}-first")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_repeats_a_step_without_a_result_and_no_other_and_nothing_waits_for_it_but_its_thread() {
    let scene = Scene::new().await;
    let daemon = scene.start().await;
    // Both are durable when they are acknowledged; the second waits for the first, with its result stored.
    scene.say("slow one").await;
    scene.say("two").await;
    daemon.until("both steps", async |_| scene.runs("slow one") == 1 && scene.stored_results() == 1).await;
    scene.say("/status").await;
    scene.until_said("oc_ada", "Idle").await;
    scene.feishu.write(&Message::group("oc_group", "ou_bo", "three").mentioning());
    scene.until_said("oc_group", "three").await;
    assert_eq!(scene.runs("two"), 1);

    daemon.kill();
    let daemon = scene.start().await;
    daemon.until("the step again", async |_| scene.runs("slow one") == 2).await;
    daemon.kill();
    scene.project.write("step/gate", "");
    let daemon = scene.start().await;
    scene.until_said("oc_ada", "checked: 3").await;
    assert_eq!((scene.runs("slow one"), scene.runs("two")), (3, 1), "a stored result is not made again");
    daemon.until("an empty inbox", async |_| scene.stored_results() == 0).await;

    let thread = std::fs::read_to_string(scene.project.thread_file("feishu:chat:oc_ada")).unwrap();
    for text in ["slow one\\n\\nchecked: 8", "two\\n\\nchecked: 3"] {
        let lines = thread.lines().filter(|line| line.contains("\"role\":\"user\"") && line.contains(text));
        assert_eq!(lines.count(), 1, "{text} in {thread}");
    }
    let asked = scene.model.requests().pop().unwrap().body["messages"].to_string();
    assert!(asked.find("slow one").unwrap() < asked.find("checked: 3").unwrap(), "{asked}");
}
