//! Memory between conversations: its scopes, its place in the prompt, and how it is stored.

use serde_json::{Value, json};

use super::scene::{BOT, Scene};
use crate::fakes::fake_model::{Reply, Script};
use crate::fakes::telegram::world::Environment;

const PROJECT: &str = ".ship/memory/project.md";
const ANNS: &str = ".ship/memory/users/telegram%3Auser%3A7.md";

/// The system prompt of the last model call.
fn system(scene: &Scene) -> String {
    let last = scene.model.requests().last().unwrap().body.clone();
    last["messages"][0]["content"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_project_is_remembered_everywhere_and_a_person_only_in_private() {
    let scene = Scene::new(json!({ "language": "en" })).await;
    scene.project.write(PROJECT, "- ships on Fridays\n- the key is sk-test-canary-123456\n");
    scene.project.write(ANNS, "- likes tea\n");
    let (ann, bob) = (scene.fake.user(7, "Ann"), scene.fake.user(8, "Bob"));
    let (private, group) = (scene.fake.private(&ann), scene.fake.group(-1001));
    let _daemon = scene.project.start().await;
    private.say(&ann, "hello");
    scene.until_said(7, &["re: hello"]).await;
    let told = system(&scene);
    assert!(told.contains("- ships on Fridays") && told.contains("- likes tea"), "{told}");
    assert!(!told.contains("canary"), "{told}");
    group.say(&ann, &format!("{BOT} hello"));
    scene.fake.wait_for(|world| world.bot_texts(-1001).len() == 1).await;
    let told = system(&scene);
    assert!(told.contains("- ships on Fridays") && !told.contains("tea"), "{told}");

    private.say(&ann, "/memory");
    scene.fake.wait_for(|world| world.bot_texts(7).len() == 2).await;
    let told = scene.fake.read(|world| world.bot_texts(7))[1].clone();
    assert!(told.contains("ships on Fridays") && told.contains("likes tea") && told.contains(ANNS), "{told}");
    assert!(!told.contains("canary"), "{told}");
    group.say(&bob, &format!("/memory{BOT}"));
    scene.fake.wait_for(|world| world.bot_texts(-1001).len() == 2).await;
    let told = scene.fake.read(|world| world.bot_texts(-1001))[1].clone();
    assert!(told.contains("ships on Fridays") && !told.contains("tea"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_there_is_nothing_that_is_said_and_tasks_are_listed() {
    let scene = Scene::new(json!({ "language": "zh" })).await;
    let ann = scene.fake.user(7, "Ann");
    let chat = scene.fake.private(&ann);
    let _daemon = scene.project.start().await;
    chat.say(&ann, "/memory");
    scene.fake.wait_for(|world| world.bot_texts(7).len() == 1).await;
    chat.say(&ann, "/tasks");
    scene.fake.wait_for(|world| world.bot_texts(7).len() == 2).await;
    scene.project.write(
        ".ship/tasks/report.md",
        "---\nschedule: \"0 9 * * 1\"\nauthor: telegram:user:7\n---\n# 每周报告\n\n写一份报告。\n",
    );
    chat.say(&ann, "/tasks");
    scene.fake.wait_for(|world| world.bot_texts(7).len() == 3).await;
    let told = scene.fake.read(|world| world.bot_texts(7));
    assert!(
        told[0].contains("还没有任何记忆") && told[0].contains(PROJECT) && told[0].contains(ANNS),
        "{told:?}"
    );
    assert!(told[1].contains("没有任务"), "{told:?}");
    assert!(
        told[2].contains("report 每周报告") && told[2].contains("09:00") && told[2].contains("下次"),
        "{told:?}"
    );
    assert_eq!(scene.model.requests().len(), 0, "no model is asked about it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_to_be_remembered_is_shown_asked_about_and_known_in_the_next_conversation() {
    let script = Script::compute(|seen| {
        let last = seen.body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        match seen.last_user_text() {
            _ if last["role"] == "tool" => Reply::text(last["content"].as_str().unwrap_or_default()),
            text if text.contains("remember") => {
                let note =
                    json!({ "scope": "user", "action": "add", "section": "Taste", "text": "- likes tea" });
                Reply::calls([("memory_upsert", note)])
            }
            text => Reply::text(&format!("re: {text}")),
        }
    });
    let scene = Scene::with_model(script, json!({ "language": "en" })).await;
    let ann = scene.fake.user(7, "Ann");
    let (chat, group) = (scene.fake.private(&ann), scene.fake.group(-1001));
    let _daemon = scene.project.start().await;
    let asked = |world: &Environment| world.visible(7).into_iter().find(|seen| !seen.buttons.is_empty());
    chat.say(&ann, "remember this");
    scene.fake.wait_for(|world| asked(world).is_some()).await;
    let question = scene.fake.read(|world| asked(world).unwrap());
    assert!(
        question.text.contains("+## Taste") && question.text.contains("+- likes tea"),
        "{}",
        question.text
    );
    assert!(!scene.project.path().join(ANNS).exists(), "nothing is written before it is allowed");
    chat.say(&ann, "approve");
    scene
        .fake
        .wait_for(|world| world.bot_texts(7).iter().any(|text| text.contains("\"remembered\":true")))
        .await;
    let written = std::fs::read_to_string(scene.project.path().join(ANNS)).unwrap();
    assert!(
        written.starts_with("## Taste\n\n- likes tea <!-- k") && written.ends_with(" -->\n"),
        "{written}"
    );
    chat.say(&ann, "/new");
    scene.fake.wait_for(|world| world.bot_texts(7).len() >= 4).await;
    chat.say(&ann, "hello");
    scene.fake.wait_for(|world| world.bot_texts(7).contains(&"re: hello".to_owned())).await;
    assert!(system(&scene).contains("- likes tea"));

    group.say(&ann, &format!("{BOT} remember this"));
    let refused =
        |world: &Environment| world.visible(-1001).into_iter().find(|seen| !seen.buttons.is_empty());
    scene.fake.wait_for(|world| refused(world).is_some()).await;
    let question: Value = json!(scene.fake.read(|world| refused(world).unwrap().text));
    assert!(question.as_str().unwrap().contains("in private"), "{question}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_goes_on_after_a_kill_writes_for_whom_it_was_asked_whatever_is_configured_by_then() {
    let script = Script::compute(|seen| {
        let last = seen.body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        match seen.last_user_text() {
            _ if last["role"] == "tool" => Reply::text(last["content"].as_str().unwrap_or_default()),
            _ => Reply::calls([(
                "memory_upsert",
                json!({ "scope": "user", "action": "add", "text": "likes tea" }),
            )]),
        }
    });
    let scene = Scene::with_model(script, json!({ "language": "en" })).await;
    let ann = scene.fake.user(7, "Ann");
    let chat = scene.fake.private(&ann);
    let daemon = scene.project.start().await;
    chat.say(&ann, "remember this");
    scene.fake.wait_for(|world| world.visible(7).into_iter().any(|seen| !seen.buttons.is_empty())).await;
    daemon.kill();
    let config = scene.project.path().join("ship.json");
    let mut settings: Value = serde_json::from_str(&std::fs::read_to_string(config).unwrap()).unwrap();
    settings["memory"] = json!({ "dmScope": "main" });
    scene.project.write("ship.json", &settings.to_string());
    let _daemon = scene.project.start().await;
    chat.say(&ann, "approve");
    scene
        .fake
        .wait_for(|world| world.bot_texts(7).iter().any(|text| text.contains("\"remembered\":true")))
        .await;
    let written = std::fs::read_to_string(scene.project.path().join(ANNS)).unwrap();
    assert!(written.contains("likes tea"), "{written}");
    assert!(!scene.project.path().join(".ship/memory/main.md").exists());
    let approvals = std::fs::read_dir(scene.project.path().join(".ship/approvals")).unwrap();
    let stored: Vec<Value> = approvals
        .filter_map(|entry| serde_json::from_str(&std::fs::read_to_string(entry.unwrap().path()).ok()?).ok())
        .collect();
    assert_eq!(stored[0]["memoryScope"]["write"], "telegram:user:7", "{stored:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_all_share_is_approved_by_an_owner_only() {
    let script = Script::compute(|seen| {
        let last = seen.body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        match seen.last_user_text() {
            _ if last["role"] == "tool" => Reply::text(last["content"].as_str().unwrap_or_default()),
            _ => Reply::calls([(
                "memory_upsert",
                json!({ "scope": "project", "action": "add", "text": "ships on Fridays" }),
            )]),
        }
    });
    let scene = Scene::with_model(script, json!({ "language": "en", "owners": ["telegram:user:8"] })).await;
    let (ann, bob) = (scene.fake.user(7, "Ann"), scene.fake.user(8, "Bob"));
    let group = scene.fake.group(-1001);
    let _daemon = scene.project.start().await;
    group.say(&ann, &format!("{BOT} remember this"));
    scene.fake.wait_for(|world| world.visible(-1001).into_iter().any(|seen| !seen.buttons.is_empty())).await;
    group.say(&ann, "approve A1");
    scene
        .fake
        .wait_for(|world| world.bot_texts(-1001).iter().any(|text| text.contains("may not decide")))
        .await;
    assert!(!scene.project.path().join(PROJECT).exists());
    group.say(&bob, "approve A1");
    scene
        .fake
        .wait_for(|world| world.bot_texts(-1001).iter().any(|text| text.contains("\"remembered\":true")))
        .await;
    assert!(
        std::fs::read_to_string(scene.project.path().join(PROJECT)).unwrap().contains("ships on Fridays")
    );
}
