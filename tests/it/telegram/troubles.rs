//! Failures between Telegram and the daemon, and recovery from them.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scene::{Scene, messages, said};
use crate::fakes::fake_model::{Latch, Reply, Script};
use crate::fakes::telegram::answer::Refusal;
use crate::fakes::telegram::fault::Fault;
use crate::fakes::telegram::log::Deed;
use crate::fakes::telegram::post::{File, Post};

/// An address that is still free when the daemon listens there: its port is below the ephemeral range, and every
/// process starts its search elsewhere.
fn own_address() -> SocketAddr {
    let ports = (0..20_000).map(|step| 10_000 + (std::process::id() * 7 + step) % 20_000);
    let mut addresses = ports.map(|port| SocketAddr::from(([127, 0, 0, 1], u16::try_from(port).unwrap())));
    addresses.find(|address| TcpListener::bind(address).is_ok()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_update_given_again_does_nothing_also_after_a_restart() {
    let scene = Scene::new(json!({})).await;
    let ann = scene.fake.user(7, "Ann");
    let chat = scene.fake.private(&ann);
    let daemon = scene.project.start().await;
    let first = chat.say(&ann, "one");
    scene.until_said(7, &["re: one"]).await;
    scene.fake.wait_for(|world| world.pending() == 0).await;
    let update = scene.fake.read(|world| world.update_of(7, first));
    scene.fake.redeliver(update);
    scene.fake.wait_for(|world| world.pending() == 0).await;
    chat.say(&ann, "two");
    scene.until_said(7, &["re: one", "re: two"]).await;
    // A kill between an answer and its receipt may send it twice; another test covers that.
    assert!(daemon.stop().await.success());
    scene.fake.redeliver(update);
    let daemon = scene.project.start().await;
    scene.fake.wait_for(|world| world.pending() == 0).await;
    chat.say(&ann, "three");
    scene.until_said(7, &["re: one", "re: two", "re: three"]).await;
    assert_eq!(said(&daemon, "telegram:chat:7").await, ["one", "two", "three"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn polling_survives_whatever_comes() {
    let scene = Scene::new(json!({})).await;
    let ann = scene.fake.user(7, "Ann");
    let chat = scene.fake.private(&ann);
    let _daemon = scene.project.start().await;
    for update in [
        json!("not even an object"),
        json!({}),
        json!({ "message": "a text" }),
        json!({ "message": { "message_id": "five", "chat": {} } }),
        json!({ "message": { "message_id": 5, "chat": { "id": 7, "type": "private" }, "from": { "id": 7 } } }),
        json!({ "brand_new_kind": { "x": [1, 2, 3] } }),
        json!({ "callback_query": { "id": "1" } }),
    ] {
        scene.fake.raw_update(update);
    }
    chat.say(&ann, "0");
    let mut expected = vec!["re: 0".to_owned()];
    scene.fake.wait_for(|world| world.bot_texts(7) == expected).await;
    let troubles = [
        Fault::conflict(),
        Fault::BadGateway,
        Fault::ResetBefore,
        Fault::ResetAfter,
        Fault::Truncated,
        Fault::Stall(Duration::from_secs(1)),
        Fault::too_many(1),
    ];
    for (number, trouble) in troubles.into_iter().enumerate() {
        scene.fake.plan(trouble.times(2).on("getUpdates"));
        chat.say(&ann, &(number + 1).to_string());
        expected.push(format!("re: {}", number + 1));
        scene.fake.wait_for(|world| world.bot_texts(7) == expected).await;
    }
    scene.fake.wait_for(|world| world.pending() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_file_keeps_nobody_waiting_and_is_not_confirmed_before_it_is_durable() {
    let gate = Latch::new();
    let script = Script::compute(move |seen| match seen.last_user_text() {
        "forever" => Reply::hang(),
        other => Reply::text(&format!("re: {other}")),
    });
    let scene =
        Scene::with_model(script, json!({ "adapters": { "telegram": { "allowedUsers": [7, 8] } } })).await;
    let (ann, bob) = (scene.fake.user(7, "Ann"), scene.fake.user(8, "Bob"));
    let (slow, quick) = (scene.fake.private(&ann), scene.fake.private(&bob));
    let daemon = scene.project.start().await;
    scene.fake.plan(Fault::Held(gate.clone()).always().on("download"));
    slow.say(&ann, "forever");
    scene.model.wait_for_requests(1).await;
    let file =
        slow.post(&ann, Post::file("document", File::new("a.txt", "text/plain", *b"slow")).captioned("file"));
    quick.say(&bob, "quick");
    scene.until_said(8, &["re: quick"]).await;
    slow.say(&ann, "/stop");
    daemon.until_state("telegram:chat:7", "idle").await;
    let spool = scene.project.path().join(".ship/state/telegram/spool");
    let (confirmed, update) = scene.fake.read(|world| (world.confirmed(), world.update_of(7, file)));
    let stored = std::fs::read_dir(spool).map_or(0, Iterator::count);
    assert!(confirmed < update || stored == 1, "{confirmed} passes {update}, and {stored} are on the disk");
    daemon.kill();
    gate.open();
    let daemon = scene.project.start().await;
    scene
        .fake
        .wait_for(|world| {
            world.pending() == 0 && world.bot_texts(7).last().is_some_and(|t| t.starts_with("re:"))
        })
        .await;
    let all = messages(&daemon, "telegram:chat:7").await;
    let files = all.iter().filter(|message| message["id"] == format!("telegram:7:{file}")).count();
    assert_eq!(files, 1);
    scene.until_said(8, &["re: quick"]).await;
}

/// The daemon's log so far.
fn logged(scene: &Scene) -> String {
    let files = std::fs::read_dir(scene.project.path().join(".ship/logs")).into_iter().flatten().flatten();
    files.map(|file| std::fs::read_to_string(file.path()).unwrap_or_default()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_token_is_told_in_the_log_without_the_token() {
    let scene = Scene::new(json!({ "adapters": { "telegram": { "botToken": "123:wrong-canary" } } })).await;
    let mut child = scene.project.command(&["run"]).stderr(std::process::Stdio::null()).spawn().unwrap();
    let deadline = tokio::time::Instant::now() + crate::fakes::daemon::PATIENCE;
    let log = loop {
        let log = logged(&scene);
        if log.contains("does not accept the bot token") || tokio::time::Instant::now() > deadline {
            break log;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(log.contains("telegram does not accept the bot token") && log.contains("@BotFather"), "{log}");
    assert!(!log.contains("wrong-canary"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_comes_late_is_waited_for() {
    let scene = Scene::new(json!({})).await;
    let ann = scene.fake.user(7, "Ann");
    let chat = scene.fake.private(&ann);
    scene.fake.plan(Fault::BadGateway.times(2).on("getMe"));
    chat.say(&ann, "before the start");
    let _daemon = scene.project.start().await;
    scene.until_said(7, &["re: before the start"]).await;
    let first = scene.fake.read(|world| world.log.of("getUpdates").next().map(|entry| entry.deed.clone()));
    assert!(matches!(first, Some(Deed::Polled { offset: None, .. })), "{first:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updates_come_through_the_hook_and_only_from_telegram() {
    let free = own_address();
    let url = format!("http://{free}/hooks/telegram");
    let extra = json!({ "adapters": {
        "telegram": { "mode": "webhook", "webhookUrl": url },
        "web": { "listen": free.to_string(), "token": crate::fakes::daemon::TOKEN },
    } });
    let scene = Scene::new(extra).await;
    let ann = scene.fake.user(7, "Ann");
    let chat = scene.fake.private(&ann);
    let daemon = scene.project.start().await;
    chat.say(&ann, "hello");
    scene.until_said(7, &["re: hello"]).await;
    scene.fake.wait_for(|world| world.pending() == 0).await;
    let forged: Value = json!({ "update_id": 1, "message": { "message_id": 900, "date": 1, "text": "forged",
        "chat": { "id": 7, "type": "private" }, "from": { "id": 7, "first_name": "Ann" } } });
    let answer = daemon.http.post(&url).header("x-telegram-bot-api-secret-token", "guess");
    let answer = answer.body(forged.to_string()).send().await.unwrap();
    assert_eq!(answer.status(), 401);
    assert_eq!(said(&daemon, "telegram:chat:7").await, ["hello"]);
    assert_eq!(scene.fake.read(|world| world.log.calls("getUpdates")), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stall_of_thirty_seconds_holds_up_one_answer_and_nobody_else() {
    let scene = Scene::new(json!({ "adapters": { "telegram": { "allowedUsers": [7, 8] } } })).await;
    let (ann, bob) = (scene.fake.user(7, "Ann"), scene.fake.user(8, "Bob"));
    let (slow, quick) = (scene.fake.private(&ann), scene.fake.private(&bob));
    let _daemon = scene.project.start().await;
    scene.fake.plan(Fault::Stall(Duration::from_secs(30)).once().on("sendMessage").in_chat(7));
    let began = Instant::now();
    slow.say(&ann, "one");
    slow.say(&ann, "two");
    for number in 0..10 {
        quick.say(&bob, &number.to_string());
        scene
            .fake
            .wait_for(|world| world.bot_texts(8).last().is_some_and(|text| *text == format!("re: {number}")))
            .await;
    }
    assert_eq!(scene.fake.read(|world| world.bot_texts(7)), Vec::<String>::new(), "it stalls still");
    scene.until_said(7, &["re: one", "re: two"]).await;
    assert!(
        began.elapsed() >= Duration::from_secs(29),
        "sent again before the stall was over, it shows twice afterwards"
    );
    scene.fake.wait_for(|world| world.pending() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_say_how_the_hook_fares_keeps_no_update_waiting() {
    let free = own_address();
    let extra = json!({ "adapters": {
        "telegram": { "mode": "webhook", "webhookUrl": format!("http://{free}/hooks/telegram") },
        "web": { "listen": free.to_string(), "token": crate::fakes::daemon::TOKEN },
    } });
    let scene = Scene::new(extra).await;
    let ann = scene.fake.user(7, "Ann");
    let chat = scene.fake.private(&ann);
    let gate = Latch::new();
    scene.fake.plan(Fault::Held(gate.clone()).always().on("getWebhookInfo"));
    let _daemon = scene.project.start().await;
    chat.say(&ann, "hello");
    scene.until_said(7, &["re: hello"]).await;
    scene.fake.wait_for(|world| world.pending() == 0).await;
    let given_up = "webhook check failed";
    assert!(!logged(&scene).contains(given_up), "answered only after the question was given up");
    gate.open();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_refused_for_a_moment_is_no_end() {
    let scene = Scene::new(json!({})).await;
    let ann = scene.fake.user(7, "Ann");
    let chat = scene.fake.private(&ann);
    let _daemon = scene.project.start().await;
    chat.say(&ann, "one");
    scene.until_said(7, &["re: one"]).await;
    scene.fake.plan(Fault::Refuse(Refusal::new(401, "Unauthorized")).times(2).on("getUpdates"));
    scene.fake.plan(Fault::Refuse(Refusal::new(429, "Too Many Requests")).once().on("getUpdates"));
    chat.say(&ann, "two");
    scene.until_said(7, &["re: one", "re: two"]).await;
}
