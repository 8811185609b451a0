//! Access on Telegram: pairing, allowed chats, refusals.

use serde_json::json;

use super::scene::{BOT, Scene, said};
use crate::access::audit::delete;
use crate::fakes::telegram::fault::Fault;
use crate::fakes::telegram::log::Deed;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_gets_a_code_and_is_answered_once_the_operator_confirmed_it() {
    let scene = Scene::new(json!({ "language": "en" })).await;
    let eve = scene.fake.user(99, "Eve");
    let chat = scene.fake.private(&eve);
    let daemon = scene.project.start().await;
    chat.say(&eve, "/start");
    scene.fake.wait_for(|world| world.bot_texts(99).len() == 1).await;
    chat.say(&eve, "let me in");
    scene.fake.wait_for(|world| world.pending() == 0).await;
    let asking = daemon.get_json("/api/access").await["asking"].clone();
    assert_eq!(
        (asking[0]["id"].as_str(), asking[0]["name"].as_str()),
        (Some("telegram:user:99"), Some("Eve"))
    );
    let code = asking[0]["code"].as_str().unwrap().to_owned();
    let told = scene.fake.read(|world| world.bot_texts(99));
    assert_eq!(told.len(), 1, "the code is said once: {told:?}");
    assert!(told[0].contains(&code), "{told:?}");
    let answer = daemon.post("/api/access/approve", &json!({ "code": code })).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    chat.say(&eve, "hello");
    scene.fake.wait_for(|world| world.bot_texts(99).contains(&"re: hello".to_owned())).await;
    assert_eq!(said(&daemon, "telegram:chat:99").await, ["hello"], "nothing was taken before");
    chat.say(&eve, "/start");
    scene.fake.wait_for(|world| world.bot_texts(99).last().unwrap().contains("/help")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_is_added_to_the_settings_is_answered_without_a_restart() {
    let scene = Scene::new(json!({ "language": "en" })).await;
    let eve = scene.fake.user(99, "Eve");
    let chat = scene.fake.private(&eve);
    let daemon = scene.project.start().await;
    chat.say(&eve, "hello");
    scene.fake.wait_for(|world| world.bot_texts(99).len() == 1).await;
    let set = scene.project.run(&["config", "set", "adapters.telegram.allowedUsers", "[99]"]);
    assert_eq!(set.code, Some(0), "{set:?}");
    let restarted = "adapter restarted with new settings";
    daemon.until("the adapter has its new settings", async |_| scene.project.log().contains(restarted)).await;
    chat.say(&eve, "hello again");
    scene.fake.wait_for(|world| world.bot_texts(99).contains(&"re: hello again".to_owned())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_was_invited_is_let_in_by_the_link_and_the_link_is_good_once() {
    let scene = Scene::new(json!({ "language": "en" })).await;
    let (eve, bob) = (scene.fake.user(99, "Eve"), scene.fake.user(98, "Bob"));
    let (chat, other) = (scene.fake.private(&eve), scene.fake.private(&bob));
    let daemon = scene.project.start().await;
    let printed = scene.project.run(&["access", "invite", "--role", "guest"]);
    let code = printed.stdout.lines().next().unwrap().to_owned();
    assert!(printed.stdout.contains(&format!("?start={code}")), "{printed:?}");
    chat.say(&eve, &format!("/start {code}"));
    scene.fake.wait_for(|world| world.bot_texts(99).iter().any(|text| text.contains("/help"))).await;
    chat.say(&eve, "hello");
    scene.fake.wait_for(|world| world.bot_texts(99).contains(&"re: hello".to_owned())).await;
    let people = daemon.get_json("/api/access").await["people"].clone();
    assert_eq!((&people[0]["id"], &people[0]["role"]), (&json!("telegram:user:99"), &json!("guest")));
    other.say(&bob, &format!("/start {code}"));
    scene.fake.wait_for(|world| world.bot_texts(98).len() == 1).await;
    let asking = daemon.get_json("/api/access").await["asking"].clone();
    assert_eq!(asking[0]["id"], "telegram:user:98", "whoever comes second is a stranger");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_may_be_met_with_silence_and_closed_groups_are() {
    let scene = Scene::new(json!({ "adapters": { "telegram": { "pairing": "silent" } } })).await;
    let (ann, eve) = (scene.fake.user(7, "Ann"), scene.fake.user(99, "Eve"));
    let (private, closed) = (scene.fake.private(&eve), scene.fake.group(-1009));
    let chat = scene.fake.private(&ann);
    let daemon = scene.project.start().await;
    private.say(&eve, "hello?");
    closed.say(&eve, &format!("{BOT} hello?"));
    chat.say(&ann, "hello");
    scene.until_said(7, &["re: hello"]).await;
    scene.fake.wait_for(|world| world.pending() == 0).await;
    let sent = |chat| scene.fake.read(|world| world.log.sent(chat).len());
    assert_eq!((sent(99), sent(-1009)), (0, 0));
    assert_eq!(daemon.get_json("/api/access").await["asking"][0]["id"], "telegram:user:99");
    assert_eq!(daemon.get_json("/api/threads").await["threads"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_is_not_served_is_left_and_an_owner_opens_one() {
    let scene = Scene::new(json!({ "language": "en" })).await;
    let (boss, eve) = (scene.fake.user(1, "Boss"), scene.fake.user(99, "Eve"));
    let (closed, opened) = (scene.fake.group(-1008), scene.fake.group(-1009));
    closed.remove_bot(&eve);
    opened.remove_bot(&boss);
    let _daemon = scene.project.start().await;
    // Also where the server fails for a moment.
    for method in ["sendMessage", "leaveChat"] {
        scene.fake.plan(Fault::BadGateway.once().on(method).in_chat(-1008));
    }
    closed.add_bot(&eve);
    scene.fake.wait_for(|world| world.log.deeds(-1008).any(|deed| *deed == Deed::Left)).await;
    let told = scene.fake.read(|world| world.bot_texts(-1008));
    assert!(told.len() == 1 && told[0].contains("not set up"), "{told:?}");
    opened.add_bot(&boss);
    scene.fake.wait_for(|world| world.pending() == 0).await;
    opened.say(&eve, &format!("{BOT} may I?"));
    scene.fake.wait_for(|world| world.bot_texts(-1009).len() == 1).await;
    assert!(!scene.fake.read(|world| world.log.deeds(-1009).any(|deed| *deed == Deed::Left)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_brings_the_bot_to_a_group_that_is_served_it_stays_there() {
    let scene = Scene::new(json!({ "language": "en" })).await;
    let eve = scene.fake.user(99, "Eve");
    let (served, closed) = (scene.fake.group(-1001), scene.fake.group(-1008));
    served.remove_bot(&eve);
    closed.remove_bot(&eve);
    let private = scene.fake.private(&eve);
    let daemon = scene.project.start().await;
    private.say(&eve, "may I?");
    daemon.let_in_whoever_asks().await;
    assert_eq!(delete(&daemon, "/api/access/telegram:user:99").await.0, 204);
    served.add_bot(&eve);
    closed.add_bot(&eve);
    scene.fake.wait_for(|world| world.log.deeds(-1008).any(|deed| *deed == Deed::Left)).await;
    let ann = scene.fake.user(7, "Ann");
    served.say(&ann, &format!("{BOT} still here?"));
    scene.fake.wait_for(|world| world.bot_texts(-1001) == ["re: still here?"]).await;
    assert!(!scene.fake.read(|world| world.log.deeds(-1001).any(|deed| *deed == Deed::Left)));
}
