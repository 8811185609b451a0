//! What the bot may send, and the errors for the rest.

use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use super::client::Client;
use crate::fakes::telegram::account::User;
use crate::fakes::telegram::log::Deed;
use crate::fakes::telegram::people::Chat;
use crate::fakes::telegram::post::{File, Post};
use crate::fakes::telegram::server::FakeTelegram;
use crate::fakes::telegram::world::Press;

const FORUM: i64 = -1_001_000_000_001;

/// A person who writes to the bot, and a group with topics.
async fn stage() -> (FakeTelegram, Client, User, Chat, Chat) {
    let fake = FakeTelegram::start().await;
    let bot = Client::of(&fake);
    let ann = fake.user(7, "Ann").called("ann_writes").speaking("zh-hans");
    let chat = fake.private(&ann);
    let forum = fake.group(FORUM).with_topics().with_admin(&ann);
    (fake, bot, ann, chat, forum)
}

fn keyboard(data: &str) -> Value {
    json!({ "inline_keyboard": [[{ "text": "Yes", "callback_data": data }]] })
}

#[tokio::test]
async fn a_message_that_breaks_a_rule_is_refused_in_the_words_of_the_server() {
    let (_fake, bot, _, _, forum) = stage().await;
    let topic = forum.topic("Deploys");
    for (params, words) in [
        (json!({ "text": "x" }), "chat_id is empty"),
        (json!({ "chat_id": 7 }), "message text is empty"),
        (json!({ "chat_id": 7, "text": "" }), "message text is empty"),
        (json!({ "chat_id": 7, "text": " \n " }), "text must be non-empty"),
        (json!({ "chat_id": 7, "text": "<b></b>", "parse_mode": "HTML" }), "message text is empty"),
        (json!({ "chat_id": 7, "text": "😀".repeat(2049) }), "message is too long"),
        (
            json!({ "chat_id": 7, "text": "<br>", "parse_mode": "HTML" }),
            "can't parse entities: Unsupported start tag \"br\" at byte offset 0",
        ),
        (json!({ "chat_id": 7, "text": "x", "parse_mode": "Html5" }), "unsupported parse_mode"),
        (json!({ "chat_id": 7, "text": "x", "entities": 3 }), "can't parse entities"),
        (
            json!({ "chat_id": 7, "text": "x", "entities": [{ "type": "bold", "offset": 1, "length": 1 }] }),
            "can't parse entities: entity {\"type\":\"bold\",\"offset\":1,\"length\":1} is out of the text",
        ),
        (json!({ "chat_id": 8, "text": "x" }), "chat not found"),
        (
            json!({ "chat_id": 7, "text": "x", "reply_parameters": { "message_id": 99 } }),
            "message to be replied not found",
        ),
        (json!({ "chat_id": 7, "text": "x", "reply_to_message_id": 99 }), "message to be replied not found"),
        (
            json!({ "chat_id": FORUM, "text": "x", "message_thread_id": 1 + topic }),
            "message thread not found",
        ),
        (json!({ "chat_id": 7, "text": "x", "message_thread_id": 1 }), "message thread not found"),
        (json!({ "chat_id": FORUM, "text": "x", "message_thread_id": 1 }), "message thread not found"),
        (json!({ "chat_id": 7, "text": "x", "reply_markup": keyboard("") }), "BUTTON_DATA_INVALID"),
        (
            json!({ "chat_id": 7, "text": "x", "reply_markup": keyboard(&"é".repeat(33)) }),
            "BUTTON_DATA_INVALID",
        ),
        (
            json!({ "chat_id": 7, "text": "x", "reply_markup": { "inline_keyboard": [[{ "text": "a" }]] } }),
            "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
        ),
        (json!({ "chat_id": 7, "text": "x", "reply_markup": "{" }), "can't parse reply_markup JSON object"),
    ] {
        assert_eq!(
            bot.refused("sendMessage", params.clone()).await,
            format!("Bad Request: {words}"),
            "{params}"
        );
    }
}

#[tokio::test]
async fn a_message_comes_back_whole_and_stands_where_it_was_sent() {
    let (fake, bot, ann, chat, forum) = stage().await;
    let general = forum.say(&ann, "in General");
    let topic = forum.topic("Deploys");
    let asked = forum.say_in_topic(&ann, topic, "deploy it please");
    let params = json!({ "chat_id": FORUM, "message_thread_id": topic, "text": "<b>done</b> @ann_writes",
        "parse_mode": "HTML", "reply_parameters": { "message_id": asked, "quote": "it" },
        "reply_markup": keyboard("y") });
    let sent = bot.ok("sendMessage", params).await;
    assert_eq!(sent["text"], "done @ann_writes");
    let kinds: Vec<&Value> = sent["entities"].as_array().unwrap().iter().map(|e| &e["type"]).collect();
    assert_eq!(kinds, ["bold", "mention"]);
    assert_eq!(
        sent["chat"],
        json!({ "id": FORUM, "type": "supergroup",
        "title": format!("supergroup {FORUM}"), "is_forum": true })
    );
    assert_eq!((&sent["from"]["is_bot"], &sent["is_topic_message"]), (&json!(true), &json!(true)));
    assert_eq!((&sent["message_thread_id"], &sent["quote"]["position"]), (&json!(topic), &json!(7)));
    assert_eq!(sent["reply_to_message"]["text"], "deploy it please");
    assert!(sent["reply_to_message"].get("reply_to_message").is_none(), "one level only");
    let lenient = json!({ "message_id": 99, "allow_sending_without_reply": true });
    let alone =
        bot.ok("sendMessage", json!({ "chat_id": 7, "text": "x", "reply_parameters": lenient })).await;
    assert!(alone.get("reply_to_message").is_none());
    bot.say(FORUM, "to General").await;
    let now = fake.read(|world| world.visible(FORUM));
    let places: Vec<_> = now.iter().map(|m| (m.by_bot, m.topic, m.reply_to)).collect();
    assert_eq!(
        places,
        [
            (false, None, None),
            (false, Some(topic), Some(topic)),
            (true, Some(topic), Some(asked)),
            (true, None, None)
        ]
    );
    assert_eq!(now[2].labels(), ["Yes"]);
    assert_eq!(now[2].entities.len(), 2);
    assert_eq!(general, 1);
    assert_eq!(fake.read(|world| world.log.sent(chat.id()).join("|")), "x");
    assert!(fake.read(|world| world.visible_text(FORUM)).contains("#2 Ship: done @ann_writes [Yes]"));
}

#[tokio::test]
async fn the_limit_counts_what_is_read_and_not_the_markup() {
    let (_fake, bot, _, _, _) = stage().await;
    let text = format!("<b>{}</b>", "&amp;".repeat(4096));
    bot.ok("sendMessage", json!({ "chat_id": 7, "text": text, "parse_mode": "HTML" })).await;
    let entities = json!([{ "type": "code", "offset": 0, "length": 2 }]);
    let sent = bot.ok("sendMessage", json!({ "chat_id": 7, "text": "ab c", "entities": entities })).await;
    assert_eq!(sent["entities"], entities);
}

#[tokio::test]
async fn an_edit_changes_what_is_seen_or_says_that_nothing_changed() {
    let (fake, bot, ann, chat, _) = stage().await;
    let theirs = chat.say(&ann, "mine");
    let sent = json!({ "chat_id": 7, "text": "one", "reply_markup": keyboard("y") });
    let id = bot.ok("sendMessage", sent).await["message_id"].clone();
    let edit = |id: &Value, text: &str, markup: Value| json!({ "chat_id": 7, "message_id": id, "text": text, "reply_markup": markup });
    assert!(
        bot.refused("editMessageText", edit(&id, "one", keyboard("y")))
            .await
            .starts_with("Bad Request: message is not modified: ")
    );
    let changed = bot.ok("editMessageText", edit(&id, "two", keyboard("y"))).await;
    assert!(changed["edit_date"].is_i64());
    assert_eq!(fake.read(|world| world.visible_text(7)), "Ann: mine\nShip: two [Yes]\n");
    bot.ok("editMessageText", edit(&id, "two", Value::Null)).await;
    assert_eq!(fake.read(|world| world.visible_text(7)), "Ann: mine\nShip: two\n");
    let keys = json!({ "chat_id": 7, "message_id": id, "reply_markup": keyboard("z") });
    bot.ok("editMessageReplyMarkup", keys).await;
    assert_eq!(fake.read(|world| world.visible_text(7)), "Ann: mine\nShip: two [Yes]\n");
    for (method, params, words) in [
        ("editMessageText", edit(&json!(99), "x", Value::Null), "message to edit not found"),
        ("editMessageText", edit(&json!(theirs), "x", Value::Null), "message can't be edited"),
        ("editMessageText", edit(&id, "", Value::Null), "message text is empty"),
        ("editMessageText", json!({ "chat_id": 7, "text": "x" }), "message identifier is not specified"),
        ("editMessageCaption", edit(&id, "", Value::Null), "there is no caption in the message to edit"),
        ("deleteMessage", json!({ "chat_id": 7, "message_id": 99 }), "message to delete not found"),
    ] {
        assert_eq!(bot.refused(method, params).await, format!("Bad Request: {words}"));
    }
    bot.ok("deleteMessage", json!({ "chat_id": 7, "message_id": id })).await;
    assert_eq!(fake.read(|world| world.visible_text(7)), "Ann: mine\n");
    assert_eq!(fake.read(|world| world.log.sent(7).len()), 1, "the log forgets nothing");
}

#[tokio::test]
async fn a_press_is_answered_once() {
    let (fake, bot, ann, chat, _) = stage().await;
    let sent = json!({ "chat_id": 7, "text": "sure?", "reply_markup": keyboard("ok:1") });
    let id = bot.ok("sendMessage", sent).await["message_id"].as_i64().unwrap();
    let query = chat.press(&ann, id, "Yes");
    let update = bot.last_update().await;
    assert_eq!(update["callback_query"]["data"], "ok:1");
    assert_eq!(update["callback_query"]["message"]["text"], "sure?");
    assert_eq!(fake.read(|world| world.press(&query).clone()), Press::Waiting);
    let answer = json!({ "callback_query_id": query, "text": "thanks", "show_alert": true });
    bot.ok("answerCallbackQuery", answer.clone()).await;
    assert_eq!(fake.read(|world| world.press(&query).clone()), Press::Answered(Some("thanks".to_owned())));
    let too_old = "Bad Request: query is too old and response timeout expired or query ID is invalid";
    assert_eq!(bot.refused("answerCallbackQuery", answer).await, too_old);
    assert_eq!(bot.refused("answerCallbackQuery", json!({ "callback_query_id": "1" })).await, too_old);
    let long = json!({ "callback_query_id": query, "text": "x".repeat(201) });
    assert_eq!(bot.refused("answerCallbackQuery", long).await, "Bad Request: MESSAGE_TOO_LONG");
    chat.erase(id);
    chat.press_data(&ann, id, "ok:1");
    assert_eq!(bot.last_update().await["callback_query"]["message"]["date"], 0, "a message out of reach");
}

fn part(name: &str, bytes: Vec<u8>) -> Part {
    Part::bytes(bytes).file_name(name.to_owned()).mime_str("text/plain").unwrap()
}

#[tokio::test]
async fn files_go_up_and_come_down_within_their_limits() {
    let (fake, bot, ann, chat, _) = stage().await;
    let form = Form::new().text("chat_id", "7").text("caption", "<i>log</i>").text("parse_mode", "HTML");
    let sent =
        bot.upload("sendDocument", form.part("document", part("a.log", b"\r\n--x\r\n".to_vec()))).await;
    let file = sent["result"]["document"].clone();
    assert_eq!((&file["file_name"], &file["mime_type"]), (&json!("a.log"), &json!("text/plain")));
    let found = bot.ok("getFile", json!({ "file_id": file["file_id"] })).await;
    let body = bot.fetch(found["file_path"].as_str().unwrap()).await.unwrap().bytes().await.unwrap();
    assert_eq!(&body[..], b"\r\n--x\r\n");
    for (method, kind) in
        [("sendPhoto", "photo"), ("sendVoice", "voice"), ("sendAudio", "audio"), ("sendVideo", "video")]
    {
        let again = bot.ok(method, json!({ "chat_id": 7, kind: file["file_id"], "caption": kind })).await;
        assert!(again.get(kind).is_some(), "{method}");
    }
    bot.ok("sendPhoto", json!({ "chat_id": 7, "photo": "https://a.example/p.jpg" })).await;
    let media: Vec<_> =
        fake.read(|world| world.visible(7)).into_iter().filter_map(|seen| seen.media).collect();
    assert_eq!(media, ["document", "photo", "voice", "audio", "video", "photo"]);
    for (method, params, words) in [
        ("sendDocument", json!({ "chat_id": 7 }), "there is no document in the request"),
        (
            "sendDocument",
            json!({ "chat_id": 7, "document": "x" }),
            "wrong file identifier/HTTP URL specified",
        ),
        (
            "sendPhoto",
            json!({ "chat_id": 7, "photo": "x", "caption": "x".repeat(1025) }),
            "message caption is too long",
        ),
        ("getFile", json!({ "file_id": "x" }), "wrong file_id or the file is temporarily unavailable"),
    ] {
        assert_eq!(bot.refused(method, params).await, format!("Bad Request: {words}"));
    }
    let empty = Form::new().text("chat_id", "7").part("document", part("e", Vec::new()));
    assert_eq!(bot.upload("sendDocument", empty).await["description"], "Bad Request: file must be non-empty");
    chat.post(&ann, Post::file("document", File::huge("dump.bin", "application/zip", 21 << 20)));
    let huge = bot.last_update().await["message"]["document"]["file_id"].clone();
    assert_eq!(bot.refused("getFile", json!({ "file_id": huge })).await, "Bad Request: file is too big");
    let caption = json!({ "chat_id": 7, "message_id": 1, "caption": "changed" });
    bot.ok("editMessageCaption", caption).await;
    assert_eq!(fake.read(|world| world.bot_texts(7).swap_remove(0)), "changed");
    let text = json!({ "chat_id": 7, "message_id": 1, "text": "x" });
    assert_eq!(
        bot.refused("editMessageText", text).await,
        "Bad Request: there is no text in the message to edit"
    );
    assert!(fake.read(|world| {
        world.log.of("download").any(|entry| matches!(entry.deed, Deed::Fetched { bytes: 7, .. }))
    }));
}

#[tokio::test]
async fn an_album_has_two_to_ten_of_what_goes_together() {
    let (fake, bot, _, _, _) = stage().await;
    let album = |items: Value| Form::new().text("chat_id", "7").text("media", items.to_string());
    let item = |kind: &str, at: usize| json!({ "type": kind, "media": format!("attach://f{at}") });
    let mut first = item("photo", 0);
    first["caption"] = json!("both");
    let form = album(json!([first, item("video", 1)]));
    let sent = bot
        .upload("sendMediaGroup", form.part("f0", part("a", vec![1])).part("f1", part("b", vec![2])))
        .await;
    let messages = sent["result"].as_array().unwrap();
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0]["media_group_id"], messages[1]["media_group_id"]);
    assert_eq!(fake.read(|world| world.log.sent(7).join("|")), "both|");
    for (items, words) in [
        (json!([]), "there are no messages to send"),
        (json!([item("photo", 0)]), "there are too few messages to send as an album"),
        (Value::Array(vec![item("photo", 0); 11]), "too many messages to send as an album"),
        (json!([item("document", 0), item("photo", 1)]), "document can't be mixed with other media types"),
        (json!([item("photo", 0), item("photo", 1)]), "attached file \"f0\" not found"),
    ] {
        let answer = bot.upload("sendMediaGroup", album(items)).await;
        assert_eq!(answer["description"], format!("Bad Request: {words}"));
    }
}

#[tokio::test]
async fn drafts_show_in_private_chats_until_the_message_comes() {
    let (fake, bot, _, chat, _) = stage().await;
    let draft = |chat: i64, id: i64, text: &str| json!({ "chat_id": chat, "draft_id": id, "text": text });
    bot.ok("sendMessageDraft", draft(7, 5, "")).await;
    bot.ok("sendMessageDraft", draft(7, 5, "Hel")).await;
    let shown = |fake: &FakeTelegram| {
        fake.read(|world| world.drafts(7).iter().map(|draft| draft.text.clone()).collect::<Vec<_>>())
    };
    assert_eq!(shown(&fake), ["Hel"]);
    bot.ok("sendMessageDraft", draft(7, 6, "other")).await;
    assert_eq!(shown(&fake), ["other"]);
    chat.stop_draft(6);
    assert_eq!(bot.last_update().await["stopped_message_generation"]["draft_id"], 6);
    bot.say(7, "Hello").await;
    assert_eq!(shown(&fake), [] as [&str; 0]);
    for (params, words) in [
        (draft(7, 0, "x"), "draft identifier must be non-zero"),
        (draft(FORUM, 5, "x"), "message drafts can be sent only to private chats"),
        (draft(7, 5, &"x".repeat(4097)), "message is too long"),
    ] {
        assert_eq!(bot.refused("sendMessageDraft", params).await, format!("Bad Request: {words}"));
    }
    fake.reconfigure(|account| account.drafts = false);
    assert_eq!(bot.refused("sendMessageDraft", draft(7, 5, "x")).await, "Not Found", "as on older servers");
}

#[tokio::test]
async fn actions_and_reactions_are_held_to_what_there_is() {
    let (fake, bot, ann, chat, forum) = stage().await;
    let topic = forum.topic("Deploys");
    bot.ok("sendChatAction", json!({ "chat_id": FORUM, "message_thread_id": topic, "action": "typing" }))
        .await;
    bot.ok("sendChatAction", json!({ "chat_id": FORUM, "action": "upload_document" })).await;
    let actions = fake.read(|world| {
        let actions = world.log.actions(FORUM);
        assert!(actions.is_sorted_by_key(|(at, _, _)| *at));
        actions.iter().map(|(_, topic, action)| (*topic, (*action).to_owned())).collect::<Vec<_>>()
    });
    assert_eq!(actions, [(Some(topic), "typing".to_owned()), (None, "upload_document".to_owned())]);
    let message = chat.say(&ann, "look");
    let react = |message: i64, emoji: &[&str]| {
        let list: Vec<_> = emoji.iter().map(|emoji| json!({ "type": "emoji", "emoji": emoji })).collect();
        json!({ "chat_id": 7, "message_id": message, "reaction": list })
    };
    bot.ok("setMessageReaction", react(message, &["👀"])).await;
    assert_eq!(fake.read(|world| world.reaction(7, message).to_vec()), ["👀"]);
    bot.ok("setMessageReaction", react(message, &[])).await;
    assert_eq!(fake.read(|world| world.reaction(7, message).len()), 0);
    for (method, params, words) in [
        ("setMessageReaction", react(message, &["✅"]), "REACTION_INVALID"),
        ("setMessageReaction", react(message, &["👀", "👍"]), "REACTIONS_TOO_MANY"),
        ("setMessageReaction", react(99, &["👀"]), "message to react not found"),
        ("sendChatAction", json!({ "chat_id": 7, "action": "dance" }), "wrong parameter action in request"),
        (
            "sendChatAction",
            json!({ "chat_id": FORUM, "message_thread_id": topic + 1, "action": "typing" }),
            "message thread not found",
        ),
    ] {
        assert_eq!(bot.refused(method, params).await, format!("Bad Request: {words}"));
    }
}

#[tokio::test]
async fn the_menu_of_commands_is_kept_by_scope_and_language() {
    let (fake, bot, _, _, _) = stage().await;
    let list = |names: &[&str]| -> Vec<Value> {
        names.iter().map(|name| json!({ "command": name, "description": "does it" })).collect()
    };
    bot.ok("setMyCommands", json!({ "commands": list(&["help", "stop"]) })).await;
    let groups = json!({ "type": "all_group_chats" });
    bot.ok("setMyCommands", json!({ "commands": list(&["ask"]), "scope": groups, "language_code": "zh" }))
        .await;
    assert_eq!(fake.read(|world| world.menu("default", "").join(" ")), "help stop");
    assert_eq!(fake.read(|world| world.menu("all_group_chats", "zh").join(" ")), "ask");
    let asked = bot.ok("getMyCommands", json!({ "scope": { "type": "default" } })).await;
    assert_eq!(asked[0]["command"], "help");
    bot.ok("deleteMyCommands", json!({})).await;
    assert_eq!(bot.ok("getMyCommands", json!({})).await, json!([]));
    let wordless = json!([{ "command": "a", "description": "" }]);
    for (params, words) in [
        (json!({ "commands": list(&["Help"]) }), "BOT_COMMAND_INVALID"),
        (json!({ "commands": list(&["with-dash"]) }), "BOT_COMMAND_INVALID"),
        (json!({ "commands": list(&[&"x".repeat(33)]) }), "BOT_COMMAND_INVALID"),
        (json!({ "commands": list(&["x"; 101]) }), "BOT_COMMANDS_TOO_MUCH"),
        (json!({ "commands": wordless }), "BOT_COMMAND_DESCRIPTION_INVALID"),
        (json!({ "commands": [], "language_code": "zh-hans" }), "BOT_COMMANDS_LANG_CODE_INVALID"),
        (json!({ "commands": [], "scope": { "type": "mars" } }), "can't parse BotCommandScope"),
        (json!({}), "commands are not specified"),
    ] {
        assert_eq!(bot.refused("setMyCommands", params).await, format!("Bad Request: {words}"));
    }
}

#[tokio::test]
async fn chats_and_members_can_be_asked_about_and_left() {
    let (fake, bot, ann, _, forum) = stage().await;
    assert_eq!(bot.ok("getChat", json!({ "chat_id": FORUM })).await["type"], "supergroup");
    let member = |user: i64| json!({ "chat_id": FORUM, "user_id": user });
    assert_eq!(bot.ok("getChatMember", member(ann.id)).await["status"], "administrator");
    assert_eq!(bot.ok("getChatMember", member(123_456)).await["status"], "member");
    assert_eq!(bot.refused("getChatMember", member(9)).await, "Bad Request: user not found");
    let create = json!({ "chat_id": FORUM, "name": "New" });
    assert_eq!(
        bot.refused("createForumTopic", create.clone()).await,
        "Bad Request: not enough rights to create a topic"
    );
    forum.promote_bot(&ann);
    let topic = bot.ok("createForumTopic", create).await["message_thread_id"].clone();
    bot.ok("sendMessage", json!({ "chat_id": FORUM, "message_thread_id": topic, "text": "in it" })).await;
    let admins = bot.ok("getChatAdministrators", json!({ "chat_id": FORUM })).await;
    assert_eq!(admins.as_array().unwrap().len(), 2);
    let private = bot.refused("createForumTopic", json!({ "chat_id": 7, "name": "New" })).await;
    assert_eq!(private, "Bad Request: the chat is not a forum");
    fake.reconfigure(|account| account.topics = true);
    bot.ok("createForumTopic", json!({ "chat_id": 7, "name": "New" })).await;
    bot.ok("leaveChat", json!({ "chat_id": FORUM })).await;
    assert!(fake.read(|world| world.log.deeds(FORUM).any(|deed| *deed == Deed::Left)));
    let gone = bot.refused("sendMessage", json!({ "chat_id": FORUM, "text": "x" })).await;
    assert_eq!(gone, "Forbidden: bot is not a member of the supergroup chat");
}
