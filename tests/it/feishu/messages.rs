//! Feishu from end to end: the real daemon, a fake platform on the loopback, and simulated people.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script, Seen};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;
use crate::fakes::feishu::world::Posted;

/// A project on this platform with this model.
fn project(feishu: &Feishu, model: &FakeModel, extra: Value) -> Project {
    let mut config = feishu.section(json!({}));
    merge(&mut config, json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 120 } }));
    merge(&mut config, extra);
    Project::with_model(&model.url(), config)
}

fn echo() -> Script {
    Script::compute(|seen: &Seen| Reply::text(&format!("echo {}", seen.last_user_text())))
}

fn shell(command: &str) -> Reply {
    Reply::calls([("exec_shell", json!({ "command": command }))])
}

fn lines(project: &Project) -> usize {
    std::fs::read_to_string(project.path().join("log.txt")).map_or(0, |text| text.lines().count())
}

/// The messages of the app in a chat.
fn posted(feishu: &Feishu, chat: &str) -> Vec<Posted> {
    feishu.look(|world| world.posted.iter().filter(|posted| posted.chat == chat).cloned().collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_chats_groups_and_topics_are_answered_where_they_were_asked() {
    let (feishu, model) = (Feishu::start().await, FakeModel::start(echo()).await);
    let project = project(&feishu, &model, json!({}));
    let daemon = project.start().await;
    feishu.write(&Message::private("ou_ada", "hello"));
    feishu.wait_for_words("oc_ada", "echo hello").await;
    assert_eq!(posted(&feishu, "oc_ada")[0].reply_to, None);

    feishu.write(&Message::group("oc_group", "ou_bo", "not for you"));
    let asked = feishu.write(&Message::group("oc_group", "ou_bo", "are you there").mentioning());
    feishu.wait_for_words("oc_group", "echo are you there").await;
    let answers = posted(&feishu, "oc_group");
    assert_eq!((answers.len(), answers[0].reply_to.as_ref()), (1, Some(&asked)), "{answers:?}");

    feishu.write(&Message::group("oc_group", "ou_cy", "and thanks").answering(&answers[0].id));
    feishu.wait_for("an answer to the reply", |world| world.said("oc_group").get(1).cloned()).await;
    let asked = model.requests().pop().unwrap().body["messages"].to_string();
    assert!(asked.contains("and thanks") && asked.contains("echo are you there"), "{asked}");

    let asked = feishu.write(&Message::group("oc_group", "ou_eve", "in here").mentioning().in_topic("omt_1"));
    feishu.wait_for_words("oc_group", "echo in here").await;
    let answer = posted(&feishu, "oc_group").pop().unwrap();
    assert!(answer.in_thread && answer.reply_to == Some(asked), "{answer:?}");
    let threads = daemon.get_json("/api/threads").await.to_string();
    for thread in ["feishu:chat:oc_ada", "feishu:chat:oc_group", "feishu:chat:oc_group:topic:omt_1"] {
        assert!(threads.contains(&format!("\"{thread}\"")), "{threads}");
    }
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_get_a_code_in_private_and_nothing_in_groups() {
    let (feishu, model) = (Feishu::start().await, FakeModel::start(echo()).await);
    let project = project(&feishu, &model, json!({ "owners": ["feishu:user:ou_boss"] }));
    let _daemon = project.start().await;
    let ignored = feishu.write(&Message::group("oc_other", "ou_eve", "hello").mentioning());
    feishu.acknowledgement(&format!("{ignored}-first")).await;
    feishu.write(&Message::private("ou_eve", "let me in"));
    feishu.wait_for("a code", |world| (!world.said("oc_eve").is_empty()).then_some(())).await;
    assert_eq!(model.requests().len(), 0);
    assert!(posted(&feishu, "oc_other").is_empty());
    // An owner who writes in a group opens it.
    feishu.write(&Message::group("oc_other", "ou_boss", "join us").mentioning());
    feishu.wait_for_words("oc_other", "echo join us").await;
    feishu.write(&Message::group("oc_other", "ou_eve", "me too").mentioning());
    feishu.wait_for_words("oc_other", "echo me too").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_button_decides_for_those_who_may_and_the_card_says_who_did() {
    let feishu = Feishu::start().await;
    let model = FakeModel::start([shell("echo one >> log.txt"), Reply::text("appended")]).await;
    let project = project(&feishu, &model, json!({}));
    let _daemon = project.start().await;
    feishu.write(&Message::group("oc_group", "ou_ada", "append").mentioning());
    let card = feishu.question("oc_group").await;
    let toast = async |label: &str, by: &str| {
        let press = feishu.press(&card, label, by);
        feishu.acknowledgement(&press).await.data["toast"].clone()
    };
    assert_eq!(toast("Approve", "ou_eve").await["type"], "warning");
    assert_eq!(lines(&project), 0, "a stranger's yes is no yes");
    assert_eq!(toast("Approve", "ou_ada").await["type"], "success");
    feishu.wait_for_words("oc_group", "appended").await;
    assert_eq!(lines(&project), 1);
    let settled = feishu
        .wait_for("the settled card", |world| {
            world.posted.iter().find(|posted| posted.id == card.id && posted.changes > 0).cloned()
        })
        .await;
    assert!(!settled.content.to_string().contains("\"button\""), "{settled:?}");
    let again = toast("Deny", "ou_ada").await;
    assert_eq!(again["type"], "warning", "{again}");
    assert_eq!(lines(&project), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_decide_and_so_does_the_old_button_after_a_kill() {
    let feishu = Feishu::start().await;
    let replies = [
        shell("echo one >> log.txt"),
        Reply::text("first"),
        shell("echo two >> log.txt"),
        Reply::text("second"),
    ];
    let model = FakeModel::start(replies).await;
    let project = project(&feishu, &model, json!({}));
    let daemon = project.start().await;
    feishu.write(&Message::private("ou_ada", "append"));
    feishu.question("oc_ada").await;
    feishu.write(&Message::private("ou_ada", "同意"));
    feishu.wait_for_words("oc_ada", "first").await;
    feishu.write(&Message::private("ou_ada", "append more"));
    let card = feishu
        .wait_for("the second question", |world| {
            let asked =
                |posted: &&Posted| posted.changes == 0 && posted.content.to_string().contains("echo two");
            world.posted.iter().find(asked).cloned()
        })
        .await;
    daemon.kill();
    let _daemon = project.start().await;
    feishu.press(&card, "Approve", "ou_ada");
    feishu.wait_for_words("oc_ada", "second").await;
    assert_eq!(lines(&project), 2);
    let asked = posted(&feishu, "oc_ada").iter().filter(|posted| posted.id == card.id).count();
    assert_eq!(asked, 1, "the question was not asked twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_menu_of_longer_approvals_opens_and_closes_on_the_card() {
    let feishu = Feishu::start().await;
    let model = FakeModel::start([shell("sh append.sh"), Reply::text("done")]).await;
    let project = project(&feishu, &model, json!({ "language": "en" }));
    project.write("append.sh", "echo one >> log.txt\n");
    let _daemon = project.start().await;
    feishu.write(&Message::private("ou_ada", "append"));
    let mut card = feishu.question("oc_ada").await;
    let press = feishu.press(&card, "for longer", "ou_ada");
    card.content = feishu.acknowledgement(&press).await.data["card"]["data"].clone();
    let press = feishu.press(&card, "In this chat", "ou_ada");
    assert_eq!(feishu.acknowledgement(&press).await.data["toast"]["type"], "success");
    feishu.wait_for_words("oc_ada", "done").await;
    assert_eq!(lines(&project), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unclear_reply_is_asked_back_on_a_card_whose_buttons_decide_that_question() {
    let feishu = Feishu::start().await;
    let model = FakeModel::start([shell("echo one >> log.txt"), Reply::text("appended")]).await;
    let project = project(&feishu, &model, json!({ "language": "en" }));
    let _daemon = project.start().await;
    feishu.write(&Message::group("oc_group", "ou_ada", "append").mentioning());
    let card = feishu.question("oc_group").await;
    assert!(!card.content.to_string().contains("for longer"), "it can only be allowed once: {card:?}");
    feishu.write(&Message::group("oc_group", "ou_ada", "approve maybe").mentioning());
    let back = feishu
        .wait_for("the question back", |world| {
            world.posted.iter().find(|one| one.content.to_string().contains("Approve A1")).cloned()
        })
        .await;
    assert_ne!(back.id, card.id);
    assert_eq!(lines(&project), 0, "asking back runs nothing");
    let toast = async |label: &str, by: &str| {
        let press = feishu.press(&back, label, by);
        feishu.acknowledgement(&press).await.data["toast"].clone()
    };
    assert_eq!(toast("Approve A1", "ou_eve").await["type"], "warning");
    assert_eq!(lines(&project), 0, "a stranger's yes is no yes");
    assert_eq!(toast("Approve A1", "ou_ada").await["type"], "success");
    feishu.wait_for_words("oc_group", "appended").await;
    assert_eq!(lines(&project), 1);
    let again = toast("Deny A1", "ou_ada").await;
    assert!(again["content"].as_str().unwrap().contains("was approved"), "{again}");
    assert_eq!(lines(&project), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_voice_come_in_and_files_go_out() {
    let feishu = Feishu::start().await;
    let model = FakeModel::start(Script::compute(|seen: &Seen| {
        let text = seen.body["messages"].to_string();
        match text.contains("\"tool_call_id\"") || !text.contains("send it") {
            true => Reply::text("seen"),
            false => Reply::calls([("send_file", json!({ "path": "out.txt" }))]),
        }
    }))
    .await;
    let project = project(&feishu, &model, json!({}));
    project.write("out.txt", "going out");
    let _daemon = project.start().await;
    for (kind, content, bytes) in [
        ("file", "file_key", b"the report".as_slice()),
        ("audio", "file_key", b"OggS voice"),
        ("image", "image_key", b"\x89PNG picture"),
    ] {
        let key = feishu.keep_file("report.txt", bytes);
        let content = json!({ content: key, "file_name": "report.txt", "duration": 1000 });
        let before = posted(&feishu, "oc_ada").len();
        feishu.write(&Message::private("ou_ada", "").of_kind(kind, content));
        feishu.wait_for(kind, |world| (world.said("oc_ada").len() > before).then_some(())).await;
        let folder = project.path().join(".ship/files/feishu%3Achat%3Aoc_ada");
        let kept = std::fs::read_dir(folder)
            .unwrap()
            .any(|entry| std::fs::read(entry.unwrap().path()).unwrap() == bytes);
        assert!(kept, "{kind}");
    }
    feishu.write(&Message::private("ou_ada", "send it"));
    let sent = feishu
        .wait_for("the file", |world| world.posted.iter().find(|posted| posted.kind == "file").cloned())
        .await;
    let key = sent.content["file_key"].as_str().unwrap().to_owned();
    assert_eq!(feishu.look(|world| world.files[&key].1.clone()), b"going out");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_answer_comes_whole_and_in_order() {
    let feishu = Feishu::start().await;
    let answer: String = (0..2000).map(|number| format!("- **line {number}** 一些中文字符\n")).collect();
    assert!(answer.len() > 60 * 1024);
    let model = FakeModel::start(Reply::text(&answer)).await;
    let project = project(&feishu, &model, json!({}));
    let _daemon = project.start().await;
    feishu.write(&Message::private("ou_ada", "tell me everything"));
    feishu
        .wait_for("the last line", |world| {
            world.said("oc_ada").last().is_some_and(|last| last.contains("line 1999")).then_some(())
        })
        .await;
    let all = feishu.look(|world| world.said("oc_ada").join("\n"));
    let mut at = 0;
    for number in 0..2000 {
        let line = format!("line {number}**");
        let found =
            all.get(at..).unwrap().find(&line).unwrap_or_else(|| panic!("{line} is missing or out of order"));
        at += found + line.len();
    }
    assert!(posted(&feishu, "oc_ada").iter().all(|posted| posted.kind == "interactive"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twelve_tables_and_refused_cards_lose_nothing() {
    let feishu = Feishu::start().await;
    let answer: String = (1..=12)
        .map(|number| format!("Table {number}\n\n| a | b |\n|---|---|\n| cell {number} | x |\n\n"))
        .collect();
    let model = FakeModel::start(Reply::text(&answer)).await;
    let project = project(&feishu, &model, json!({}));
    let _daemon = project.start().await;
    for (refuses, kind) in [(false, "interactive"), (true, "post")] {
        feishu.tune(|world| world.mood.refuses_cards = refuses);
        let before = posted(&feishu, "oc_ada").len();
        feishu.write(&Message::private("ou_ada", "tables please"));
        let words = feishu.wait_for("the answer", |world| world.said("oc_ada").get(before).cloned()).await;
        for number in 1..=12 {
            assert!(words.contains(&format!("cell {number}")), "{kind}: {words}");
        }
        assert_eq!(posted(&feishu, "oc_ada")[before].kind, kind);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_in_pieces_or_sent_again_is_answered_once() {
    let (feishu, model) = (Feishu::start().await, FakeModel::start(echo()).await);
    feishu.tune(|world| world.mood.pieces = 7);
    let project = project(&feishu, &model, json!({}));
    let daemon = project.start().await;
    let message = Message::private("ou_ada", "你好，世界");
    let id = feishu.write(&message);
    feishu.wait_for_words("oc_ada", "echo 你好，世界").await;
    feishu.write_again(&message, &id);
    feishu.wait_for("both acknowledgements", |world| (world.acks.len() == 2).then_some(())).await;
    daemon.kill();
    let _daemon = project.start().await;
    feishu.write_again(&message, &id);
    feishu.wait_for("the third", |world| (world.acks.len() == 3).then_some(())).await;
    feishu.write(&Message::private("ou_ada", "next"));
    feishu.wait_for_words("oc_ada", "echo next").await;
    assert_eq!(posted(&feishu, "oc_ada").len(), 2);
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_acknowledged_at_once_while_a_turn_runs() {
    let feishu = Feishu::start().await;
    let gate = Latch::new();
    let model = FakeModel::start(Reply::text("at last").behind(&gate)).await;
    let project = project(&feishu, &model, json!({}));
    let _daemon = project.start().await;
    let first = feishu.write(&Message::private("ou_ada", "think long"));
    model.wait_for_requests(1).await;
    let second = feishu.write(&Message::private("ou_ada", "/status"));
    for id in [first, second] {
        let ack = feishu.acknowledgement(&format!("{id}-first")).await;
        assert!(ack.took < Duration::from_secs(3), "{ack:?}");
    }
    feishu.wait_for("the status", |world| (!world.said("oc_ada").is_empty()).then_some(())).await;
    gate.open();
    feishu.wait_for_words("oc_ada", "at last").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_lapses_amid_a_turn_is_replaced() {
    let feishu = Feishu::start().await;
    let gate = Latch::new();
    let model = FakeModel::start(Reply::text("still here").behind(&gate)).await;
    let project = project(&feishu, &model, json!({}));
    let _daemon = project.start().await;
    feishu.write(&Message::private("ou_ada", "wait for it"));
    model.wait_for_requests(1).await;
    feishu.tune(|world| world.forget_tokens());
    gate.open();
    feishu.wait_for_words("oc_ada", "still here").await;
    assert_eq!(feishu.look(|world| (world.tokens_given, world.posted.len())), (2, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_that_has_gone_silent_is_left_for_a_new_one() {
    let (feishu, model) = (Feishu::start().await, FakeModel::start(echo()).await);
    feishu.tune(|world| (world.mood.ping, world.mood.mute) = (1, true));
    let project = project(&feishu, &model, json!({}));
    let _daemon = project.start().await;
    feishu.write(&Message::private("ou_ada", "anybody there"));
    feishu.wait_for("a second connection", |world| (world.connections >= 2).then_some(())).await;
    feishu.tune(|world| world.mood.mute = false);
    feishu.wait_for_words("oc_ada", "echo anybody there").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_whose_answer_is_lost_or_refused_for_haste_shows_once() {
    let (feishu, model) = (Feishu::start().await, FakeModel::start(echo()).await);
    feishu.tune(|world| (world.mood.lost_answers, world.mood.busy) = (1, 1));
    let project = project(&feishu, &model, json!({}));
    let _daemon = project.start().await;
    feishu.write(&Message::private("ou_ada", "one"));
    feishu.wait_for("three tries", |world| (world.sends >= 3).then_some(())).await;
    feishu.write(&Message::private("ou_ada", "two"));
    feishu.wait_for_words("oc_ada", "echo two").await;
    assert_eq!(feishu.look(|world| world.said("oc_ada")), ["echo one", "echo two"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_grows_in_one_card_and_ends_in_it() {
    let feishu = Feishu::start().await;
    let gate = Latch::new();
    let model = FakeModel::start(
        Reply::pieces(["Growing **words** ", "and more ", "of them."]).gated_after(2, &gate),
    )
    .await;
    feishu.tune(|world| world.mood.cardkit = true);
    let project = project(&feishu, &model, json!({}));
    let daemon: Daemon = project.start().await;
    feishu.write(&Message::private("ou_ada", "write"));
    feishu
        .wait_for("a draft", |world| {
            world.said("oc_ada").first().filter(|said| said.starts_with("Growing")).cloned()
        })
        .await;
    gate.open();
    feishu.wait_for_words("oc_ada", "Growing **words** and more of them.").await;
    daemon.until_state("feishu:chat:oc_ada", "idle").await;
    assert_eq!(posted(&feishu, "oc_ada").len(), 1);
    assert!(feishu.look(|world| world.nothing_grows()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_operator_writes_is_shown_to_the_people_of_the_chat() {
    let (feishu, model) = (Feishu::start().await, FakeModel::start(echo()).await);
    let project = project(&feishu, &model, json!({}));
    let daemon = project.start().await;
    feishu.write(&Message::group("oc_group", "ou_bo", "are you there").mentioning());
    feishu.wait_for_words("oc_group", "echo are you there").await;
    let thread = daemon.get_json("/api/threads").await["threads"][0]["threadId"].as_str().unwrap().to_owned();
    let path = format!("/api/threads/{thread}/messages");
    let sent = daemon.post(&path, &json!({ "id": "op1", "text": "look outside" })).send().await.unwrap();
    assert_eq!(sent.status(), 202);
    feishu.wait_for_words("oc_group", "echo look outside").await;
    let said = feishu.look(|world| world.said("oc_group"));
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[1].contains("Operator:") && said[1].contains("look outside"), "{said:?}");
}
