//! Messages of every kind: the right thread, the right answer, in the right place.

use serde_json::json;

use super::scene::{BOT, Scene, messages, said, text_of};
use crate::fakes::fake_model::{Latch, Reply, Script};
use crate::fakes::telegram::post::{Author, File, Post};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_answered_where_they_speak() {
    let scene = Scene::new(json!({})).await;
    let (ann, bob) = (scene.fake.user(7, "Ann"), scene.fake.user(8, "Bob"));
    let (private, group) = (scene.fake.private(&ann), scene.fake.group(-1001));
    let forum = scene.fake.group(-1002).with_topics();
    let topic = forum.topic("Plans");
    let daemon = scene.project.start().await;

    private.say(&ann, "hello");
    scene.until_said(7, &["re: hello"]).await;

    group.say(&bob, "only chatter");
    let asked = group.say(&ann, &format!("😀 {BOT} what now"));
    scene.fake.wait_for(|world| world.bot_texts(-1001).len() == 1).await;
    assert_eq!(said(&daemon, "telegram:chat:-1001").await, ["only chatter", "😀 what now"]);
    let context_only = &messages(&daemon, "telegram:chat:-1001").await[0]["metadata"];
    assert_eq!(
        (&context_only["context"], &context_only["authorId"]),
        (&json!(true), &json!("telegram:user:8"))
    );
    let answer = scene.fake.read(|world| world.visible(-1001).last().unwrap().clone());
    assert_eq!((answer.by_bot, answer.reply_to), (true, Some(asked)));

    group.reply_to(&bob, answer.id, "are you sure?");
    scene.fake.wait_for(|world| world.bot_texts(-1001).len() == 2).await;
    let all = messages(&daemon, "telegram:chat:-1001").await;
    let reply = all.iter().find(|message| text_of(message) == "are you sure?").unwrap();
    assert_eq!(reply["metadata"]["replyTo"]["messageId"], answer.id.to_string());
    assert_eq!(reply["metadata"]["replyTo"]["text"], answer.text);

    forum.say_in_topic(&bob, topic, &format!("{BOT} in the topic"));
    forum.say(&bob, &format!("{BOT} in general"));
    scene.fake.wait_for(|world| world.bot_texts(-1002).len() == 2).await;
    let mut places: Vec<_> = scene.fake.read(|world| {
        let mine = world.visible(-1002).into_iter().filter(|message| message.by_bot);
        mine.map(|message| (message.topic, message.text.contains("general"))).collect()
    });
    places.sort_unstable();
    assert_eq!(places, [(None, true), (Some(topic), false)]);
    assert_eq!(said(&daemon, &format!("telegram:chat:-1002:topic:{topic}")).await, ["in the topic"]);
    assert_eq!(said(&daemon, "telegram:chat:-1002").await, ["in general"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queued_message_is_replaced_and_an_answered_one_is_corrected() {
    let gate = Latch::new();
    let held = gate.clone();
    let script = Script::compute(move |seen| {
        let reply = Reply::text(&format!("re: {}", seen.last_user_text()));
        if seen.last_user_text() == "one" { reply.behind(&held) } else { reply }
    });
    let scene = Scene::with_model(script, json!({})).await;
    let ann = scene.fake.user(7, "Ann");
    let chat = scene.fake.private(&ann);
    let daemon = scene.project.start().await;
    let first = chat.say(&ann, "one");
    scene.model.wait_for_requests(1).await;
    let second = chat.say(&ann, "two");
    chat.edit(second, "two and a half");
    let thread = "telegram:chat:7";
    daemon.until("the edit", async |daemon| said(daemon, thread).await == ["one", "two and a half"]).await;
    gate.open();
    scene.until_said(7, &["re: one", "re: two and a half"]).await;
    chat.edit(first, "one, corrected");
    daemon.until("the correction", async |daemon| said(daemon, thread).await[0] == "one, corrected").await;
    chat.say(&ann, "three");
    scene.until_said(7, &["re: one", "re: two and a half", "re: three"]).await;
    assert_eq!(scene.model.requests().len(), 3, "a correction starts no turn");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_come_with_their_messages_and_an_album_is_one() {
    let scene = Scene::with_model(Reply::text("seen"), json!({})).await;
    let ann = scene.fake.user(7, "Ann");
    let (chat, group) = (scene.fake.private(&ann), scene.fake.group(-1001));
    let daemon = scene.project.start().await;
    let voice = chat.post(&ann, Post::file("voice", File::new("voice.ogg", "audio/ogg", *b"OggS-voice")));
    scene.until_said(7, &["seen"]).await;
    let document = File::new("报告.pdf", "application/pdf", *b"%PDF-1");
    let document = chat.post(&ann, Post::file("document", document).captioned("read this"));
    scene.until_said(7, &["seen", "seen"]).await;
    let picture = |name: &str| Post::file("photo", File::new(name, "image/jpeg", name.as_bytes()));
    let album =
        group.album(&ann, [picture("a").captioned(&format!("{BOT} look")), picture("b"), picture("c")]);
    scene.fake.wait_for(|world| world.bot_texts(-1001) == ["seen"]).await;
    chat.post(&ann, Post::sticker("🚢"));
    scene.until_said(7, &["seen"; 3]).await;

    let all = messages(&daemon, "telegram:chat:7").await;
    let files = |message: &serde_json::Value| -> Vec<(String, String)> {
        let parts = message["parts"].as_array().unwrap().iter().filter(|part| part["type"] == "file");
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        parts.map(|part| (text(&part["mediaType"]), text(&part["url"]))).collect()
    };
    let people: Vec<_> = all.iter().filter(|message| message["role"] == "user").collect();
    let texts: Vec<_> = people.iter().map(|message| text_of(message)).collect();
    assert_eq!(texts, ["", "read this", "[sticker 🚢]"]);
    assert_eq!(people[0]["id"], format!("telegram:7:{voice}"));
    for (message, kind, id, content) in
        [(people[0], "audio/ogg", voice, "OggS-voice"), (people[1], "application/pdf", document, "%PDF-1")]
    {
        let files = files(message);
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].0, kind);
        assert!(files[0].1.contains(&format!("/{id}%2D")), "{files:?}");
        let served = daemon.get(&files[0].1).send().await.unwrap();
        assert_eq!((served.status().as_u16(), served.text().await.unwrap().as_str()), (200, content));
    }
    let album_messages = messages(&daemon, "telegram:chat:-1001").await;
    let album_people: Vec<_> = album_messages.iter().filter(|message| message["role"] == "user").collect();
    assert_eq!(album_people.len(), 1, "three updates, one message");
    assert_eq!(album_people[0]["id"], format!("telegram:-1001:{}", album[0]));
    assert_eq!((text_of(album_people[0]), files(album_people[0]).len()), ("look", 3));
    scene.fake.wait_for(|world| world.pending() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_fetched_is_told() {
    let scene = Scene::with_model(Reply::text("seen"), json!({ "language": "en" })).await;
    let ann = scene.fake.user(7, "Ann");
    let chat = scene.fake.private(&ann);
    let daemon = scene.project.start().await;
    chat.post(&ann, Post::file("video", File::huge("film.mp4", "video/mp4", 30 << 20)));
    scene.fake.wait_for(|world| world.bot_texts(7).len() == 1).await;
    let told = scene.fake.read(|world| world.bot_texts(7));
    assert!(told[0].contains("film.mp4") && told[0].contains("20"), "{told:?}");
    let film = File::huge("film.mp4", "video/mp4", 30 << 20);
    chat.post(&ann, Post::file("video", film).captioned("what is in it?"));
    scene.fake.wait_for(|world| world.bot_texts(7).contains(&"seen".to_owned())).await;
    let words = said(&daemon, "telegram:chat:7").await;
    assert_eq!(words, ["what is in it?\n\n[file: film.mp4 — could not be fetched]"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_moves_keeps_its_thread() {
    let scene = Scene::new(json!({})).await;
    let ann = scene.fake.user(7, "Ann");
    let group = scene.fake.group(-55);
    let daemon = scene.project.start().await;
    group.say(&ann, &format!("{BOT} before"));
    scene.fake.wait_for(|world| world.bot_texts(-55).len() == 1).await;
    let moved = group.migrate(-100_055);
    moved.say(&ann, &format!("{BOT} after"));
    scene.fake.wait_for(|world| world.bot_texts(-100_055).len() == 1 && world.pending() == 0).await;
    assert!(daemon.stop().await.success());
    let daemon = scene.project.start().await;
    moved.say(&ann, &format!("{BOT} later"));
    scene.fake.wait_for(|world| world.bot_texts(-100_055).len() == 2).await;
    assert_eq!(said(&daemon, "telegram:chat:-55").await, ["before", "after", "later"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_person_of_a_group_can_have_a_thread_and_nobody_is_nobody() {
    let extra = json!({ "adapters": { "telegram": { "acknowledge": true,
        "groups": { "threading": "per-user", "respond": "all" } } } });
    let scene = Scene::new(extra).await;
    let (ann, bob) = (scene.fake.user(7, "Ann"), scene.fake.user(8, "Bob"));
    let group = scene.fake.group(-1001);
    let daemon = scene.project.start().await;
    let seen = group.say(&ann, "mine");
    group.say(&bob, "his");
    group.say(Author::Anonymous, "whose");
    scene.fake.wait_for(|world| world.bot_texts(-1001).len() == 3).await;
    for (thread, text) in [("user:7", "mine"), ("user:8", "his"), ("user:-1001", "whose")] {
        assert_eq!(said(&daemon, &format!("telegram:chat:-1001:{thread}")).await, [text]);
    }
    scene.fake.wait_for(|world| world.reaction(-1001, seen) == ["👀"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_turn_that_is_stopped_nothing_stays_but_the_word_that_it_was() {
    let script = Script::compute(|seen| match seen.last_user_text() {
        text if text.contains("forever") => {
            Reply::text("half of an answer that never comes to its end").hang_after(3)
        }
        other => Reply::text(&format!("re: {other}")),
    });
    let scene = Scene::with_model(script, json!({ "llm": { "timeoutSecs": 60 } })).await;
    let ann = scene.fake.user(7, "Ann");
    let group = scene.fake.group(-1001);
    let _daemon = scene.project.start().await;
    for command in ["/stop", "/new"] {
        let before = scene.fake.read(|world| world.bot_texts(-1001));
        group.say(&ann, &format!("{BOT} forever"));
        // Half an answer, or the line about the waiting time.
        let half = |text: &String| text.starts_with("half") || text.starts_with('⏳');
        scene.fake.wait_for(|world| world.bot_texts(-1001).iter().any(half)).await;
        group.say(&ann, &format!("{command}{BOT}"));
        scene
            .fake
            .wait_for(|world| {
                let texts = world.bot_texts(-1001);
                texts.len() > before.len() && !texts.iter().any(half)
            })
            .await;
        assert_eq!(scene.fake.read(|world| world.bot_texts(-1001).len()), before.len() + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_operator_writes_into_a_group_is_shown_there_before_its_answer() {
    let scene = Scene::new(json!({})).await;
    let bob = scene.fake.user(8, "Bob");
    let group = scene.fake.group(-1001);
    let daemon = scene.project.start().await;
    group.say(&bob, &format!("{BOT} hello"));
    scene.until_said(-1001, &["re: hello"]).await;
    let path = "/api/threads/telegram:chat:-1001/messages";
    let sent =
        daemon.post(path, &json!({ "id": "op1", "text": "check the **dock** now" })).send().await.unwrap();
    assert_eq!(sent.status(), 202);
    let shown = ["re: hello", "Operator: check the dock now", "re: check the dock now"];
    scene.until_said(-1001, &shown).await;
    // The same message again changes nothing, and neither does a restart: both deliveries have their receipts.
    let again =
        daemon.post(path, &json!({ "id": "op1", "text": "check the **dock** now" })).send().await.unwrap();
    assert_eq!(again.json::<serde_json::Value>().await.unwrap()["duplicate"], true);
    daemon.until_state("telegram:chat:-1001", "idle").await;
    daemon.kill();
    let daemon = scene.project.start().await;
    group.say(&bob, &format!("{BOT} still there"));
    scene.until_said(-1001, &[shown[0], shown[1], shown[2], "re: still there"]).await;
    drop(daemon);
}
