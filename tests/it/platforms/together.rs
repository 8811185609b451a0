//! All platforms in one daemon, with the console: each is answered, and a failure of one does not affect the others.

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;
use crate::fakes::qq::QqFake;
use crate::fakes::qq::people::Place;
use crate::fakes::telegram::server::FakeTelegram;

const ANN: i64 = 7;

/// The platforms and the model; they outlive daemons.
struct Scene {
    telegram: FakeTelegram,
    feishu: Feishu,
    qq: QqFake,
    model: FakeModel,
}

impl Scene {
    async fn new() -> Self {
        let echo = Script::compute(|seen: &Seen| Reply::text(&format!("echo {}", seen.last_user_text())));
        Self {
            telegram: FakeTelegram::start().await,
            feishu: Feishu::start().await,
            qq: QqFake::start().await,
            model: FakeModel::start(echo).await,
        }
    }

    fn project(&self, extra: Value) -> Project {
        let mut config = json!({ "language": "en", "queue": { "mergeMs": 0 }, "adapters": { "telegram": {
            "botToken": self.telegram.token(), "apiUrl": self.telegram.url(), "allowedUsers": [ANN] } } });
        merge(&mut config, self.feishu.section(json!({})));
        merge(&mut config, self.qq.config());
        merge(&mut config, extra);
        Project::with_model(&self.model.url(), config)
    }
}

async fn telegram_answers(telegram: &FakeTelegram, words: &str) {
    let ann = telegram.user(ANN, "Ann");
    telegram.private(&ann).say(&ann, words);
    let answer = format!("echo {words}");
    telegram.wait_for(|world| world.bot_texts(ANN).contains(&answer)).await;
}

async fn feishu_answers(feishu: &Feishu, words: &str) {
    feishu.write(&Message::private("ou_ada", words));
    feishu.wait_for_words("oc_ada", &format!("echo {words}")).await;
}

async fn qq_answers(qq: &QqFake, words: &str) {
    qq.says(Place::C2c("U1"), words);
    qq.text_with("U1", &format!("echo {words}")).await;
}

async fn web_answers(daemon: &Daemon, words: &str) {
    let answer = daemon.execute(json!({ "instructions": words, "chatId": "web" })).await;
    assert_eq!(answer["output"], format!("echo {words}"), "{answer}");
}

/// Waits until the metrics report these adapter states.
async fn until_up(daemon: &Daemon, expected: [(&str, u8); 4]) {
    daemon
        .until(&format!("{expected:?}"), async |daemon: &Daemon| {
            let text = daemon.get("/metrics").send().await.unwrap().text().await.unwrap();
            expected.iter().all(|(name, up)| {
                text.contains(&format!("shipagent_adapter_up{{adapter=\"{name}\"}} {up}\n"))
            })
        })
        .await;
}

async fn is_ready(daemon: &Daemon) -> bool {
    daemon.get("/readyz").send().await.unwrap().status() == 200
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_platform_is_answered_and_one_that_goes_away_takes_no_other_with_it() {
    let scene = Scene::new().await;
    let project = scene.project(json!({}));
    let daemon = project.start().await;
    until_up(&daemon, [("web", 1), ("telegram", 1), ("feishu", 1), ("qq", 1)]).await;
    tokio::join!(
        telegram_answers(&scene.telegram, "one"),
        feishu_answers(&scene.feishu, "one"),
        qq_answers(&scene.qq, "one"),
        web_answers(&daemon, "one"),
    );
    let Scene { telegram, feishu, qq, model } = scene;
    drop(qq);
    tokio::join!(
        telegram_answers(&telegram, "two"),
        feishu_answers(&feishu, "two"),
        web_answers(&daemon, "two"),
    );
    drop(telegram);
    tokio::join!(feishu_answers(&feishu, "three"), web_answers(&daemon, "three"));
    drop(feishu);
    web_answers(&daemon, "four").await;
    assert!(is_ready(&daemon).await, "what it is still asked, it can still answer");
    assert!(daemon.stop().await.success());
    assert_eq!(model.requests().len(), 4 + 3 + 2 + 1, "nothing was asked twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_platform_that_takes_its_token_back_is_told_of_and_the_others_run() {
    let scene = Scene::new().await;
    let project = scene.project(json!({}));
    let daemon = project.start().await;
    until_up(&daemon, [("web", 1), ("telegram", 1), ("feishu", 1), ("qq", 1)]).await;
    let token = scene.telegram.token();
    scene.telegram.reconfigure(|account| account.token = "123456:AAnew0123456789abcdefghijklmnopqrs".into());
    // A pending poll is answered, and the next one begins.
    let ann = scene.telegram.user(ANN, "Ann");
    scene.telegram.private(&ann).say(&ann, "are you there");
    until_up(&daemon, [("web", 1), ("telegram", 0), ("feishu", 1), ("qq", 1)]).await;
    tokio::join!(
        feishu_answers(&scene.feishu, "one"),
        qq_answers(&scene.qq, "one"),
        web_answers(&daemon, "one"),
    );
    assert!(is_ready(&daemon).await, "what it is still asked, it can still answer");
    let info = daemon.get_json("/api/info").await;
    let adapters = info["adapters"].as_array().unwrap();
    let telegram = adapters.iter().find(|adapter| adapter["name"] == "telegram").unwrap();
    assert_eq!(telegram["state"], "failed", "{info}");
    assert!(!info.to_string().contains(&token), "{info}");
    assert!(daemon.stop().await.success());
}
