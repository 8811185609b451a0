//! Decisions on Feishu by group owners, and a minimal server.

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

fn runs(command: &str) -> Script {
    let command = command.to_owned();
    Script::compute(move |seen: &Seen| {
        let messages = seen.body["messages"].as_array().cloned().unwrap_or_default();
        match messages.last() {
            Some(last) if last["role"] == "tool" => Reply::text("finished"),
            _ => Reply::calls([("exec_shell", json!({ "command": command }))]),
        }
    })
}

fn made(project: &Project) -> bool {
    project.path().join("made").exists()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_runs_a_group_decides_by_words_and_by_button_and_nobody_else() {
    for (boss, by_button) in [("ou_owner", false), ("ou_manager", true)] {
        let (feishu, model) = (Feishu::start().await, FakeModel::start(runs("touch made")).await);
        feishu.tune(|world| drop(world.owners.insert("oc_group".to_owned(), "ou_owner".to_owned())));
        let project = project(&feishu, &model, json!({ "approvals": { "approvers": ["admins"] } }));
        let _daemon = project.start().await;
        feishu.write(&Message::group("oc_group", "ou_ada", "make it").mentioning());
        let card = feishu.question("oc_group").await;
        if by_button {
            for button in ["Approve", "for longer"] {
                let press = feishu.press(&card, button, "ou_ada");
                let shown = feishu.acknowledgement(&press).await.data;
                assert_eq!(
                    (&shown["toast"]["type"], shown.get("card")),
                    (&json!("warning"), None),
                    "{button}"
                );
            }
            let press = feishu.press(&card, "for longer", boss);
            assert_eq!(feishu.acknowledgement(&press).await.data["card"]["type"], "raw");
            assert!(!made(&project));
            let press = feishu.press(&card, "Approve", boss);
            assert_eq!(feishu.acknowledgement(&press).await.data["toast"]["type"], "success");
        } else {
            feishu.write(&Message::group("oc_group", "ou_ada", "approve A1").mentioning());
            feishu
                .wait_for("a refusal", |world| {
                    world.said("oc_group").iter().find(|said| said.contains("may not decide")).cloned()
                })
                .await;
            assert!(!made(&project));
            feishu.write(&Message::group("oc_group", boss, "approve A1"));
        }
        feishu.wait_for_words("oc_group", "finished").await;
        assert!(made(&project));
        assert_eq!(feishu.look(|world| world.owner_questions), 1, "asked once, and remembered");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_decides_by_a_look_that_fails_and_nobody_looks_where_it_does_not_matter() {
    for (approvers, questions) in [(json!(["admins"]), true), (json!(["requester"]), false)] {
        let (feishu, model) = (Feishu::start().await, FakeModel::start(runs("touch made")).await);
        let project = project(&feishu, &model, json!({ "approvals": { "approvers": approvers } }));
        let _daemon = project.start().await;
        feishu.write(&Message::group("oc_group", "ou_ada", "make it").mentioning());
        let card = feishu.question("oc_group").await;
        let press = feishu.press(&card, "Approve", "ou_owner");
        assert_eq!(feishu.acknowledgement(&press).await.data["toast"]["type"], "warning");
        assert!(!made(&project));
        assert_eq!(feishu.look(|world| world.owner_questions > 0), questions);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_for_the_agent_gets_a_sign_that_it_was_received_and_no_other_does() {
    let (feishu, model) = (Feishu::start().await, FakeModel::start(Reply::text("yes?")).await);
    let project = project(&feishu, &model, json!({}));
    let _daemon = project.start().await;
    let other = feishu.write(&Message::group("oc_group", "ou_bo", "among ourselves"));
    let asked = feishu.write(&Message::group("oc_group", "ou_bo", "hello").mentioning());
    feishu.wait_for_words("oc_group", "yes?").await;
    let signs = feishu.wait_for("a sign", |world| world.signs.first().cloned()).await;
    assert_eq!(signs, (asked, "Get".to_owned()));
    assert!(feishu.look(|world| world.signs.iter().all(|(message, _)| *message != other)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_can_only_send_is_good_enough_to_talk_and_to_approve() {
    let (feishu, model) = (Feishu::start().await, FakeModel::start(runs("touch made")).await);
    feishu.tune(|world| world.mood.minimal = true);
    let project = project(&feishu, &model, json!({ "approvals": { "approvers": ["requester", "admins"] } }));
    let _daemon = project.start().await;
    feishu.write(&Message::group("oc_group", "ou_bo", "make it").mentioning().answering("om_older"));
    let card = feishu.question("oc_group").await;
    let press = feishu.press(&card, "Approve", "ou_bo");
    assert_eq!(feishu.acknowledgement(&press).await.data["toast"]["type"], "success");
    feishu.wait_for_words("oc_group", "finished").await;
    assert!(made(&project));
}
