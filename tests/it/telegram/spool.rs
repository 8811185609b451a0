//! A thread that cannot be written does not block others, and its messages are neither lost nor accepted twice.

use std::path::PathBuf;

use serde_json::json;

use super::scene::{Scene, said};
use crate::fakes::fake_model::Latch;
use crate::fakes::telegram::fault::Fault;
use crate::fakes::telegram::post::{File, Post};

const BOB: &str = "telegram:chat:8";

/// Ann and Bob may write; Bob's thread cannot be read or written, because a folder is in its place.
async fn scene() -> (Scene, PathBuf) {
    let scene = Scene::new(json!({ "adapters": { "telegram": { "allowedUsers": [7, 8] } } })).await;
    let broken = scene.project.thread_file(BOB);
    std::fs::create_dir_all(&broken).unwrap();
    (scene, broken)
}

fn kept(scene: &Scene) -> usize {
    let folder = scene.project.path().join(".ship/state/telegram/spool");
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_in_trouble_stops_nobody_else_and_gets_its_messages_later_once_and_in_order() {
    let (scene, broken) = scene().await;
    let (ann, bob) = (scene.fake.user(7, "Ann"), scene.fake.user(8, "Bob"));
    let (well, ill) = (scene.fake.private(&ann), scene.fake.private(&bob));
    let daemon = scene.project.start().await;
    ill.say(&bob, "first");
    ill.say(&bob, "second");
    // More than one response of Telegram can contain: the offset must pass Bob's.
    for number in 0..120 {
        well.say(&ann, &format!("{number}"));
    }
    scene.fake.wait_for(|world| world.pending() == 0).await;
    well.say(&ann, "the last");
    scene
        .fake
        .wait_for(|world| world.bot_texts(7).last().is_some_and(|text| text.contains("the last")))
        .await;
    assert_eq!(kept(&scene), 2, "what is confirmed is on the disk");
    daemon.kill();
    let daemon = scene.project.start().await;
    ill.say(&bob, "third");
    scene.fake.wait_for(|world| world.pending() == 0).await;
    assert_eq!(kept(&scene), 3);
    std::fs::remove_dir(&broken).unwrap();
    daemon.until("Bob's words", async |daemon| said(daemon, BOB).await.len() == 3).await;
    assert_eq!(said(&daemon, BOB).await, ["first", "second", "third"]);
    scene.fake.wait_for(|world| world.bot_texts(8).iter().any(|text| text.contains("third"))).await;
    daemon.until("an empty folder", async |_| kept(&scene) == 0).await;
    assert!(daemon.stop().await.success());
    let daemon = scene.project.start().await;
    ill.say(&bob, "fourth");
    scene.fake.wait_for(|world| world.bot_texts(8).last().is_some_and(|text| text == "re: fourth")).await;
    assert_eq!(said(&daemon, BOB).await, ["first", "second", "third", "fourth"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_takes_nothing_however_much_is_said_there_makes_the_bot_deaf_to_nobody() {
    let (scene, broken) = scene().await;
    let (ann, bob) = (scene.fake.user(7, "Ann"), scene.fake.user(8, "Bob"));
    let (well, ill) = (scene.fake.private(&ann), scene.fake.private(&bob));
    let daemon = scene.project.start().await;
    // Far more than the spool's limit.
    for number in 0..1300 {
        ill.say(&bob, &number.to_string());
    }
    well.say(&ann, "hello");
    scene.until_said(7, &["re: hello"]).await;
    scene.fake.wait_for(|world| world.pending() == 0).await;
    assert_eq!(kept(&scene), 500, "what is confirmed and not refused is on the disk");
    scene.fake.wait_for(|world| !world.bot_texts(8).is_empty()).await;
    let told = scene.fake.read(|world| world.bot_texts(8));
    assert!(told.len() == 1 && told.iter().all(|text| text.contains("was not taken")), "{told:?}");
    let metrics = daemon.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("messages_total{result=\"refused\"} 800\n"), "{metrics}");
    well.say(&ann, "and you?");
    scene.until_said(7, &["re: hello", "re: and you?"]).await;
    daemon.kill();
    std::fs::remove_dir(&broken).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_even_be_kept_is_not_confirmed_and_goes_on_when_there_is_room() {
    let (scene, broken) = scene().await;
    let (ann, bob) = (scene.fake.user(7, "Ann"), scene.fake.user(8, "Bob"));
    let (well, ill) = (scene.fake.private(&ann), scene.fake.private(&bob));
    let daemon = scene.project.start().await;
    well.say(&ann, "hello");
    scene.until_said(7, &["re: hello"]).await;
    // A file is in the place of the spool folder, so nothing can be stored.
    let folder = scene.project.path().join(".ship/state/telegram/spool");
    scene.project.write(".ship/state/telegram/spool", "full");
    let first = ill.say(&bob, "first");
    well.say(&ann, "and you?");
    scene.until_said(7, &["re: hello", "re: and you?"]).await;
    let polls = scene.fake.read(|world| world.log.calls("getUpdates"));
    scene.fake.wait_for(|world| world.log.calls("getUpdates") > polls + 4).await;
    let (confirmed, update) = scene.fake.read(|world| (world.confirmed(), world.update_of(8, first)));
    assert!(confirmed < update, "{confirmed} passes {update}, which is nowhere");
    std::fs::remove_file(&folder).unwrap();
    scene.fake.wait_for(|world| world.pending() == 0).await;
    assert_eq!(kept(&scene), 1);
    std::fs::remove_dir(&broken).unwrap();
    scene.until_said(8, &["re: first"]).await;
    assert_eq!(said(&daemon, BOB).await, ["first"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_takes_long_does_not_stop_others_however_much_they_write() {
    let scene = Scene::new(json!({ "adapters": { "telegram": { "allowedUsers": [7, 8] } } })).await;
    let (ann, bob) = (scene.fake.user(7, "Ann"), scene.fake.user(8, "Bob"));
    let (busy, slow) = (scene.fake.private(&ann), scene.fake.private(&bob));
    let daemon = scene.project.start().await;
    let gate = Latch::new();
    scene.fake.plan(Fault::Held(gate.clone()).always().on("download"));
    let file = File::new("a.txt", "text/plain", *b"slow");
    slow.post(&bob, Post::file("document", file).captioned("file"));
    slow.say(&bob, "and words behind it");
    for number in 0..250 {
        busy.say(&ann, &number.to_string());
    }
    scene.fake.wait_for(|world| world.pending() == 0).await;
    // What is not accepted yet is on the disk; on a slow machine that may be some of Ann's words for a while.
    daemon.until("Bob's two messages alone on the disk", async |_| kept(&scene) == 2).await;
    gate.open();
    daemon.until("Bob's words", async |daemon| said(daemon, BOB).await.len() == 2).await;
    assert_eq!(said(&daemon, BOB).await, ["file", "and words behind it"]);
    daemon.until("an empty folder", async |_| kept(&scene) == 0).await;
}
