//! The agent creates tasks in a conversation, in English and Chinese, on every platform: a person approves, the task runs
//! at its time, its result comes back there, and an answer to it goes on in that conversation.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, Unit};
use serde_json::{Value, json};
use shipagent::ports::Clock as _;

use crate::fakes::daemon::{Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;
use crate::fakes::in_process::{HandClock, InProcess};
use crate::fakes::qq::QqFake;
use crate::fakes::qq::people::Place;
use crate::fakes::telegram::people::Chat;
use crate::fakes::telegram::server::FakeTelegram;

pub(super) const ANN: i64 = 7;
pub(super) const GROUP: i64 = -100_500;
const BOT: &str = "@ship_test_bot";

/// The platforms; they outlive daemons.
pub(super) struct Scene {
    pub(super) telegram: FakeTelegram,
    pub(super) feishu: Feishu,
    pub(super) qq: QqFake,
    pub(super) forum: Chat,
    pub(super) topic: i64,
    pub(super) project: Project,
    _model: FakeModel,
}

/// Where a person speaks with the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    TelegramDirect,
    TelegramGroup,
    TelegramTopic,
    FeishuDirect,
    FeishuGroup,
    FeishuTopic,
    QqDirect,
    QqGroup,
    QqChannel,
}

impl Scene {
    pub(super) async fn new(script: Script, extra: Value) -> Self {
        let (telegram, feishu, qq) =
            (FakeTelegram::start().await, Feishu::start().await, QqFake::start().await);
        let model = FakeModel::start(script).await;
        let forum = telegram.group(GROUP).with_topics();
        let topic = forum.topic("Deploys");
        let mut config = json!({
            "queue": { "mergeMs": 0 },
            "owners": [format!("telegram:user:{ANN}"), "feishu:user:ou_ada", "qq:user:U1", "qq:user:M1", "qq:user:70"],
            "adapters": { "telegram": { "botToken": telegram.token(), "apiUrl": telegram.url(),
                "allowedUsers": [ANN], "allowedChats": [GROUP] } },
        });
        merge(&mut config, feishu.section(json!({ "allowedChats": ["oc_group"] })));
        merge(&mut config, qq.config());
        merge(
            &mut config,
            json!({ "adapters": { "qq": { "allowedChats": ["G1", "C1"], "markdown": true } } }),
        );
        merge(&mut config, extra);
        qq.rule(|rules| rules.markdown = true);
        let project = Project::with_model(&model.url(), config);
        Self { telegram, feishu, qq, forum, topic, project, _model: model }
    }

    pub(super) fn say(&self, spot: Spot, words: &str) {
        let ann = self.telegram.user(ANN, "Ann");
        match spot {
            Spot::TelegramDirect => {
                self.telegram.private(&ann).say(&ann, words);
            }
            Spot::TelegramGroup => {
                self.forum.say(&ann, &format!("{BOT} {words}"));
            }
            Spot::TelegramTopic => {
                self.forum.say_in_topic(&ann, self.topic, &format!("{BOT} {words}"));
            }
            Spot::FeishuDirect => drop(self.feishu.write(&Message::private("ou_ada", words))),
            Spot::FeishuGroup => {
                drop(self.feishu.write(&Message::group("oc_group", "ou_ada", words).mentioning()));
            }
            Spot::FeishuTopic => {
                let message = Message::group("oc_group", "ou_ada", words).mentioning().in_topic("omt_1");
                drop(self.feishu.write(&message));
            }
            Spot::QqDirect => drop(self.qq.says(Place::C2c("U1"), words)),
            Spot::QqGroup => drop(self.qq.says(Place::Group("G1", "M1"), words)),
            Spot::QqChannel => drop(self.qq.says(Place::Channel("C1", "70"), words)),
        }
    }

    /// The texts that the agent has sent to the chat of a place.
    fn texts(&self, spot: Spot) -> Vec<String> {
        match spot {
            Spot::TelegramDirect => self.telegram.read(|world| world.bot_texts(ANN)),
            Spot::TelegramGroup | Spot::TelegramTopic => {
                let topic = (spot == Spot::TelegramTopic).then_some(self.topic);
                self.telegram.read(|world| {
                    let mine =
                        world.visible(GROUP).into_iter().filter(|seen| seen.by_bot && seen.topic == topic);
                    mine.map(|seen| seen.text).collect()
                })
            }
            Spot::FeishuDirect => self.feishu.look(|world| world.said("oc_ada")),
            Spot::FeishuGroup | Spot::FeishuTopic => {
                self.feishu.look(|world| world.said_in_topics("oc_group", spot == Spot::FeishuTopic))
            }
            Spot::QqDirect => self.qq.look(|rules| rules.texts("U1")),
            Spot::QqGroup => self.qq.look(|rules| rules.texts("G1")),
            Spot::QqChannel => self.qq.look(|rules| rules.texts("C1")),
        }
    }

    /// Waits for a text of the agent that contains all of these words.
    pub(super) async fn hear(&self, spot: Spot, words: &[&str]) -> String {
        let found = async {
            loop {
                let fits = |text: &String| words.iter().all(|word| text.contains(word));
                if let Some(text) = self.texts(spot).into_iter().find(fits) {
                    return text;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(crate::fakes::daemon::PATIENCE, found).await;
        waited.unwrap_or_else(|_| {
            panic!("{spot:?}: no {words:?} in {:#?}\n{}", self.texts(spot), self.project.log())
        })
    }
}

/// The word of the person after one of these.
fn word_after<'a>(text: &'a str, verbs: &[&str]) -> Option<&'a str> {
    let mut words = text.split_whitespace();
    words.find(|word| verbs.contains(word))?;
    words.next().map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()))
}

/// Creates a task on request, works in its runs, and goes on from results. Reminders come once, reports every day.
fn assistant(seen: &Seen, due: Timestamp) -> Reply {
    let messages = seen.body["messages"].as_array().unwrap();
    let text = seen.last_user_text();
    let last = messages.last().unwrap();
    if let Some(name) = word_after(text, &["work-on"]) {
        return Reply::text(&format!("Report for {name}."));
    }
    if let Some(name) = word_after(text, &["explain", "解释"]) {
        let known = seen.body.to_string().contains(&format!("for {name}."));
        return Reply::text(&if known { format!("continued {name}") } else { format!("lost {name}") });
    }
    let Some(name) = word_after(text, &["remind", "提醒", "report", "汇报"]) else {
        return Reply::text("hello");
    };
    if last["role"] == "tool" {
        return Reply::text(&format!("Saved {name}: {}", last["content"].as_str().unwrap_or_default()));
    }
    let arguments = match text.contains("report") || text.contains("汇报") {
        true => {
            let daily = due.strftime("%-M %-H * * *").to_string();
            json!({ "id": name, "prompt": format!("work-on {name}"), "schedule": daily, "timezone": "UTC" })
        }
        false => {
            json!({ "id": name, "message": format!("Reminder for {name}."), "at": due.to_string(), "timezone": "UTC" })
        }
    };
    Reply::calls([("task_upsert", arguments)])
}

/// A wish, in the language of the person, and the name of its task.
const WISHES: [(Spot, &str, &str); 9] = [
    (Spot::TelegramDirect, "remind", "tgdm"),
    (Spot::TelegramGroup, "report", "tggroup"),
    (Spot::TelegramTopic, "请 汇报", "tgtopic"),
    (Spot::FeishuDirect, "请 每天 汇报", "fsdm"),
    (Spot::FeishuGroup, "remind", "fsgroup"),
    (Spot::FeishuTopic, "report", "fstopic"),
    (Spot::QqDirect, "请 明天 提醒", "qqdm"),
    (Spot::QqGroup, "report", "qqgroup"),
    (Spot::QqChannel, "请 汇报", "qqchannel"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_of_a_conversation_run_at_their_time_and_come_back_to_it_on_every_platform() {
    let clock = HandClock::running();
    let soon = Timestamp::now().checked_add(SignedDuration::from_mins(4)).unwrap();
    let due = soon.round(Unit::Minute).unwrap();
    let scene = Scene::new(Script::compute(move |seen| assistant(seen, due)), json!({})).await;
    let daemon = InProcess::start(&scene.project, &clock);
    let scene = &scene;
    let create = async |(spot, ask, name): (Spot, &'static str, &'static str)| {
        scene.say(spot, &format!("{ask} {name}"));
        let question = scene.hear(spot, &["A", "task_upsert", name]).await;
        let chinese = ask.starts_with('请');
        let next = if chinese { "接下来：" } else { "Next: " };
        assert!(question.contains(&format!("{next}{}", due.strftime("%Y-%m-%d"))), "{question}");
        let limited = matches!(spot, Spot::QqDirect | Spot::QqGroup | Spot::QqChannel);
        let warned = question.contains("may wait until somebody writes") || question.contains("主动消息");
        assert_eq!(warned, limited, "QQ alone limits messages that nobody asked for: {question}");
        scene.say(spot, if chinese { "同意" } else { "approve" });
        scene.hear(spot, &[&format!("Saved {name}")]).await;
    };
    futures_util::future::join_all(WISHES.map(create)).await;
    let now = clock.now().as_millis();
    let left = u64::try_from(due.as_millisecond() - now).unwrap_or_default();
    clock.advance(Duration::from_millis(left + 500));
    // The scheduler looks at the clock when a file changes.
    scene.project.write(".ship/tasks/other.md", "---\nevery: 10h\n---\nlook");
    let answer = async |(spot, ask, name): (Spot, &'static str, &'static str)| {
        scene.hear(spot, &[&format!(" for {name}.")]).await;
        let explain = if ask.starts_with('请') { "解释" } else { "explain" };
        scene.say(spot, &format!("{explain} {name}"));
        scene.hear(spot, &[&format!("continued {name}")]).await;
    };
    futures_util::future::join_all(WISHES.map(answer)).await;
    daemon.stop().await;
    let listed: Value =
        serde_json::from_str(&scene.project.run(&["tasks", "list", "--json"]).stdout).unwrap();
    for (spot, ask, name) in WISHES {
        let task = listed["tasks"].as_array().unwrap().iter().find(|task| task["id"] == name).unwrap();
        let daily = ask.contains("report") || ask.contains("汇报");
        let status = if daily { "waiting" } else { "over" };
        assert_eq!((&task["status"], &task["last"]["outcome"]), (&json!(status), &json!("done")), "{task}");
        assert!(task["author"].as_str().unwrap().contains(":user:"), "{spot:?}: {task}");
    }
}
