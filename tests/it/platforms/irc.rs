//! A platform outside the crate: `examples/irc.rs`, run as its own program, with a real IRC server.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::example;
use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script};
use crate::fakes::irc::{IrcPerson, IrcServer};

const CHANNEL: &str = "#ship";

fn command(project: &Project, args: &[&str]) -> Command {
    example("irc", project, args)
}

fn run(project: &Project, args: &[&str]) -> (Option<i32>, String) {
    let output = command(project, args).stdin(Stdio::null()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

struct Scene {
    server: IrcServer,
    model: FakeModel,
    project: Project,
}

impl Scene {
    /// A server, a model that echoes, and a project with Ann as a user.
    async fn new(gate: &Latch) -> Self {
        let gate = gate.clone();
        let script = Script::compute(move |seen| {
            let last =
                seen.body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
            match seen.last_user_text() {
                _ if last["role"] == "tool" => Reply::text("appended"),
                text if text.contains("append") => {
                    Reply::calls([("exec_shell", json!({ "command": "echo one >> log.txt" }))])
                }
                text if text.contains("long") => Reply::text(&"汉字é".repeat(400)),
                text if text.contains("slow") => Reply::text("re: slow").behind(&gate),
                text => {
                    let known =
                        ["hello", "tell", "again", "after"].into_iter().find(|word| text.contains(word));
                    Reply::text(&format!("re: {}", known.unwrap_or("?")))
                }
            }
        });
        let (server, model) = (IrcServer::start().await, FakeModel::start(script).await);
        let config = json!({ "language": "en", "queue": { "mergeMs": 0 }, "adapters": { "irc": {
            "host": "127.0.0.1", "port": server.port(), "nick": "shipbot", "channels": [CHANNEL],
            "allowedUsers": ["Ann"], "groups": { "followupSecs": 0 } } } });
        let project = Project::with_model(&model.url(), config);
        Self { server, model, project }
    }

    async fn start(&self) -> Daemon {
        Daemon::start(command(&self.project, &["run"]), self.project.path()).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_messages_and_mentions_are_answered_and_other_lines_of_a_channel_are_not() {
    let scene = Scene::new(&Latch::new()).await;
    let _daemon = scene.start().await;
    let mut ann = IrcPerson::join(&scene.server, "Ann", &[CHANNEL]).await;
    ann.until_present("shipbot", CHANNEL).await;
    ann.say("shipbot", "hello").await;
    let answer = ann.until("re: hello").await;
    assert_eq!((answer.from.as_str(), answer.target.as_str()), ("shipbot", "Ann"));

    let mut bob = IrcPerson::join(&scene.server, "bob", &[CHANNEL]).await;
    bob.say(CHANNEL, "again, this is for nobody").await;
    bob.say(CHANNEL, "ann: tell me something else").await;
    bob.say(CHANNEL, "shipbot: tell me").await;
    let answer = bob.until("re: ").await;
    assert_eq!((answer.target.as_str(), answer.text.as_str()), (CHANNEL, "re: tell"));
    bob.say(CHANNEL, "and what do you say after that, Shipbot?").await;
    bob.until("re: ").await;
    assert_eq!(bob.received.len(), 2, "only the two mentions were answered: {:?}", bob.received);

    // Each piece fits into a line of the protocol, and no character is cut.
    ann.say("shipbot", "long").await;
    let text = "汉字é".repeat(400);
    let mut pieces = String::new();
    while pieces.len() < text.len() {
        let line = ann.until("汉").await;
        assert!(line.bytes <= 512, "{line:?}");
        pieces.push_str(&line.text);
    }
    assert_eq!(pieces, text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_are_paired_and_an_approval_is_given_in_words() {
    let scene = Scene::new(&Latch::new()).await;
    let daemon = scene.start().await;
    let mut ann = IrcPerson::join(&scene.server, "ann", &[CHANNEL]).await;
    ann.until_present("shipbot", CHANNEL).await;
    let lines =
        || std::fs::read_to_string(scene.project.path().join("log.txt")).map_or(0, |log| log.lines().count());

    ann.say("shipbot", "append a line").await;
    ann.until("may I do this").await;
    ann.until("echo one >> log.txt").await;
    ann.until("Answer `").await;
    assert_eq!(lines(), 0);
    ann.say("shipbot", "approve").await;
    ann.until("appended").await;
    assert_eq!(lines(), 1);

    let mut eve = IrcPerson::join(&scene.server, "eve", &[]).await;
    eve.say("shipbot", "hello").await;
    eve.until("shipagent access approve").await;
    daemon.let_in_whoever_asks().await;
    eve.say("shipbot", "hello again").await;
    eve.until("re: ").await;
    let asked = scene.model.requests().iter().filter(|seen| seen.last_user_text() == "hello").count();
    assert_eq!(asked, 0, "what a stranger said reached the model");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_between_accepting_and_answering_loses_nothing() {
    let gate = Latch::new();
    let scene = Scene::new(&gate).await;
    let daemon = scene.start().await;
    let mut ann = IrcPerson::join(&scene.server, "ann", &[CHANNEL]).await;
    ann.until_present("shipbot", CHANNEL).await;
    ann.say("shipbot", "slow").await;
    daemon.until("the model to be asked", async |_| !scene.model.requests().is_empty()).await;
    daemon.kill();
    gate.open();
    let _daemon = scene.start().await;
    ann.until("re: slow").await;
    ann.say("shipbot", "after").await;
    ann.until("re: after").await;
    assert_eq!(ann.count("re: slow"), 1, "{:?}", ann.received);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nick_in_use_and_a_server_that_goes_away_are_no_obstacle() {
    let mut scene = Scene::new(&Latch::new()).await;
    let holder = IrcPerson::join(&scene.server, "shipbot", &[]).await;
    let _daemon = scene.start().await;
    let mut ann = IrcPerson::join(&scene.server, "ann", &[CHANNEL]).await;
    ann.until_present("shipbot_", CHANNEL).await;
    ann.say("shipbot_", "hello").await;
    ann.until("re: hello").await;

    drop((ann, holder));
    scene.server.restart().await;
    let mut ann = IrcPerson::join(&scene.server, "ann", &[CHANNEL]).await;
    ann.until_present("shipbot", CHANNEL).await;
    ann.say(CHANNEL, "shipbot: tell me").await;
    ann.until("re: tell").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_section_is_checked_described_and_probed_like_every_other() {
    let scene = Scene::new(&Latch::new()).await;
    let (code, said) = run(&scene.project, &["config", "check"]);
    assert!(code == Some(0) && said.ends_with("ship.json is valid\n"), "{said}");

    let (code, schema) = run(&scene.project, &["config", "schema"]);
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let section = &schema["properties"]["adapters"]["properties"]["irc"];
    assert_eq!(code, Some(0));
    assert_eq!(section["description"], "IRC, by a nick of yours.");
    assert_eq!(section["properties"]["port"]["maximum"], 65535);

    let (_, said) = run(&scene.project, &["doctor"]);
    assert!(said.contains("✓ irc         the bot is shipbot at 127.0.0.1"), "{said}");
    let (_, said) = run(&scene.project, &["init", "--help"]);
    assert!(said.contains("irc") && said.contains("telegram"), "{said}");

    let path = scene.project.path().join("ship.json");
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let wrong = json!({ "owners": ["irk:user:ann"], "adapters": { "irc": { "chanels": [], "port": 0 } } });
    merge(&mut config, wrong);
    scene.project.write("ship.json", &config.to_string());
    let (code, said) = run(&scene.project, &["config", "check"]);
    assert_eq!(code, Some(3), "{said}");
    for line in [
        "adapters.irc.chanels: unknown key; did you mean \"channels\"?",
        "adapters.irc.port: 0 is out of range; use a number from 1 to 65535",
        "names a platform there is not; did you mean \"irc:user:ann\"?",
    ] {
        assert!(said.contains(line), "{line} is not in {said}");
    }
    let unknown = scene.project.run(&["config", "check"]);
    assert!(
        unknown.stdout.contains("adapters.irc: unknown key; the keys here are telegram, feishu, qq, web"),
        "the program of the crate knows nothing of it: {unknown:?}"
    );
}
