//! The daemon with a minimal Bot API: messages and approvals still work.

use serde_json::{Value, json};

use crate::fakes::bare_telegram::{BareTelegram, TOKEN, Unknown};
use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply, Script};

const ANN: i64 = 7;
const GROUP: i64 = -1_001_000_000_001;

struct Scene {
    server: BareTelegram,
    project: Project,
    _model: FakeModel,
}

impl Scene {
    async fn new(unknown: Unknown, more: &[&'static str]) -> Self {
        let script = Script::compute(|seen| {
            let last =
                seen.body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
            match seen.last_user_text() {
                _ if last["role"] == "tool" => Reply::text("appended"),
                text if text.contains("append") => {
                    Reply::calls([("exec_shell", json!({ "command": "echo one >> log.txt" }))])
                }
                text => Reply::text(&format!("re: {text}")),
            }
        });
        let server = BareTelegram::start(unknown, more).await;
        let model = FakeModel::start(script).await;
        let config = json!({
            "language": "en",
            "adapters": { "telegram": { "botToken": TOKEN, "apiUrl": server.url(), "allowedUsers": [ANN],
                "allowedChats": [GROUP] } },
            "queue": { "mergeMs": 0 },
        });
        let project = Project::with_model(&model.url(), config);
        Self { server, project, _model: model }
    }

    fn lines(&self) -> usize {
        std::fs::read_to_string(self.project.path().join("log.txt")).map_or(0, |text| text.lines().count())
    }

    async fn until_sent(&self, chat: i64, words: &str, times: usize) {
        let count =
            |server: &BareTelegram| server.sent(chat).iter().filter(|text| text.contains(words)).count();
        self.server.wait_for(&format!("{words:?} {times} times"), |server| count(server) >= times).await;
    }
}

fn buttons(sent: &Value) -> Vec<String> {
    let rows = sent["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
    let all = rows.iter().flat_map(|row| row.as_array().unwrap());
    all.map(|button| button["callback_data"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_calls_are_enough_for_talking_and_for_deciding_by_button_and_by_words() {
    for (unknown, more) in [
        (Unknown::NotFound, &[] as &[&str]),
        (Unknown::NoRoute, &[]),
        (Unknown::NotImplemented, &["answerCallbackQuery"]),
        (Unknown::BadRequest, &[]),
        (Unknown::BadPage, &[]),
        (Unknown::Empty, &[]),
        (Unknown::Yes, &[]),
    ] {
        let scene = Scene::new(unknown, more).await;
        let _daemon = scene.project.start().await;
        scene.server.say(ANN, ANN, "hello");
        scene.until_sent(ANN, "re: hello", 1).await;
        for (round, how) in ["button", "approve"].into_iter().enumerate() {
            scene.server.say(ANN, ANN, "append");
            scene.until_sent(ANN, "may I do this?", round + 1).await;
            assert_eq!(scene.lines(), round, "{unknown:?}: nothing runs before it is allowed");
            let asked = scene.server.calls("sendMessage");
            let asked = asked.iter().rfind(|sent| !buttons(sent).is_empty()).unwrap().clone();
            let data = buttons(&asked);
            assert!(data.iter().all(|data| data.len() <= 64), "{data:?}");
            match how {
                "button" => scene.server.press(ANN, &data[0]),
                words => drop(scene.server.say(ANN, ANN, words)),
            }
            scene.until_sent(ANN, "appended", round + 1).await;
            assert_eq!(scene.lines(), round + 1, "{unknown:?}: {how}");
        }
        if matches!(unknown, Unknown::NotImplemented) {
            assert_eq!(scene.server.calls("answerCallbackQuery").len(), 1, "whoever presses is answered");
        }
        let sent = scene.server.sent(ANN);
        let times = |words: &str| sent.iter().filter(|text| *text == words).count();
        assert_eq!((times("re: hello"), times("appended")), (1, 2), "{unknown:?}: {sent:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_group_names_and_commands_are_understood_without_entities() {
    let scene = Scene::new(Unknown::NotFound, &[]).await;
    let _daemon = scene.project.start().await;
    scene.server.say(GROUP, 8, "only chatter");
    scene.server.say(GROUP, 8, "/status@other_bot");
    let asked = scene.server.say(GROUP, 8, "请问@Ship_Test_Bot，现在呢");
    scene.until_sent(GROUP, "re: 请问，现在呢", 1).await;
    let answer = scene.server.calls("sendMessage")[0].clone();
    assert_eq!(answer["reply_parameters"]["message_id"], asked, "also beyond 32 bits");
    assert_eq!(answer["link_preview_options"]["is_disabled"], true);
    scene.server.say(GROUP, 9, "/status");
    scene.until_sent(GROUP, "Idle", 1).await;
    scene.server.say(GROUP, 9, "/status@ship_test_bot");
    scene.until_sent(GROUP, "Idle", 2).await;
    assert_eq!(scene.server.sent(GROUP).len(), 3, "{:#?}", scene.server.sent(GROUP));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_says_is_taken_in_its_order_whatever_stands_between() {
    let scene = Scene::new(Unknown::NotFound, &[]).await;
    // The newest is first in a response, and some items are no updates.
    for number in 0..5 {
        scene.server.say(ANN, ANN, &format!("/id {number}"));
        scene.server.update(|id| json!({ "update_id": id, "message": { "message_id": [] } }));
        scene.server.update(|id| json!({ "update_id": id, "poll_answer": { "user": { "id": 1 } } }));
        scene.server.update(|_| json!("nothing"));
        scene.server.say(ANN, ANN, &number.to_string());
    }
    let daemon = scene.project.start().await;
    scene.server.wait_for("all", |server| server.sent(ANN).iter().any(|text| text.contains('4'))).await;
    let page = daemon.get_json("/api/threads/telegram:chat:7/messages?limit=100").await;
    let people = page["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
    let said: Vec<_> =
        people.map(|message| message["parts"][0]["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(said, ["0", "1", "2", "3", "4"]);
}
