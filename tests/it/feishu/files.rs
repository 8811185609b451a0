//! Files on Feishu that are slow, never arrive, or are too large: other messages do not wait, and nothing is lost.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fakes::daemon::{Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;

fn project(feishu: &Feishu, model: &FakeModel, extra: Value) -> Project {
    let mut config = feishu.section(json!({}));
    merge(&mut config, json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 120 }, "language": "en" }));
    merge(&mut config, extra);
    Project::with_model(&model.url(), config)
}

/// Answers with the number of files and the text of the last message.
fn inventory() -> Script {
    Script::compute(|seen: &Seen| {
        let messages = seen.body["messages"].as_array().cloned().unwrap_or_default();
        let last =
            messages.iter().rev().find(|message| message["role"] == "user").cloned().unwrap_or_default();
        let all = last["content"].to_string();
        let named = ["late.txt", "gone.txt", "second", "third"].into_iter().filter(|word| all.contains(word));
        Reply::text(&format!("got {}", named.collect::<Vec<_>>().join(" ")))
    })
}

fn file(feishu: &Feishu, name: &str) -> Message {
    let key = feishu.keep_file(name, b"what is in it");
    Message::private("ou_ada", "").of_kind("file", json!({ "file_key": key, "file_name": name }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_file_delays_neither_its_acknowledgement_nor_a_command_and_order_is_kept() {
    let (feishu, model) = (Feishu::start().await, FakeModel::start(inventory()).await);
    feishu.tune(|world| world.mood.holds_files = true);
    let project = project(&feishu, &model, json!({}));
    let _daemon = project.start().await;
    let first = feishu.write(&file(&feishu, "late.txt"));
    let second = feishu.write(&Message::private("ou_ada", "second"));
    let status = feishu.write(&Message::private("ou_ada", "/status"));
    for id in [first, second, status] {
        let ack = feishu.acknowledgement(&format!("{id}-first")).await;
        assert!(ack.took < Duration::from_secs(3), "{ack:?}");
    }
    feishu
        .wait_for("the status", |world| {
            world.said("oc_ada").iter().find(|said| said.contains("Idle")).cloned()
        })
        .await;
    assert_eq!(model.requests().len(), 0, "what was said behind the file waits for it");
    // Other chats are not delayed.
    feishu.write(&Message::group("oc_group", "ou_bo", "third").mentioning());
    feishu.wait_for_words("oc_group", "got third").await;
    feishu.tune(|world| world.mood.holds_files = false);
    feishu.wait_for("both answers", |world| (world.said("oc_ada").len() >= 2).then_some(())).await;
    feishu
        .wait_for("the second", |world| {
            world.said("oc_ada").iter().any(|said| said.contains("second")).then_some(())
        })
        .await;
    let asked = model.requests().pop().unwrap().body["messages"].to_string();
    let (file, words) = (asked.find("late.txt").unwrap(), asked.find("second").unwrap());
    assert!(file < words, "{asked}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_file_in_one_topic_holds_up_no_other_topic() {
    let (feishu, model) = (Feishu::start().await, FakeModel::start(inventory()).await);
    feishu.tune(|world| world.mood.holds_files = true);
    let project = project(&feishu, &model, json!({}));
    let _daemon = project.start().await;
    let said =
        |topic: &str, text: &str| Message::group("oc_group", "ou_bo", text).mentioning().in_topic(topic);
    let key = feishu.keep_file("late.txt", b"what is in it");
    feishu.write(&said("omt_a", "").of_kind("file", json!({ "file_key": key, "file_name": "late.txt" })));
    feishu.write(&said("omt_a", "second"));
    feishu.write(&said("omt_b", "third"));
    feishu.wait_for_words("oc_group", "got third").await;
    assert_eq!(model.requests().len(), 1, "what was said behind the file waits for it");
    feishu.tune(|world| world.mood.holds_files = false);
    let second = |said: &String| said.contains("second");
    feishu.wait_for("the second", |world| world.said("oc_group").iter().any(second).then_some(())).await;
    let asked = model.requests().pop().unwrap().body["messages"].to_string();
    assert!(asked.find("late.txt").unwrap() < asked.find("second").unwrap(), "{asked}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_press_is_answered_while_a_file_is_on_its_way() {
    let feishu = Feishu::start().await;
    let call = Reply::calls([("exec_shell", json!({ "command": "touch made" }))]);
    let model = FakeModel::start([call, Reply::text("made it"), Reply::text("seen")]).await;
    let project = project(&feishu, &model, json!({}));
    let _daemon = project.start().await;
    feishu.write(&Message::private("ou_ada", "make it"));
    let card = feishu.question("oc_ada").await;
    feishu.tune(|world| world.mood.holds_files = true);
    let late = feishu.write(&file(&feishu, "late.txt"));
    feishu.acknowledgement(&format!("{late}-first")).await;
    let press = feishu.press(&card, "Approve", "ou_ada");
    let ack = feishu.acknowledgement(&press).await;
    assert!(ack.took < Duration::from_secs(3) && ack.data["toast"]["type"] == "success", "{ack:?}");
    feishu.wait_for_words("oc_ada", "made it").await;
    feishu.tune(|world| world.mood.holds_files = false);
    feishu.wait_for_words("oc_ada", "seen").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_between_acknowledgement_and_download_loses_and_doubles_nothing() {
    let (feishu, model) = (Feishu::start().await, FakeModel::start(inventory()).await);
    feishu.tune(|world| world.mood.holds_files = true);
    let project = project(&feishu, &model, json!({}));
    let daemon = project.start().await;
    let message = file(&feishu, "late.txt");
    let id = feishu.write(&message);
    feishu.acknowledgement(&format!("{id}-first")).await;
    let second = feishu.write(&Message::private("ou_ada", "second"));
    feishu.acknowledgement(&format!("{second}-first")).await;
    daemon.kill();
    let daemon = project.start().await;
    // The platform got no acknowledgement, and a later daemon is killed as well.
    feishu.write_again(&message, &id);
    feishu.wait_for("the third acknowledgement", |world| (world.acks.len() >= 3).then_some(())).await;
    daemon.kill();
    let _daemon = project.start().await;
    feishu.tune(|world| world.mood.holds_files = false);
    feishu
        .wait_for("the second", |world| {
            world.said("oc_ada").iter().any(|said| said.contains("second")).then_some(())
        })
        .await;
    feishu.write(&Message::private("ou_ada", "third"));
    feishu
        .wait_for("the third", |world| {
            world.said("oc_ada").iter().any(|said| said.contains("third")).then_some(())
        })
        .await;
    let thread = std::fs::read_to_string(project.thread_file("feishu:chat:oc_ada")).unwrap();
    for words in [format!("\"{id}\""), format!("\"{second}\"")] {
        let lines = thread.lines().filter(|line| line.contains("\"role\":\"user\"") && line.contains(&words));
        assert_eq!(lines.count(), 1, "{words} in {thread}");
    }
    let inbox = project.path().join(".ship/state/feishu/inbox");
    let left = std::fs::read_dir(inbox).unwrap().map(|entry| entry.unwrap().path());
    let left: Vec<_> = left.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_had_is_described_and_the_message_comes_in() {
    let (feishu, model) = (Feishu::start().await, FakeModel::start(inventory()).await);
    let project = project(&feishu, &model, json!({}));
    let _daemon = project.start().await;
    let gone = json!({ "file_key": "nowhere", "file_name": "gone.txt" });
    feishu.write(&Message::private("ou_ada", "").of_kind("file", gone));
    feishu.wait_for_words("oc_ada", "got gone.txt").await;
}
