//! The result of a request over HTTP, delivered to a chat: once over kill -9, and only where its author may send.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::fakes::daemon::{PATIENCE, Project, TOKEN, merge};
use crate::fakes::dice::{Dice, seed};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;

const CHAT: &str = "oc_ada";

fn echo(seen: &Seen) -> Reply {
    Reply::text(&format!("echo {}", seen.unanswered_texts())).after(Duration::from_millis(5))
}

/// Feishu, where Ada has spoken to the agent, and a project for it.
async fn scene() -> (Feishu, FakeModel, Project) {
    let feishu = Feishu::start().await;
    let model = FakeModel::start(Script::compute(echo)).await;
    let mut config = feishu.section(json!({}));
    merge(&mut config, json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 120 } }));
    let project = Project::with_model(&model.url(), config);
    let daemon = project.start().await;
    feishu.write(&Message::private("ou_ada", "hello"));
    feishu.wait_for_words(CHAT, "echo hello").await;
    assert!(daemon.stop().await.success());
    (feishu, model, project)
}

/// Sends a request to the running daemon until it is answered.
async fn execute(body: Value, daemons: watch::Receiver<String>) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    loop {
        let url = format!("{}/api/execute", daemons.borrow().as_str());
        let request = http.post(url).bearer_auth(TOKEN).header("content-type", "application/json");
        let sent = request.body(body.to_string()).timeout(PATIENCE).send().await;
        if let Ok(answer) = sent
            && answer.status() == 200
            && answer.text().await.is_ok_and(|text| text.contains(r#""status":"done""#))
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_arrive_once_in_a_chat_over_thirty_kills() {
    let seed = seed();
    println!("SHIPAGENT_TEST_SEED={seed}");
    let mut dice = Dice::new(seed);
    let (feishu, _model, project) = scene().await;
    let mut daemon = project.start().await;
    let (running, daemons) = watch::channel(daemon.base.clone());
    let mut requests = JoinSet::new();
    for number in 0..30 {
        let words = format!("report {number}.");
        let body = json!({ "instructions": words, "messageId": format!("r{number}"), "chatId": "reports",
            "deliverTo": [format!("feishu:chat:{CHAT}")] });
        requests.spawn(execute(body, daemons.clone()));
        tokio::time::sleep(Duration::from_micros(dice.roll(250_000))).await;
        daemon.kill();
        daemon = project.start().await;
        running.send_replace(daemon.base.clone());
    }
    requests.join_all().await;
    let shown = |number: usize, said: &[String]| {
        said.iter().filter(|text| text.contains(&format!("report {number}."))).count()
    };
    let all = |said: &[String]| (0..30).all(|number| shown(number, said) > 0);
    let said = feishu.wait_for("all results", |world| Some(world.said(CHAT)).filter(|said| all(said))).await;
    for number in 0..30 {
        assert_eq!(shown(number, &said), 1, "report {number} in {said:#?}");
    }
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_in_the_chat_goes_on_from_the_result_and_strangers_have_nothing_sent_there() {
    let (feishu, model, project) = scene().await;
    let daemon = project.start().await;
    let (_running, daemons) = watch::channel(daemon.base.clone());
    let target = format!("feishu:chat:{CHAT}");
    let body = |words: &str, user: Option<&str>| {
        json!({ "instructions": words, "messageId": words.replace(' ', "-"), "userId": user,
            "deliverTo": [target] })
    };
    execute(body("from eve", Some("eve")), daemons.clone()).await;
    execute(body("disk full", None), daemons).await;
    feishu.wait_for_words(CHAT, "echo disk full").await;
    feishu.write(&Message::private("ou_ada", "which disk?"));
    feishu.wait_for_words(CHAT, "echo which disk?").await;
    let asked = model.requests().last().unwrap().body["messages"].to_string();
    assert!(asked.contains("echo disk full"), "{asked}");
    assert_eq!(feishu.look(|world| world.said(CHAT)), ["echo hello", "echo disk full", "echo which disk?"]);
    let refused = "api:user:eve may not have results sent to feishu:chat:oc_ada";
    assert!(project.log().contains(refused));
    assert!(daemon.stop().await.success());
}
