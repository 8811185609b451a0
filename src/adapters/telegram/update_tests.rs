//! Parsing of updates as Telegram sends them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::from_millis(9_000);

fn reader(threading: Threading) -> UpdateReader {
    let me = Me { id: 42, username: "ship_bot".into(), topics: false, hears_all: true };
    let platform: Platform = "telegram".parse().unwrap();
    let peers = PeerBook::new(platform.clone());
    UpdateReader { platform, me, aliases: Aliases::default(), threading, peers }
}

fn read(kind: &str, content: Value) -> Option<Inbound> {
    let update = serde_json::from_value(json!({ "update_id": 1, kind: content })).unwrap();
    reader(Threading::Shared).read(1, update, NOW).unwrap()
}

fn place(message: &InboundMessage) -> ChatTarget {
    ChatTarget::deserialize(&message.detail).unwrap()
}

fn message(chat: i64, fields: Value) -> Value {
    let kind = if chat > 0 { "private" } else { "supergroup" };
    let mut whole = json!({ "message_id": 5, "date": 7, "chat": { "id": chat, "type": kind },
        "from": { "id": 8, "first_name": "Ann", "last_name": "B", "language_code": "zh-hans" } });
    whole.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    whole
}

fn heard(chat: i64, fields: Value) -> InboundMessage {
    match read("message", message(chat, fields)) {
        Some(Inbound::Message(heard)) => *heard,
        other => panic!("{other:?}"),
    }
}

fn said(heard: InboundMessage) -> Said {
    match heard.content {
        Content::Said(said) => said,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_says_where_who_and_when() {
    let heard = heard(8, json!({ "text": "hello" }));
    assert_eq!(heard.thread.as_str(), "telegram:chat:8");
    assert_eq!((heard.author.id.as_str(), heard.author.name.as_deref()), ("telegram:user:8", Some("Ann B")));
    assert_eq!((heard.message.as_str(), heard.platform_message.as_str()), ("telegram:8:5", "5"));
    assert_eq!((heard.at.as_millis(), heard.kind), (7000, ChatKind::Direct));
    assert_eq!((heard.language, heard.author.role), (Some(Language::Zh), AuthorRole::Person));
    assert_eq!(said(heard).text, "hello");
}

#[test]
fn topics_are_threads_and_plain_replies_are_not() {
    for (fields, thread, topic) in [
        (json!({}), "telegram:chat:-100", None),
        (json!({ "message_thread_id": 3 }), "telegram:chat:-100", None),
        (json!({ "message_thread_id": 3, "is_topic_message": true }), "telegram:chat:-100:topic:3", Some(3)),
    ] {
        let mut fields = fields;
        fields["text"] = json!("hi");
        let heard = heard(-100, fields);
        assert_eq!((heard.thread.as_str(), place(&heard).topic), (thread, topic));
    }
    let update = json!({ "message": message(-100, json!({ "text": "x", "message_thread_id": 3, "is_topic_message": true })) });
    let own = reader(Threading::PerUser).read(1, serde_json::from_value(update).unwrap(), NOW).unwrap();
    let Some(Inbound::Message(own)) = own else { panic!("{own:?}") };
    assert_eq!(own.thread.as_str(), "telegram:chat:-100:topic:3:user:8");
}

#[test]
fn what_is_left_out_is_made_up_for_and_what_is_broken_beside_the_point_is_passed_over() {
    let bare = json!({ "message_id": 5, "chat": { "id": 8 }, "text": "hello" });
    let Some(Inbound::Message(bare)) = read("message", bare) else { panic!() };
    assert_eq!((bare.thread.as_str(), bare.author.id.as_str()), ("telegram:chat:8", "telegram:user:8"));
    assert_eq!((bare.at, bare.kind), (NOW, ChatKind::Direct), "no date is now");
    let nobody = json!({ "message_id": 5, "chat": { "id": -8 }, "text": "hello" });
    assert_eq!(read("message", nobody), None, "in a group it could be anybody");
    let big = (1_i64 << 52) - 1;
    let odd = heard(
        big,
        json!({ "message_id": big, "text": "hi", "entities": null, "photo": {}, "sticker": 5,
        "reply_to_message": "x", "quote": [], "forward_origin": 1, "media_group_id": null, "date": null,
        "from": { "id": big, "first_name": null, "is_bot": null, "language_code": 7 } }),
    );
    assert_eq!(
        (odd.platform_message.clone(), odd.author.id.as_str()),
        (big.to_string(), format!("telegram:user:{big}").as_str())
    );
    assert_eq!(said(odd).text, "hi");
    let forum = |fields: Value| {
        let mut fields = fields;
        fields["chat"] = json!({ "id": -100, "type": "supergroup", "is_forum": true });
        fields["text"] = json!("hi");
        place(&heard(-100, fields)).topic
    };
    assert_eq!(forum(json!({ "message_thread_id": 3 })), Some(3));
    let reply = json!({ "message_id": 2, "chat": { "id": -100 } });
    assert_eq!(
        forum(json!({ "message_thread_id": 3, "reply_to_message": reply })),
        None,
        "a reply in General"
    );
}

#[test]
fn another_bot_is_heard_in_groups_where_that_is_wanted_and_commands_nothing() {
    let reader = reader(Threading::Shared);
    reader.peers.know(&crate::ports::Peers { hears_bots: true, ..Default::default() });
    let read = |kind: &str, content: Value| {
        let update = serde_json::from_value(json!({ "update_id": 1, kind: content })).unwrap();
        match reader.read(1, update, NOW).unwrap() {
            Some(Inbound::Message(heard)) => Some(*heard),
            None => None,
            other => panic!("{other:?}"),
        }
    };
    let bot = |id: i64| json!({ "id": id, "is_bot": true, "first_name": "Other" });
    let from = |id: i64, text: &str| {
        let length = text.split(' ').next().unwrap().len();
        let entities = json!([{ "type": "bot_command", "offset": 0, "length": length }]);
        message(-100, json!({ "text": text, "from": bot(id), "entities": entities }))
    };
    for (text, kept, named) in [
        ("/ask@ship_bot is it green", "is it green", true),
        ("/stop@ship_bot", "/stop@ship_bot", true),
        ("/ask@other_bot is it", "/ask@other_bot is it", false),
    ] {
        let heard = read("message", from(9, text)).unwrap();
        assert_eq!(heard.author.role, AuthorRole::Anonymous);
        assert_eq!(heard.facts.commands_me, named, "{text}");
        let said = said(heard);
        assert_eq!((said.text.as_str(), said.peer.is_some()), (kept, true));
    }
    assert_eq!(read("message", from(42, "/ask@ship_bot my own words")), None);
    assert_eq!(read("edited_message", from(9, "/ask@ship_bot again")), None);
    let private = json!({ "text": "x", "from": bot(9) });
    assert_eq!(read("message", message(9, private)), None);
}

#[test]
fn a_chat_that_speaks_is_nobody_and_bots_are_passed_over() {
    let group = json!({ "id": -100, "title": "Crew" });
    let stand_in = json!({ "id": 1_087_968_824, "is_bot": true, "first_name": "Group" });
    let hidden = heard(-100, json!({ "text": "x", "from": stand_in, "sender_chat": group }));
    assert_eq!(
        (hidden.author.id.as_str(), hidden.author.role),
        ("telegram:user:-100", AuthorRole::Anonymous)
    );
    let bot = json!({ "id": 9, "is_bot": true, "first_name": "Other" });
    for (kind, content) in [
        ("message", message(-100, json!({ "text": "x", "from": bot }))),
        ("message", message(-100, json!({ "new_chat_members": [bot] }))),
        ("channel_post", message(-100, json!({ "text": "x" }))),
        ("message", json!({ "message_id": 1, "chat": { "id": -7, "type": "channel" }, "text": "x" })),
        ("edited_message", message(-100, json!({ "caption": "x", "media_group_id": "g" }))),
        ("brand_new_kind", json!({ "x": 1 })),
    ] {
        assert_eq!(read(kind, content.clone()), None, "{content}");
    }
}

#[test]
fn commands_starts_questions_and_corrections_are_told_apart() {
    let command = |text: &str| json!([{ "type": "bot_command", "offset": 0, "length": text.split(' ').next().unwrap().len() }]);
    for (text, expected) in [
        ("/stop", "Ordered(/stop)"),
        ("/approve@ship_bot A1", "Ordered(/approve A1)"),
        ("/stop@other_bot", "Said(/stop@other_bot)"),
        ("/start", "Started()"),
        ("/start CODE", "Started(CODE)"),
        ("/ask@ship_bot what is it", "Said(what is it)"),
        ("/unknown thing", "Said(/unknown thing)"),
    ] {
        let what = match heard(-100, json!({ "text": text, "entities": command(text) })).content {
            Content::Command(order) => format!("Ordered({order})"),
            Content::Started(code) => format!("Started({})", code.unwrap_or_default()),
            Content::Said(said) => format!("Said({})", said.text),
            Content::Edited(_) => "Edited".to_owned(),
        };
        assert_eq!(what, expected, "{text}");
    }
    let edited = read("edited_message", message(8, json!({ "text": "/stop", "edit_date": 11 })));
    let Some(Inbound::Message(edited)) = edited else { panic!("{edited:?}") };
    assert!(matches!(edited.content, Content::Edited(_)));
    assert_eq!((edited.at.as_millis(), edited.message.as_str()), (11_000, "telegram:8:5"));
}

#[test]
fn whom_a_message_turns_to_is_known() {
    let of =
        |id: i64| json!({ "message_id": 3, "chat": { "id": -100 }, "from": { "id": id }, "text": "before" });
    let none = AddressingFacts::default();
    for (fields, expected) in [
        (json!({ "text": "x" }), none),
        (json!({ "text": "x", "reply_to_message": of(42) }), AddressingFacts { replies_to_me: true, ..none }),
        (
            json!({ "text": "x", "reply_to_message": of(7) }),
            AddressingFacts { turns_to_another: true, ..none },
        ),
        (
            json!({ "caption": "😀 @ship_bot x", "photo": [{ "file_id": "F" }],
                "caption_entities": [{ "type": "mention", "offset": 3, "length": 9 }] }),
            AddressingFacts { mentions_me: true, ..none },
        ),
    ] {
        assert_eq!(heard(-100, fields.clone()).facts, expected, "{fields}");
    }
}

#[test]
fn stickers_become_words_and_words_stay_with_them() {
    assert_eq!(said(heard(8, json!({ "sticker": { "emoji": "🚢" } }))).text, "[sticker 🚢]");
    let told = said(heard(8, json!({ "forward_origin": { "sender_user_name": "Bo" }, "text": "news" })));
    assert_eq!(told.forwarded_from.as_deref(), Some("Bo"));
}

#[test]
fn what_was_passed_on_or_sent_by_a_program_is_told_from_what_is_said_now() {
    for (fields, forwarded, automatic) in [
        (json!({}), false, false),
        (json!({ "forward_origin": null }), false, false),
        (json!({ "forward_origin": { "type": "hidden_user" } }), true, false),
        (json!({ "forward_origin": "x" }), true, false),
        (json!({ "forward_date": 7 }), true, false),
        (json!({ "is_automatic_forward": true }), true, false),
        (json!({ "via_bot": { "id": 9 } }), false, true),
        (json!({ "sender_business_bot": { "id": 9 } }), false, true),
        (json!({ "is_from_offline": true }), false, true),
    ] {
        for text in ["yes", "/approve A1"] {
            let mut fields = fields.clone();
            fields["text"] = json!(text);
            let heard = heard(8, fields.clone());
            if text.starts_with('/') && !forwarded && !automatic {
                assert!(matches!(heard.content, Content::Command(_)), "{fields}");
                continue;
            }
            let said = said(heard);
            assert_eq!((said.forwarded_from.is_some(), said.automatic), (forwarded, automatic), "{fields}");
        }
    }
}

#[test]
fn a_command_that_is_struck_through_or_code_is_none() {
    let formatted = |kind: &str| {
        let entities = json!([{ "type": kind, "offset": 0, "length": 11 }]);
        heard(8, json!({ "text": "/approve A1", "entities": entities }))
    };
    assert!(matches!(formatted("bold").content, Content::Command(_)));
    for kind in ["strikethrough", "code", "pre", "blockquote", "spoiler"] {
        let said = said(formatted(kind));
        assert!(said.text == "/approve A1" && said.decision_text() != said.text, "{kind}: {said:?}");
    }
    // An unreadable entity does not hide the others, and may be of any kind.
    let entities = json!([{ "type": "bold", "offset": -1, "length": 2 }, { "type": "strikethrough", "offset": 0, "length": 3 }]);
    assert_ne!(said(heard(8, json!({ "text": "yes", "entities": entities }))).decision_text(), "yes");
    let asked = json!([{ "type": "strikethrough", "offset": 5, "length": 3 }]);
    let asked = said(heard(8, json!({ "text": "/ask yes", "entities": asked })));
    assert_eq!((asked.text.as_str(), asked.decision_text()), ("yes", "/ask ~~yes~~"));
}

#[test]
fn a_press_an_invitation_a_move_and_a_stop_are_read() {
    let from = json!({ "id": 8, "first_name": "Ann" });
    let shown = json!({ "message_id": 4, "date": 0, "chat": { "id": -100, "type": "supergroup" } });
    let press = read("callback_query", json!({ "id": "q", "from": from, "message": shown, "data": "y:a" }));
    let Some(Inbound::Press(press)) = press else { panic!("{press:?}") };
    let shown_at = |press: &Press| TelegramPressDetail::deserialize(&press.detail).unwrap();
    let place = ChatTarget { chat: -100, topic: None };
    let here = PressedMessage { place, kind: ChatKind::Group, message: 4 };
    assert_eq!(
        (press.data.as_str(), shown_at(&press).shown, press.author.id.as_str()),
        ("y:a", Some(here), "telegram:user:8")
    );
    for shown in [json!(null), json!("gone"), json!({})] {
        let press =
            read("callback_query", json!({ "id": 77, "from": from, "message": shown, "data": "y:a" }));
        let Some(Inbound::Press(press)) = press else { panic!("{press:?}") };
        assert_eq!(shown_at(&press), TelegramPressDetail { id: "77".to_owned(), shown: None }, "{shown}");
    }
    let change = |old: &str, new: &str| {
        read(
            "my_chat_member",
            json!({ "chat": { "id": -100, "type": "group" }, "from": from,
            "old_chat_member": { "status": old }, "new_chat_member": { "status": new } }),
        )
    };
    let Some(Inbound::Platform { event, .. }) = change("left", "member") else { panic!() };
    let invited = PlatformEvent::deserialize(&event).unwrap();
    assert!(matches!(invited, PlatformEvent::Invited { chat: -100, .. }), "{invited:?}");
    assert_eq!((change("member", "kicked"), change("member", "administrator")), (None, None));
    for (fields, from, to) in
        [(json!({ "migrate_to_chat_id": -1005 }), -5, -1005), (json!({ "migrate_from_chat_id": -4 }), -4, -5)]
    {
        let reader = reader(Threading::Shared);
        let update = serde_json::from_value(json!({ "message": message(-5, fields) })).unwrap();
        let moved = reader.read(1, update, NOW).unwrap();
        assert!(matches!(moved, Some(Inbound::Platform { .. })), "{moved:?}");
        assert_eq!((reader.aliases.current(from), reader.aliases.original(to)), (to, from));
        assert_eq!(reader.chat_ids(to), [from.to_string(), to.to_string()]);
    }
    let stop =
        read("stopped_message_generation", json!({ "chat": { "id": 8, "type": "private" }, "draft_id": 1 }));
    let Some(Inbound::Message(stop)) = stop else { panic!("{stop:?}") };
    assert!(matches!(stop.content, Content::Command(CommandInvocation { command: Command::Stop, .. })));
    assert_eq!((stop.thread.as_str(), stop.author.id.as_str()), ("telegram:chat:8", "telegram:user:8"));
}

/// Any JSON.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    let names = proptest::sample::select(vec![
        "message",
        "edited_message",
        "callback_query",
        "my_chat_member",
        "chat",
        "from",
        "id",
        "text",
        "entities",
        "type",
        "offset",
        "length",
        "message_id",
        "photo",
        "reply_to_message",
        "migrate_to_chat_id",
        "data",
    ]);
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(names.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_update_does_harm(update in anything()) {
        if let Ok(update) = serde_json::from_value::<Update>(update) {
            drop(reader(Threading::PerUser).read(1, update, NOW));
        }
    }
}
