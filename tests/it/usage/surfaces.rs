//! `/model` on every surface: chosen by a command, kept over kill -9.

use serde_json::json;

use super::{naming, with_deep};
use crate::fakes::daemon::merge;
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;
use crate::fakes::qq::QqFake;
use crate::fakes::qq::people::Place;
use crate::fakes::telegram::server::FakeTelegram;

const CHOSEN: &str = "From now on **deep** (fake-deep) answers";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_chooses_the_model_on_every_platform_and_it_survives_a_kill() {
    let (telegram, feishu, qq) = (FakeTelegram::start().await, Feishu::start().await, QqFake::start().await);
    let model = naming().await;
    let mut extra = json!({
        "owners": ["telegram:user:7", "feishu:user:ou_ada", "qq:user:U1"],
        "adapters": { "telegram": {
            "botToken": telegram.token(), "apiUrl": telegram.url(), "allowedUsers": [7] } },
    });
    merge(&mut extra, feishu.section(json!({})));
    merge(&mut extra, qq.config());
    let project = with_deep(&model.url(), extra);
    let ann = telegram.user(7, "Ann");
    let chat = telegram.private(&ann);
    let daemon = project.start().await;

    chat.say(&ann, "/model deep");
    let chosen = CHOSEN.replace("**", "");
    telegram.wait_for(|world| world.bot_texts(7).iter().any(|text| text.contains(&chosen))).await;
    feishu.write(&Message::private("ou_ada", "/model deep"));
    feishu
        .wait_for_words("oc_ada", &format!("{CHOSEN} this conversation. `/model default` undoes this."))
        .await;
    qq.says(Place::C2c("U1"), "/model deep");
    qq.text_with("U1", "answers this conversation").await;
    let web = json!({ "id": "m1", "text": "/model deep" });
    let sent = daemon.post("/api/threads/web:chat:w/messages", &web).send().await.unwrap();
    assert_eq!(sent.status(), 202);
    daemon
        .until("the choice in the console", async |daemon| {
            daemon.get_json("/api/threads/web:chat:w/model").await["chosen"] == "deep"
        })
        .await;
    let terminal = project.run(&["chat", "-t", "t", "/model deep"]);
    assert!(terminal.stdout.contains("fake-deep"), "{terminal:?}");
    daemon.kill();

    let daemon = project.start().await;
    chat.say(&ann, "hello");
    telegram.wait_for(|world| world.bot_texts(7).iter().any(|text| text == "fake-deep: hello")).await;
    feishu.write(&Message::private("ou_ada", "hello"));
    feishu.wait_for_words("oc_ada", "fake-deep: hello").await;
    qq.says(Place::C2c("U1"), "hello");
    qq.text_with("U1", "fake-deep: hello").await;
    let answer = json!({ "id": "m2", "text": "hello" });
    daemon.post("/api/threads/web:chat:w/messages", &answer).send().await.unwrap();
    daemon
        .until("the answer in the console", async |daemon| {
            let page = daemon.get_json("/api/threads/web:chat:w/messages").await;
            page.to_string().contains("fake-deep: hello")
        })
        .await;
    assert_eq!(project.run(&["chat", "-t", "t", "hello"]).stdout, "fake-deep: hello\n");
    let shown = project.run(&["chat", "-t", "t", "/model"]).stdout;
    assert!(shown.contains("deep") && shown.contains("default (fake)"), "{shown}");
}
