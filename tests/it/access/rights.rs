//! Rights, tested from the outside: late approvals, owners of a turn, and revoked people.

use std::time::Duration;

use serde_json::{Value, json};

use crate::access::audit::delete;
use crate::fakes::fake_model::{Reply, Script, Seen};
use crate::fakes::telegram::post::Post;
use crate::fakes::telegram::view::Visible;
use crate::fakes::telegram::world::{Environment, now};
use crate::telegram::scene::{BOT, Scene};

const ANN: i64 = 7;
const GROUP: i64 = -1001;

/// Requests to append a line whenever it is told to.
fn appends(seen: &Seen) -> Reply {
    let last = seen.body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
    match seen.last_user_text() {
        _ if last["role"] == "tool" => Reply::text("appended"),
        text if text.contains("append") => {
            Reply::calls([("exec_shell", json!({ "command": "echo one >> log.txt" }))])
        }
        text => Reply::text(&format!("re: {text}")),
    }
}

async fn scene(extra: Value) -> Scene {
    Scene::with_model(Script::compute(appends), extra).await
}

fn question(world: &Environment, chat: i64) -> Option<Visible> {
    world.visible(chat).into_iter().rfind(|seen| !seen.buttons.is_empty())
}

fn lines(scene: &Scene) -> usize {
    std::fs::read_to_string(scene.project.path().join("log.txt")).map_or(0, |text| text.lines().count())
}

async fn until_said(scene: &Scene, chat: i64, words: &str) {
    scene.fake.wait_for(|world| world.bot_texts(chat).iter().any(|text| text.contains(words))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_from_before_a_question_was_asked_is_asked_back_about_and_a_reply_to_it_counts() {
    let scene = scene(json!({ "language": "en" })).await;
    let ann = scene.fake.user(ANN, "Ann");
    let chat = scene.fake.private(&ann);
    let _daemon = scene.project.start().await;
    chat.say(&ann, "append");
    scene.fake.wait_for(|world| question(world, ANN).is_some()).await;
    // Times are in whole seconds: one second passes while the first question is open.
    let meanwhile = now() + 1;
    while now() <= meanwhile {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    chat.say(&ann, "/cancel");
    scene.fake.wait_for(|world| question(world, ANN).is_none()).await;
    chat.say(&ann, "append once more");
    scene.fake.wait_for(|world| question(world, ANN).is_some()).await;
    let asked = scene.fake.read(|world| question(world, ANN).unwrap());
    // It was written for the first question and delivered late.
    chat.post(&ann, Post::text("yes").with("date", json!(meanwhile)));
    until_said(&scene, ANN, "I am not sure that you mean this").await;
    assert_eq!(lines(&scene), 0);
    chat.post(&ann, Post::text("yes").replying(asked.id).with("date", json!(now() - 20)));
    let ended = |world: &Environment| world.bot_texts(ANN).iter().filter(|text| *text == "appended").count();
    scene.fake.wait_for(|world| ended(world) == 2).await;
    assert_eq!(lines(&scene), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_that_is_passed_on_scheduled_or_struck_through_decides_nothing() {
    let scene = scene(json!({ "language": "en" })).await;
    let ann = scene.fake.user(ANN, "Ann");
    let chat = scene.fake.private(&ann);
    let _daemon = scene.project.start().await;
    chat.say(&ann, "append");
    scene.fake.wait_for(|world| question(world, ANN).is_some()).await;
    let formatted = |kind: &str| {
        let mut post = Post::text("yes");
        post.words.as_mut().unwrap().entities = vec![json!({ "type": kind, "offset": 0, "length": 3 })];
        post
    };
    chat.post(&ann, Post::text("yes").forwarded_from(&ann));
    chat.post(&ann, Post::text("/approve A1").forwarded_from(&ann));
    chat.post(&ann, Post::text("yes").with("is_from_offline", json!(true)));
    for kind in ["blockquote", "pre", "code", "spoiler"] {
        chat.post(&ann, formatted(kind));
    }
    // Messages of a chat are processed in order.
    chat.post(&ann, formatted("strikethrough"));
    let asked_back = |world: &Environment| {
        let asks =
            world.bot_texts(ANN).into_iter().filter(|text| text.starts_with("Do you mean: approve A1?"));
        asks.count() == 5
    };
    scene.fake.wait_for(asked_back).await;
    assert!(scene.fake.read(|world| question(world, ANN).is_some()), "it still waits");
    assert_eq!(lines(&scene), 0);
    chat.say(&ann, "yes");
    until_said(&scene, ANN, "appended").await;
    assert_eq!(lines(&scene), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_that_comes_at_once_counts() {
    let scene = scene(json!({ "language": "en" })).await;
    let ann = scene.fake.user(ANN, "Ann");
    let chat = scene.fake.private(&ann);
    let _daemon = scene.project.start().await;
    for count in 1..=3 {
        chat.say(&ann, "append");
        scene.fake.wait_for(|world| question(world, ANN).is_some()).await;
        chat.say(&ann, "yes");
        scene
            .fake
            .wait_for(|world| world.bot_texts(ANN).iter().filter(|text| *text == "appended").count() == count)
            .await;
    }
    assert_eq!(lines(&scene), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_group_nobody_ends_what_somebody_else_began() {
    let scene = scene(json!({ "language": "en" })).await;
    let (ann, bob, boss) =
        (scene.fake.user(ANN, "Ann"), scene.fake.user(8, "Bob"), scene.fake.user(1, "Boss"));
    let group = scene.fake.group(GROUP);
    let daemon = scene.project.start().await;
    let thread = format!("telegram:chat:{GROUP}");
    let rounds = [("/stop", &ann), ("/new", &boss), ("/stop", &boss), ("/new", &ann)];
    for (refusals, (command, who)) in (1..).zip(rounds) {
        group.say(&ann, &format!("{BOT} append"));
        scene.fake.wait_for(|world| question(world, GROUP).is_some()).await;
        group.say(&bob, &format!("{command}{BOT}"));
        scene
            .fake
            .wait_for(|world| {
                world.bot_texts(GROUP).iter().filter(|text| text.contains("Somebody else's request")).count()
                    == refusals
            })
            .await;
        daemon.until_state(&thread, "awaiting-approval").await;
        group.say(who, &format!("{command}{BOT}"));
        scene.fake.wait_for(|world| question(world, GROUP).is_none()).await;
        daemon.until_state(&thread, "idle").await;
    }
    assert_eq!(lines(&scene), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_was_removed_is_not_heard_in_a_group_until_they_are_let_in_again() {
    let scene = scene(json!({ "language": "en" })).await;
    let (ann, eve) = (scene.fake.user(ANN, "Ann"), scene.fake.user(99, "Eve"));
    let (group, private) = (scene.fake.group(GROUP), scene.fake.private(&eve));
    let daemon = scene.project.start().await;
    let let_in = async || {
        private.say(&eve, "may I?");
        daemon.let_in_whoever_asks().await;
    };
    let_in().await;
    group.say(&eve, &format!("{BOT} one"));
    until_said(&scene, GROUP, "one").await;
    assert_eq!(delete(&daemon, "/api/access/telegram:user:99").await.0, 204);
    assert_eq!(daemon.get_json("/api/access").await["removed"][0]["id"], "telegram:user:99");
    group.say(&eve, &format!("{BOT} two"));
    group.say(&ann, &format!("{BOT} three"));
    until_said(&scene, GROUP, "three").await;
    scene.fake.wait_for(|world| world.pending() == 0).await;
    assert!(!scene.fake.read(|world| world.bot_texts(GROUP).iter().any(|text| text.contains("two"))));
    let_in().await;
    group.say(&eve, &format!("{BOT} four"));
    until_said(&scene, GROUP, "four").await;
}
