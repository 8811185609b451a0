//! Parsing of events as the platform sends them.

use serde_json::json;

use super::*;

fn dispatch(name: &str, body: Value) -> Dispatch {
    Dispatch { name: name.to_owned(), event_id: Some(format!("{name}:1")), body }
}

fn said(name: &str, body: Value) -> QqEventMessage {
    match read(&dispatch(name, body), Some("900")) {
        QqEvent::Said(heard) => *heard,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_private_message_is_read() {
    let heard = said(
        "C2C_MESSAGE_CREATE",
        json!({ "id": "ROBOT1.0_a", "content": "hi", "timestamp": "2026-01-02T03:04:05+08:00",
            "author": { "user_openid": "U1", "id": "U1", "union_openid": "X" } }),
    );
    let expected = QqEventMessage {
        scene: Scene::C2c,
        chat: "U1".to_owned(),
        id: "ROBOT1.0_a".to_owned(),
        user: "U1".to_owned(),
        name: None,
        from_bot: false,
        at: Timestamp::parse_rfc3339("2026-01-01T19:04:05Z"),
        text: "hi".to_owned(),
        spoken: false,
        admin: None,
        addressed: true,
        attachments: Vec::new(),
        quoted: None,
    };
    assert_eq!(heard, expected);
}

#[test]
fn a_group_message_is_trimmed_and_belongs_to_its_member() {
    let body =
        json!({ "id": "m", "content": " /stop ", "group_openid": "G", "author": { "member_openid": "M" } });
    let heard = said("GROUP_AT_MESSAGE_CREATE", body.clone());
    assert_eq!((heard.chat.as_str(), heard.user.as_str(), heard.text.as_str()), ("G", "M", "/stop"));
    assert_eq!((heard.scene, heard.addressed), (Scene::Group, true));
    assert!(!said("GROUP_MESSAGE_CREATE", body.clone()).addressed, "nobody was mentioned");
    let mut mentioning = body;
    mentioning["mentions"] = json!([{ "member_openid": "B", "bot": true, "is_you": true }]);
    assert!(said("GROUP_MESSAGE_CREATE", mentioning).addressed);
}

#[test]
fn a_guild_message_loses_the_mention_of_the_bot_alone() {
    let body = json!({ "id": "m", "channel_id": "C", "guild_id": "S", "content": "<@!900> ask <@!901>",
        "author": { "id": "7", "username": "Ann", "bot": false }, "member": { "nick": "Annie" },
        "mentions": [{ "id": "900", "bot": true }, { "id": "901", "bot": false }] });
    let heard = said("AT_MESSAGE_CREATE", body.clone());
    assert_eq!((heard.scene, heard.chat.as_str(), heard.text.as_str()), (Scene::Channel, "C", "ask <@!901>"));
    assert_eq!(heard.name.as_deref(), Some("Annie"));
    let direct = said("DIRECT_MESSAGE_CREATE", body.clone());
    assert_eq!((direct.scene, direct.chat.as_str()), (Scene::Dm, "S"));
    assert!(said("MESSAGE_CREATE", body.clone()).addressed);
    let unknown_me = read(&dispatch("AT_MESSAGE_CREATE", body), None);
    assert!(matches!(unknown_me, QqEvent::Said(heard) if heard.text == "ask <@!901>"));
}

#[test]
fn attachments_are_named_and_reachable() {
    let with = |one: Value| {
        let body =
            json!({ "id": "m", "content": "", "author": { "user_openid": "U" }, "attachments": [one] });
        said("C2C_MESSAGE_CREATE", body)
    };
    let image = with(json!({ "content_type": "image/jpeg", "filename": "a.jpg", "size": 9,
        "url": "//multimedia.example/a" }));
    let expected = FileDescription {
        url: "https://multimedia.example/a".to_owned(),
        name: "a.jpg".to_owned(),
        media_type: "image/jpeg".to_owned(),
        size: Some(9),
    };
    assert_eq!(image.attachments, [expected]);
    let voice = with(json!({ "content_type": "voice", "filename": "x.amr", "url": "http://v/silk",
        "voice_wav_url": "http://v/wav", "asr_refer_text": "turn the lights off" }));
    assert_eq!(voice.text, "turn the lights off");
    assert_eq!(
        (voice.attachments[0].url.as_str(), voice.attachments[0].name.as_str()),
        ("http://v/wav", "voice.wav")
    );
    let file = with(json!({ "content_type": "file", "filename": "r.pdf", "url": "host/r" }));
    assert_eq!(file.attachments[0].media_type, "application/octet-stream");
    assert_eq!(file.attachments[0].url, "https://host/r");
    assert!(with(json!({ "content_type": "file" })).attachments.is_empty(), "nowhere to fetch it from");
}

#[test]
fn a_quoted_message_comes_along() {
    let heard = said(
        "C2C_MESSAGE_CREATE",
        json!({ "id": "m", "content": "this?", "author": { "user_openid": "U" }, "message_type": 103,
            "msg_elements": [{ "content": " the earlier words " }] }),
    );
    assert_eq!(heard.quoted.map(|quoted| quoted.text).as_deref(), Some("the earlier words"));
}

#[test]
fn a_button_tells_who_pressed_it_and_where() {
    let resolved = json!({ "button_data": "yes", "button_id": "1", "user_id": "7" });
    for (body, places, user) in [
        (json!({ "chat_type": 2, "user_openid": "U" }), vec![(Scene::C2c, "U")], "U"),
        (
            json!({ "chat_type": 1, "group_openid": "G", "group_member_openid": "M" }),
            vec![(Scene::Group, "G")],
            "M",
        ),
        (
            json!({ "scene": "guild", "chat_type": 0, "channel_id": "C", "guild_id": "S" }),
            vec![(Scene::Channel, "C"), (Scene::Dm, "S")],
            "7",
        ),
        (json!({ "guild_id": "S" }), vec![(Scene::Dm, "S")], "7"),
    ] {
        let mut body = body;
        body["id"] = json!("int-1");
        body["type"] = json!(11);
        body["data"] = json!({ "type": 11, "resolved": resolved.clone() });
        let QqEvent::Pressed(press) = read(&dispatch("INTERACTION_CREATE", body), None) else { panic!() };
        let found: Vec<_> = press.places.iter().map(|(scene, chat)| (*scene, chat.as_str())).collect();
        assert_eq!((found, press.user.as_str()), (places, user));
        assert_eq!((press.interaction.as_str(), press.data.as_str()), ("int-1", "yes"));
        assert_eq!(press.event_id.as_deref(), Some("INTERACTION_CREATE:1"));
    }
    let query =
        json!({ "id": "q", "type": 2001, "chat_type": 2, "user_openid": "U", "data": { "resolved": {} } });
    assert_eq!(read(&dispatch("INTERACTION_CREATE", query), None), QqEvent::Nothing);
}

#[test]
fn roles_tell_who_runs_a_group_where_they_are_told() {
    for (body, expected) in [
        (json!({}), None),
        (json!({ "member": { "nick": "A" } }), None),
        (json!({ "member": { "roles": ["1", "11"] } }), Some(false)),
        (json!({ "member": { "roles": ["1", "2"] } }), Some(true)),
        (json!({ "member": { "roles": ["4"] } }), Some(true)),
        (json!({ "member": { "roles": [5] } }), Some(true)),
        (json!({ "roles": ["12"] }), Some(false)),
        (json!({ "author": { "member_role": "owner" } }), Some(true)),
        (json!({ "author": { "member_role": "member" } }), Some(false)),
        (json!({ "member_role": "ADMIN" }), Some(true)),
    ] {
        assert_eq!(runs_it(&body), expected, "{body}");
    }
}

#[test]
fn what_is_not_understood_means_nothing() {
    for (name, body) in [
        ("C2C_MESSAGE_CREATE", json!({})),
        ("C2C_MESSAGE_CREATE", json!({ "id": 5, "author": { "user_openid": "U" } })),
        ("GROUP_AT_MESSAGE_CREATE", json!({ "id": "m", "author": { "member_openid": "M" } })),
        ("AT_MESSAGE_CREATE", json!(null)),
        ("GUILD_CREATE", json!({ "id": "m" })),
        ("INTERACTION_CREATE", json!([])),
    ] {
        assert_eq!(read(&dispatch(name, body.clone()), None), QqEvent::Nothing, "{name} {body}");
    }
    let added = json!({ "group_openid": "G", "op_member_openid": "M", "timestamp": 1 });
    let expected = QqEvent::Relation { name: "GROUP_ADD_ROBOT".to_owned(), chat: "G".to_owned() };
    assert_eq!(read(&dispatch("GROUP_ADD_ROBOT", added), None), expected);
}
