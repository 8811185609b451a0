//! QQ, end to end: the real binary with a fake platform with budgets, windows and sessions.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::qq::people::Place;
use crate::fakes::qq::rules::{Fault, Rules};
use crate::fakes::qq::{APP_ID, QqFake, SECRET};

mod files;
mod hook;
mod kill;
mod rights;
mod troubles;

const ANN: Place = Place::C2c("U1");
const GROUP: Place = Place::Group("G1", "M1");
const CHANNEL: Place = Place::Channel("C1", "70");
const DM: Place = Place::Dm("S7", "70");

fn echo(seen: &Seen) -> Reply {
    Reply::text(&format!("echo {}", seen.last_user_text()))
}

/// A project on the fake platform, with its parts.
struct Environment {
    qq: QqFake,
    model: FakeModel,
    project: Project,
}

impl Environment {
    async fn new(script: impl Into<Script>, extra: Value) -> Self {
        let (qq, model) = (QqFake::start().await, FakeModel::start(script).await);
        let mut config = qq.config();
        merge(&mut config, json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 60 } }));
        merge(&mut config, extra);
        let project = Project::with_model(&model.url(), config);
        Self { qq, model, project }
    }

    async fn echo() -> Self {
        Self::new(Script::compute(echo), json!({})).await
    }
}

/// Runs a command, then reports its result.
fn runs(command: &str) -> Script {
    let command = command.to_owned();
    Script::compute(move |seen| {
        let messages = seen.body["messages"].as_array().cloned().unwrap_or_default();
        match messages.last() {
            Some(last) if last["role"] == "tool" => Reply::text("finished"),
            _ => Reply::calls([("exec_shell", json!({ "command": command }))]),
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_place_gets_its_answer_where_it_asked() {
    let world = Environment::echo().await;
    let _daemon = world.project.start().await;
    for (place, scene) in [(ANN, "users"), (GROUP, "groups"), (CHANNEL, "channels"), (DM, "dms")] {
        let id = world.qq.says(place, "hello");
        let sent = world.qq.text_with(place.chat(), "echo hello").await;
        assert_eq!((sent.scene.as_str(), sent.answers.as_str()), (scene, id.as_str()), "{place:?}");
        let file = world.project.thread_file(&format!("qq:chat:{}", place.chat()));
        assert!(std::fs::read_to_string(file).unwrap().contains("hello"));
    }
    let stray: Vec<(String, Value, u64)> =
        world.qq.look(|rules| rules.tries.iter().filter(|(_, _, code)| *code != 0).cloned().collect());
    assert_eq!(stray, [], "nothing was refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_gets_a_code_and_nothing_else() {
    let world = Environment::echo().await;
    let _daemon = world.project.start().await;
    world.qq.says(Place::C2c("STRANGER"), "let me in");
    let told = world.qq.text_with("STRANGER", "shipagent access approve").await;
    assert!(!told.text.contains("echo"), "{}", told.text);
    world.qq.says(Place::Group("ELSEWHERE", "M9"), "anybody?");
    world.qq.says(ANN, "after that");
    world.qq.text_with("U1", "echo after that").await;
    assert_eq!(world.qq.look(|rules| rules.texts("ELSEWHERE")), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_are_obeyed_in_private_and_in_groups() {
    let world = Environment::echo().await;
    let _daemon = world.project.start().await;
    for place in [ANN, GROUP] {
        world.qq.says(place, "/status");
        world.qq.text_with(place.chat(), "Idle").await;
    }
    assert_eq!(world.model.requests().len(), 0);
}

/// The number of the question in a chat, and the data of its buttons.
async fn question(qq: &QqFake, chat: &str) -> (String, Vec<String>) {
    let sent = qq.text_with(chat, "may I do this?").await;
    let rows = sent.body["keyboard"]["content"]["rows"].as_array().cloned().unwrap_or_default();
    let buttons = rows.iter().flat_map(|row| row["buttons"].as_array().cloned().unwrap_or_default());
    let data = buttons.map(|button| button["action"]["data"].as_str().unwrap().to_owned()).collect();
    (sent.text, data)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_in_words_where_there_are_no_buttons() {
    let world = Environment::new(runs("touch made"), json!({})).await;
    let _daemon = world.project.start().await;
    world.qq.says(ANN, "make it");
    let (words, buttons) = question(&world.qq, "U1").await;
    assert!(words.contains("touch made") && words.contains("approve A1"), "{words}");
    assert_eq!(buttons, Vec::<String>::new());
    assert!(!world.project.path().join("made").exists());
    world.qq.says(ANN, "approve A1");
    world.qq.text_with("U1", "finished").await;
    assert!(world.project.path().join("made").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_button_decides_also_after_a_restart_and_only_for_those_who_may() {
    let world =
        Environment::new(runs("touch made"), json!({ "adapters": { "qq": { "markdown": true } } })).await;
    world.qq.rule(|rules| rules.markdown = true);
    let daemon = world.project.start().await;
    world.qq.says(GROUP, "make it");
    let (_, buttons) = question(&world.qq, "G1").await;
    assert_eq!(buttons.len(), 2, "yes and no");

    let wrong = world.qq.presses(Place::Group("G1", "M2"), &buttons[0]);
    let code = acknowledged(&world.qq, &wrong).await;
    assert_ne!(code, 0, "another member may not decide");
    world.qq.text_with("G1", "You may not decide A1").await;
    let elsewhere = world.qq.presses(Place::C2c("U1"), &buttons[0]);
    assert_eq!(acknowledged(&world.qq, &elsewhere).await, 4, "a button works only where it was shown");
    assert!(!world.project.path().join("made").exists());

    daemon.kill();
    let _daemon = world.project.start().await;
    let right = world.qq.presses(GROUP, &buttons[0]);
    assert_eq!(acknowledged(&world.qq, &right).await, 0);
    world.qq.text_with("G1", "finished").await;
    assert!(world.project.path().join("made").exists());
    let again = world.qq.presses(GROUP, &buttons[1]);
    assert_eq!(acknowledged(&world.qq, &again).await, 3, "it was decided before");
    world.qq.text_with("G1", "was approved").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unclear_reply_is_asked_back_with_buttons_that_decide_that_question() {
    let world =
        Environment::new(runs("touch made"), json!({ "adapters": { "qq": { "markdown": true } } })).await;
    world.qq.rule(|rules| rules.markdown = true);
    let _daemon = world.project.start().await;
    world.qq.says(GROUP, "make it");
    question(&world.qq, "G1").await;
    world.qq.says(GROUP, "approve maybe");
    let back = world.qq.text_with("G1", "Do you mean").await;
    let buttons = back.body["keyboard"]["content"]["rows"][0]["buttons"].clone();
    assert_eq!(buttons[0]["render_data"]["label"], "✅ Approve A1", "{buttons}");
    let yes = buttons[0]["action"]["data"].as_str().unwrap();
    let wrong = world.qq.presses(Place::Group("G1", "M2"), yes);
    assert_ne!(acknowledged(&world.qq, &wrong).await, 0, "another member may not decide");
    assert!(!world.project.path().join("made").exists());
    let right = world.qq.presses(GROUP, yes);
    assert_eq!(acknowledged(&world.qq, &right).await, 0);
    world.qq.text_with("G1", "finished").await;
    assert!(world.project.path().join("made").exists());
    let again = world.qq.presses(GROUP, buttons[1]["action"]["data"].as_str().unwrap());
    assert_eq!(acknowledged(&world.qq, &again).await, 3, "it was decided before");
    world.qq.text_with("G1", "was approved").await;
}

async fn acknowledged(qq: &QqFake, interaction: &str) -> u64 {
    let found =
        |rules: &Rules| rules.acknowledged.iter().find(|(id, _)| id == interaction).map(|(_, code)| *code);
    qq.wait_for("an acknowledgement", found).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markdown_that_is_not_granted_becomes_plain_words() {
    let world =
        Environment::new(runs("touch made"), json!({ "adapters": { "qq": { "markdown": true } } })).await;
    let _daemon = world.project.start().await;
    world.qq.says(ANN, "make it");
    let (words, _) = question(&world.qq, "U1").await;
    assert!(words.contains("approve A1"), "{words}");
    world.qq.says(ANN, "deny A1");
    world.qq.text_with("U1", "finished").await;
    let refused = world.qq.look(|rules| rules.tries.iter().filter(|(_, _, code)| *code == 304_036).count());
    assert_eq!(refused, 1, "it is not tried again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_picture_from_elsewhere_is_sent_as_a_link() {
    let answer =
        "Look: ![chart](https://evil.example/?q=data) and [![b](https://evil.example/b)](https://e.x)";
    let world =
        Environment::new([Reply::text(answer)], json!({ "adapters": { "qq": { "markdown": true } } })).await;
    world.qq.rule(|rules| rules.markdown = true);
    let _daemon = world.project.start().await;
    world.qq.says(ANN, "draw");
    let sent = world.qq.text_with("U1", "Look:").await;
    assert!(!sent.text.contains("!["), "{}", sent.text);
    assert!(sent.text.contains("[chart](https://evil.example/?q=data)"), "{}", sent.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_voice_come_in_and_files_go_out() {
    let send = Script::compute(|seen: &Seen| {
        let messages = seen.body["messages"].as_array().cloned().unwrap_or_default();
        match messages.last() {
            Some(last) if last["role"] == "tool" => Reply::text("there it is"),
            // A message with a file has more than one text.
            Some(last) if last.to_string().contains("please send the chart") => {
                Reply::calls([("send_file", json!({ "path": "chart.png", "caption": "the chart" }))])
            }
            _ => Reply::text("got it"),
        }
    });
    let world = Environment::new(send, json!({})).await;
    let png = [0x89, b'P', b'N', b'G', 13, 10, 26, 10, 1, 2, 3];
    #[expect(clippy::disallowed_methods, reason = "a scratch file of a test")]
    std::fs::write(world.project.path().join("chart.png"), png).unwrap();
    let _daemon = world.project.start().await;

    let url = world.qq.file("in.txt", b"what is in it");
    let attached = json!({ "attachments": [{ "content_type": "file", "filename": "in.txt", "url": url }] });
    world.qq.says_with(ANN, "look", attached);
    world.qq.text_with("U1", "got it").await;
    let stored = std::fs::read_dir(world.project.path().join(".ship/files/qq%3Achat%3AU1")).unwrap();
    let stored: Vec<_> = stored.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(std::fs::read(&stored[0]).unwrap(), b"what is in it");

    let wav = world.qq.file("v.wav", b"RIFF");
    let voice = json!({ "attachments": [{ "content_type": "voice", "filename": "v.amr", "url": "http://127.0.0.1:9/x",
        "voice_wav_url": wav, "asr_refer_text": "please send the chart" }] });
    world.qq.says_with(ANN, "", voice);
    let upload = world.qq.wait_for("an upload", |rules| rules.uploads.first().cloned()).await;
    assert_eq!((upload.bytes.as_slice(), upload.name.as_str()), (png.as_slice(), "chart.png"));
    let shown = world.qq.text_with("U1", "the chart").await;
    assert_eq!(
        (&shown.body["msg_type"], &shown.body["media"]["file_info"]),
        (&json!(7), &json!(upload.info))
    );
    world.qq.text_with("U1", "there it is").await;

    let gone = json!({ "attachments": [{ "content_type": "file", "filename": "gone.txt",
        "url": format!("{}/files/none", world.qq.look(|rules| rules.base.clone())) }] });
    world.qq.says_with(ANN, "and this", gone);
    world.qq.text_with("U1", "I could not fetch gone.txt").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_answer_is_complete_and_in_order() {
    let lines: Vec<String> =
        (0..400).map(|n| format!("line {n} of a long answer, with words in it")).collect();
    let answer = lines.join("\n\n");
    let world = Environment::new(Reply::text(&answer), json!({})).await;
    let _daemon = world.project.start().await;
    world.qq.says(ANN, "tell me all");
    let rest = world.qq.wait_for("the end", |rules| {
        let whole = rules.texts("U1").join("\n\n");
        let file = rules.uploads.first().map(|upload| String::from_utf8(upload.bytes.clone()).unwrap());
        (whole.contains("line 399 ") || file.is_some()).then_some((whole, file))
    });
    let (said, file) = rest.await;
    let whole = file.unwrap_or(said);
    let found: Vec<&str> = whole.lines().filter(|line| line.starts_with("line ")).collect();
    assert_eq!(found, lines.iter().map(String::as_str).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_at_the_bot_tells_its_name_or_what_is_wrong() {
    use shipagent::adapters::qq::{QqEvents, QqFinding, QqOptions, check};
    shipagent::http_client::install_tls();
    let qq = QqFake::start().await;
    let base = qq.look(|rules| rules.base.clone());
    let options = |secret: &str| QqOptions {
        app_id: APP_ID.to_owned(),
        app_secret: secret.into(),
        api_url: base.clone(),
        token_url: format!("{base}/app/getAppAccessToken"),
        sandbox: false,
        events: QqEvents::Gateway,
        markdown: None,
        inbound: shipagent::adapters::chat::inbound::InboundOptions::default(),
    };
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let found = check(&options(SECRET), http.clone()).await;
    let good =
        [QqFinding::Bot { name: "shipbot".to_owned() }, QqFinding::Gateway { sessions_left: Some(998) }];
    assert_eq!(found, good);
    let found = check(&options("wrong"), http).await;
    assert!(
        matches!(found.as_slice(), [QqFinding::BadCredentials { what }] if what.contains("100016")),
        "{found:?}"
    );
}
