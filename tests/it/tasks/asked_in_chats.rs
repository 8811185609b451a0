//! The question of an unattended run is asked where its result goes, and decided there by a button or in words.

use serde_json::json;

use super::chats::{ANN, GROUP, Scene, Spot};
use crate::fakes::fake_model::{Reply, Script, Seen};
use crate::fakes::qq::people::Place;

/// Makes a file named like its task, then reports.
fn maker(seen: &Seen) -> Reply {
    let messages = seen.body["messages"].as_array().unwrap();
    let text = seen.last_user_text();
    let Some(name) = text.rsplit(' ').next().filter(|_| text.contains("make ")) else {
        return Reply::text("hello");
    };
    match messages.last().unwrap()["role"] == "tool" {
        true => Reply::text(&format!("made {name}.")),
        false => Reply::calls([("exec_shell", json!({ "command": format!("touch {name}") }))]),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_of_a_run_is_decided_in_the_chat_where_it_is_asked() {
    let scene = Scene::new(Script::compute(maker), json!({})).await;
    let daemon = scene.project.start().await;
    // The agent knows the chats, and QQ lets it speak there.
    for spot in [Spot::TelegramDirect, Spot::FeishuDirect, Spot::QqDirect] {
        scene.say(spot, "hi");
        scene.hear(spot, &["hello"]).await;
    }
    for (name, deliver) in [
        ("tgbutton", format!("telegram:chat:{GROUP}:topic:{}", scene.topic)),
        ("tgwords", format!("telegram:chat:{ANN}")),
        ("fsbutton", "feishu:chat:oc_ada".to_owned()),
        ("qqbutton", "qq:chat:U1".to_owned()),
    ] {
        let file = format!("---\nevery: 10h\ndeliver: {deliver}\n---\nmake {name}");
        scene.project.write(&format!(".ship/tasks/{name}.md"), &file);
        let path = format!("/api/tasks/{name}");
        daemon
            .until("the run", async |daemon| {
                daemon.post(&format!("{path}/run"), &json!({})).send().await.unwrap().status().is_success()
            })
            .await;
        let ann = scene.telegram.user(ANN, "Ann");
        // The owner is asked in private, too.
        let asked = scene.hear(Spot::TelegramDirect, &["may I do this?", name]).await;
        assert!(asked.contains(&format!("scheduled task {name}")), "{asked}");
        let spot = match name {
            "tgbutton" => {
                scene.hear(Spot::TelegramTopic, &["may I do this?", name]).await;
                let seen = scene.telegram.read(|world| {
                    let open = |seen: &crate::fakes::telegram::view::Visible| {
                        seen.text.contains(name) && !seen.buttons.is_empty()
                    };
                    world.visible(GROUP).into_iter().find(open).unwrap()
                });
                scene.forum.press(&ann, seen.id, seen.labels()[0]);
                Spot::TelegramTopic
            }
            "tgwords" => {
                scene.say(Spot::TelegramDirect, "approve");
                Spot::TelegramDirect
            }
            "fsbutton" => {
                let posted = scene.feishu.question("oc_ada").await;
                let press = scene.feishu.press(&posted, "Approve", "ou_ada");
                scene.feishu.acknowledgement(&press).await;
                Spot::FeishuDirect
            }
            _ => {
                let sent = scene.qq.text_with("U1", name).await;
                let data =
                    sent.body["keyboard"]["content"]["rows"][0]["buttons"][0]["action"]["data"].clone();
                scene.qq.presses(Place::C2c("U1"), data.as_str().unwrap());
                Spot::QqDirect
            }
        };
        scene.hear(spot, &[&format!("made {name}.")]).await;
        assert!(scene.project.path().join(name).exists(), "{name}");
        // The copy in the owner's chat tells the outcome and has no buttons left.
        scene
            .telegram
            .wait_for(|world| {
                let open = world.visible(ANN).into_iter().filter(|seen| seen.text.contains(name));
                open.into_iter().all(|seen| seen.buttons.is_empty())
            })
            .await;
    }
    let approvals = daemon.get_json("/api/approvals").await;
    let approvals = approvals["approvals"].as_array().unwrap();
    assert!(approvals.len() == 4 && approvals.iter().all(|one| one["state"] == "spent"), "{approvals:?}");
    assert!(daemon.stop().await.success());
}
