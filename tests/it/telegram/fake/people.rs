//! The actions of people, and the updates that reach the bot.

use serde_json::{Value, json};

use super::client::Client;
use crate::fakes::telegram::account::{Account, Privacy};
use crate::fakes::telegram::post::{Author, File, Post};
use crate::fakes::telegram::server::FakeTelegram;

#[tokio::test]
async fn what_people_send_looks_as_it_does_on_the_wire() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let ann = fake.user(7, "Ann").called("ann_writes").speaking("zh-hans");
    let bob = fake.user(8, "Bob");
    let helper = fake.user(9, "Gif").called("gif_bot").bot();
    let chat = fake.private(&ann);
    let first = chat.say(&ann, "deploy to https://a.example now");
    let file = || File::new("a.ogg", "audio/ogg", "OggS");
    let shown =
        |update: &Value, pointer: &str| update["message"].pointer(pointer).cloned().unwrap_or_default();
    for (post, expected) in [
        (
            Post::text("😀 /new"),
            vec![("/entities/0/offset", json!(3)), ("/from/language_code", json!("zh-hans"))],
        ),
        (
            Post::text("see Bob").mentioning("Bob", &bob),
            vec![("/entities/0/type", json!("text_mention")), ("/entities/0/user/id", json!(8))],
        ),
        (Post::text("this").replying(first), vec![("/reply_to_message/message_id", json!(first))]),
        (
            Post::text("why?").quoting(first, "to"),
            vec![("/quote/position", json!(7)), ("/reply_to_message/message_id", json!(first))],
        ),
        (
            Post::file("voice", file()),
            vec![("/voice/mime_type", json!("audio/ogg")), ("/voice/duration", json!(3))],
        ),
        (
            Post::file("photo", file()).captioned("look @ship_test_bot"),
            vec![("/photo/1/width", json!(1280)), ("/caption_entities/0/type", json!("mention"))],
        ),
        (Post::file("video", file()), vec![("/video/file_name", json!("a.ogg"))]),
        (Post::sticker("👍"), vec![("/sticker/emoji", json!("👍"))]),
        (Post::location(52.5, 13.4), vec![("/location/latitude", json!(52.5))]),
        (Post::contact("Bob", "+49"), vec![("/contact/phone_number", json!("+49"))]),
        (Post::text("said").forwarded_from(&bob), vec![("/forward_origin/sender_user/id", json!(8))]),
        (Post::text("gif").via(&helper), vec![("/via_bot/username", json!("gif_bot"))]),
        (Post::default().with("poll", json!({})), vec![("/poll", json!({}))]),
    ] {
        chat.post(&ann, post);
        let update = bot.last_update().await;
        for (pointer, value) in expected {
            assert_eq!(shown(&update, pointer), value, "{pointer} in {update}");
        }
    }
    chat.edit(first, "deploy elsewhere");
    let edited = bot.last_update().await["edited_message"].clone();
    assert_eq!((&edited["text"], &edited["message_id"]), (&json!("deploy elsewhere"), &json!(first)));
    assert!(edited.get("entities").is_none());
}

#[tokio::test]
async fn an_album_comes_as_separate_updates_of_one_group() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let ann = fake.user(7, "Ann");
    let photo = || Post::file("photo", File::new("p.jpg", "image/jpeg", "JFIF"));
    let ids = fake.private(&ann).album(&ann, [photo().captioned("two"), photo()]);
    let updates = bot.ok("getUpdates", json!({})).await;
    let groups: Vec<&Value> =
        updates.as_array().unwrap().iter().map(|update| &update["message"]["media_group_id"]).collect();
    assert!(groups.len() == 2 && groups[0] == groups[1] && groups[0].is_string());
    assert_eq!(fake.read(|world| world.update_of(7, ids[1])), fake.read(|world| world.last_update()));
}

#[tokio::test]
async fn those_who_speak_for_a_chat_come_without_a_name_of_their_own() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let group = fake.group(-1_001_000_000_001);
    group.say(Author::Anonymous, "as the group");
    let message = bot.last_update().await["message"].clone();
    assert_eq!(message["sender_chat"]["id"], group.id());
    assert_eq!(message["from"]["username"], "GroupAnonymousBot");
    group.say(Author::Channel { id: -1_005, title: "News".to_owned() }, "as a channel");
    assert_eq!(bot.last_update().await["message"]["sender_chat"]["title"], "News");
    let channel = fake.channel(-1_001_000_000_002);
    let post = channel.say(Author::Anonymous, "a post");
    let update = bot.last_update().await;
    assert_eq!(update["channel_post"]["sender_chat"]["id"], channel.id());
    assert!(update["channel_post"].get("from").is_none());
    channel.edit(post, "a better post");
    assert_eq!(bot.last_update().await["edited_channel_post"]["text"], "a better post");
}

#[tokio::test]
async fn in_privacy_mode_a_group_is_heard_only_where_it_concerns_the_bot() {
    let fake = FakeTelegram::for_bot(Account { privacy: Privacy::On, ..Account::default() }).await;
    let bot = Client::of(&fake);
    let ann = fake.user(7, "Ann");
    let robot = fake.user(9, "Robot").bot();
    let group = fake.group(-1_001_000_000_001);
    let mine = bot.say(group.id(), "I am here").await;
    let heard = |before: usize| fake.read(|world| world.pending()) - before;
    for (privacy, text, expected) in [
        (Privacy::On, "just talking", 0),
        (Privacy::On, "/status", 1),
        (Privacy::On, "/status@ship_test_bot", 1),
        (Privacy::On, "/status@other_bot", 0),
        (Privacy::On, "hey @ship_test_bot", 0),
        (Privacy::OnButMentions, "hey @Ship_Test_Bot", 1),
        (Privacy::OnButMentions, "hey @other_bot", 0),
        (Privacy::Off, "just talking", 1),
    ] {
        fake.reconfigure(|account| account.privacy = privacy);
        let before = fake.read(|world| world.pending());
        group.say(&ann, text);
        assert_eq!(heard(before), expected, "{privacy:?} {text}");
    }
    fake.reconfigure(|account| account.privacy = Privacy::On);
    let before = fake.read(|world| world.pending());
    group.reply_to(&ann, mine, "an answer");
    assert_eq!(heard(before), 1);
    group.promote_bot(&ann);
    group.say(&ann, "to an administrator");
    assert_eq!(heard(before), 3);
    group.say(&robot, "bots do not hear bots");
    assert_eq!(heard(before), 3);
    fake.reconfigure(|account| account.hears_bots = true);
    group.say(&robot, "unless they may");
    assert_eq!(heard(before), 4);
}

#[tokio::test]
async fn the_bot_is_told_where_it_stands_and_held_to_it() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let ann = fake.user(7, "Ann");
    let (chat, group) = (fake.private(&ann), fake.group(-500));
    let status = |update: &Value| update["my_chat_member"]["new_chat_member"]["status"].clone();
    let say = |chat: i64| json!({ "chat_id": chat, "text": "x" });
    chat.remove_bot(&ann);
    assert_eq!(status(&bot.last_update().await), "kicked");
    assert_eq!(bot.refused("sendMessage", say(7)).await, "Forbidden: bot was blocked by the user");
    chat.unblock(&ann);
    assert_eq!(status(&bot.last_update().await), "member");
    bot.say(7, "again").await;
    group.remove_bot(&ann);
    assert_eq!(bot.refused("sendMessage", say(-500)).await, "Forbidden: bot was kicked from the group chat");
    assert_eq!(bot.refused("getChat", say(-500)).await, "Forbidden: bot was kicked from the group chat");
    group.say(&ann, "behind its back");
    assert_eq!(status(&bot.last_update().await), "kicked");
    group.add_bot(&ann);
    assert_eq!(bot.last_update().await["message"]["new_chat_members"][0]["id"], Account::ID);
    let bob = fake.user(8, "Bob");
    let unstarted = fake.private(&bob).unstarted();
    assert_eq!(
        bot.refused("sendMessage", say(8)).await,
        "Forbidden: bot can't initiate conversation with a user"
    );
    unstarted.say(&bob, "/start");
    bot.say(8, "welcome").await;
}

#[tokio::test]
async fn a_group_that_grows_gets_a_new_number_and_says_so() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let ann = fake.user(7, "Ann");
    let group = fake.group(-500);
    group.say(&ann, "small");
    let grown = group.migrate(-1_001_000_000_500);
    let answer = bot.call("sendMessage", json!({ "chat_id": -500, "text": "x" })).await;
    assert_eq!(answer["description"], "Bad Request: group chat was upgraded to a supergroup chat");
    assert_eq!(answer["parameters"]["migrate_to_chat_id"], grown.id());
    let updates = bot.ok("getUpdates", json!({})).await;
    assert_eq!(updates[1]["message"]["migrate_to_chat_id"], grown.id());
    assert_eq!(updates[2]["message"]["migrate_from_chat_id"], -500);
    grown.say(&ann, "large");
    bot.say(grown.id(), "still here").await;
}

#[tokio::test]
async fn anything_can_be_put_among_the_updates() {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let unknown = fake.raw_update(json!({ "something_new": { "x": 1 } }));
    fake.raw_update(json!({ "update_id": unknown + 10, "message": 5 }));
    fake.raw_update(json!("not even an object"));
    let updates = bot.ok("getUpdates", json!({})).await;
    assert_eq!(updates[0], json!({ "something_new": { "x": 1 }, "update_id": unknown }));
    assert_eq!(updates[1]["message"], 5);
    assert_eq!(updates[2], "not even an object");
}
