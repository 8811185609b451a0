//! A team: each agent has a project, a daemon, a model and an account of the same platform.

use std::io::{Read as _, Seek as _, Write as _};
use std::path::PathBuf;

use serde_json::{Value, json};
use shipagent::ports::{Clock as _, SystemClock};

use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;

pub(super) const GROUP: &str = "oc_group";

pub(super) struct Agent {
    pub(super) feishu: Feishu,
    pub(super) model: FakeModel,
    pub(super) project: Project,
    pub(super) daemon: Option<Daemon>,
}

/// Agents with a shared directory.
pub(super) struct Team {
    pub(super) agents: Vec<Agent>,
    pub(super) shared: tempfile::TempDir,
}

/// Whether a request asks whether to answer.
pub(super) fn is_gate(seen: &Seen) -> bool {
    system_of(seen).starts_with("You decide for an agent in a group chat")
}

pub(super) fn system_of(seen: &Seen) -> &str {
    seen.body["messages"][0]["content"].as_str().unwrap_or_default()
}

/// The texts of the messages of a prompt, without the system's.
pub(super) fn texts_of(seen: &Seen) -> Vec<String> {
    let messages = seen.body["messages"].as_array().unwrap();
    messages
        .iter()
        .skip(1)
        .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Answers every message with its words, and every gate with this.
pub(super) fn echo(name: &'static str, gate: &'static str) -> Script {
    Script::compute(move |seen: &Seen| {
        if is_gate(seen) {
            return Reply::text(gate);
        }
        Reply::text(&format!("{name} says: {}", seen.last_user_text()))
    })
}

impl Agent {
    /// The prompts for answers.
    pub(super) fn prompts(&self) -> Vec<Seen> {
        self.model.requests().into_iter().filter(|seen| !is_gate(seen)).collect()
    }

    pub(super) fn gates(&self) -> usize {
        self.model.requests().iter().filter(|seen| is_gate(seen)).count()
    }

    pub(super) fn said(&self) -> Vec<String> {
        self.feishu.look(|world| world.posted.iter().map(|posted| world.words(posted)).collect())
    }

    /// The last line about a message in the thread of a chat.
    pub(super) fn line_of(&self, chat: &str, id: &str) -> Option<String> {
        let file = self.project.thread_file(&format!("feishu:chat:{chat}"));
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().rfind(|line| line.contains(&format!("\"id\":\"{id}\""))).map(str::to_owned)
    }

    pub(super) async fn start(&mut self) {
        self.daemon = Some(self.project.start().await);
    }
}

impl Team {
    /// Starts a daemon for each of these names and models.
    pub(super) async fn start(scripts: Vec<(&str, Script)>, extra: Value) -> Self {
        let shared = tempfile::tempdir().unwrap();
        let mut agents = Vec::new();
        for (number, (name, script)) in scripts.into_iter().enumerate() {
            let (feishu, model) = (Feishu::start().await, FakeModel::start(script).await);
            feishu.count_from((u64::try_from(number).unwrap() + 1) << 20);
            let mut config = feishu.section(json!({ "groups": { "followupSecs": 0 } }));
            merge(
                &mut config,
                json!({
                    "name": name, "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 60 },
                    "memory": { "auto": "off", "recall": false },
                    "groups": { "sharedDir": shared.path().join("rooms"), "gate": { "settleMs": 100 } },
                }),
            );
            merge(&mut config, extra.clone());
            let project = Project::with_model(&model.url(), config);
            let mut agent = Agent { feishu, model, project, daemon: None };
            agent.start().await;
            agents.push(agent);
        }
        Self { agents, shared }
    }

    /// A person writes in the group: every account gets it under the same id. `named` are the agents it mentions.
    pub(super) fn write(&self, chat: &str, sender: &str, text: &str, named: &[usize]) -> String {
        let plain = Message::group(chat, sender, text).now();
        let id = format!("om_shared_{}", uuid::Uuid::new_v4().simple());
        for (number, agent) in self.agents.iter().enumerate() {
            let message = if named.contains(&number) { plain.clone().mentioning() } else { plain.clone() };
            agent.feishu.write_as(&message, &id);
        }
        id
    }

    /// Waits until an agent has said this.
    pub(super) async fn hears(&self, agent: usize, words: &str) {
        self.agents[agent]
            .feishu
            .wait_for(words, |world| {
                world.posted.iter().any(|posted| world.words(posted) == words).then_some(())
            })
            .await;
    }

    /// Waits until a message is stored in the thread of every agent.
    pub(super) async fn stored(&self, chat: &str, id: &str) {
        for number in 0..self.agents.len() {
            self.stored_by(number, chat, id).await;
        }
    }

    /// Waits until a message is stored in the thread of one agent.
    pub(super) async fn stored_by(&self, agent: usize, chat: &str, id: &str) {
        let file = self.agents[agent].project.thread_file(&format!("feishu:chat:{chat}"));
        until("a stored message", || std::fs::read_to_string(&file).is_ok_and(|text| text.contains(id)))
            .await;
    }

    /// Waits until the others are told that an agent said this so many times. The platform shows a message earlier.
    pub(super) async fn told(&self, words: &str, times: usize) {
        until(words, || self.outbound().iter().filter(|line| line["text"] == words).count() >= times).await;
    }

    /// The lines of the agents about what they said.
    pub(super) fn outbound(&self) -> Vec<Value> {
        let mut lines = self.lines();
        lines.retain(|line| line["via"] == "outbound" && line["kind"] == "said");
        lines
    }

    /// Waits until every agent is in the roster.
    pub(super) async fn known(&self) {
        let agents = self.shared.path().join("rooms/agents");
        let cards = || std::fs::read_dir(&agents).into_iter().flatten().flatten();
        let is_card = |file: &std::fs::DirEntry| file.path().extension().is_some_and(|end| end == "json");
        until("the roster", || cards().filter(is_card).count() >= self.agents.len()).await;
    }

    /// All lines of the shared log.
    pub(super) fn lines(&self) -> Vec<Value> {
        let texts = self.segments().into_iter().map(|path| std::fs::read_to_string(path).unwrap_or_default());
        let lines = |text: String| text.lines().map(serde_json::from_str::<Value>).collect::<Vec<_>>();
        texts.flat_map(lines).flatten().collect()
    }

    pub(super) fn segments(&self) -> Vec<PathBuf> {
        let rooms = std::fs::read_dir(self.shared.path().join("rooms/feishu/-")).into_iter().flatten();
        let segments =
            |room: std::fs::DirEntry| std::fs::read_dir(room.path()).into_iter().flatten().flatten();
        rooms.flatten().flat_map(segments).map(|segment| segment.path()).collect()
    }

    /// Rewrites every line of the shared log in place.
    pub(super) fn change_lines(&self, change: impl Fn(&mut Value)) {
        for path in self.segments() {
            let mut file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
            file.lock().unwrap();
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            let mut lines: Vec<Value> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            lines.iter_mut().for_each(&change);
            let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
            file.set_len(0).unwrap();
            file.rewind().unwrap();
            file.write_all(lines.as_bytes()).unwrap();
        }
    }

    /// Appends a line to the log of a room that exists.
    pub(super) fn forge(&self, line: &Value) {
        self.tear(&format!("{line}\n"));
    }

    /// A claim on a message by an agent that is not there.
    pub(super) fn forge_claim(&self, key: &str, by: &str, seconds_ago: i64) {
        self.forge(&json!({
            "v": 1, "kind": "claim", "key": key, "at": SystemClock.now().as_millis() - seconds_ago * 1_000,
            "author": { "id": by, "name": by, "kind": "agent" }, "score": 99, "via": "outbound", "by": by,
        }));
    }

    /// Puts an agent into the roster, without a daemon.
    pub(super) fn enroll(&self, id: &str) {
        let card = json!({ "id": id, "name": id, "at": SystemClock.now().as_millis() + 3_600_000 });
        let path = self.shared.path().join(format!("rooms/agents/{id}.json"));
        std::fs::File::create(path).unwrap().write_all(card.to_string().as_bytes()).unwrap();
    }

    /// Appends bytes to the log of a room that exists.
    pub(super) fn tear(&self, bytes: &str) {
        let segment = self.segments().pop().unwrap();
        let mut file = std::fs::OpenOptions::new().append(true).open(segment).unwrap();
        file.write_all(bytes.as_bytes()).unwrap();
    }

    /// Waits until every agent tells in the roster that it is in this chat.
    pub(super) async fn in_room(&self, chat: &str) {
        let agents = self.shared.path().join("rooms/agents");
        let told = || {
            let files = std::fs::read_dir(&agents).into_iter().flatten().flatten().map(|file| file.path());
            let files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
            let cards = files.filter_map(|path| std::fs::read_to_string(path).ok());
            cards.filter(|card| card.contains(&format!("\"feishu:chat:{chat}\""))).count()
        };
        until("the room in the roster", || told() >= self.agents.len()).await;
    }
}

pub(super) use crate::learning::scene::until;
