//! Parses an event's JSON. Pure; tolerates missing and unknown fields.

use serde::Deserialize;
use serde_json::Value;

use super::content::{Mention, ParsedContent, read_content};
use crate::domain::{ChatKind, Timestamp};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum FeishuEvent {
    Message(Box<FeishuMessage>),
    /// A person recalled a message.
    Recalled {
        message: String,
        chat: String,
    },
    /// A person pressed a button.
    Pressed(Box<FeishuPress>),
    /// An event without effect, with the reason.
    Nothing(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct FeishuMessage {
    /// The message id, the same for every redelivery.
    pub(super) message: String,
    pub(super) chat: String,
    pub(super) kind: ChatKind,
    pub(super) topic: Option<String>,
    /// The message that it replies to.
    pub(super) parent: Option<String>,
    pub(super) sender: String,
    pub(super) sender_is_person: bool,
    pub(super) at: Timestamp,
    /// The id of the event.
    pub(super) event: String,
    /// Whether it is an edit of an earlier message.
    pub(super) edited: bool,
    pub(super) mentions_me: bool,
    /// It mentions others and not the agent.
    pub(super) mentions_others: bool,
    /// The sender's id for all apps of one developer.
    pub(super) sender_union: Option<String>,
    /// Ids and names of all that are mentioned, the agent left out.
    pub(super) people: Vec<(String, String)>,
    /// Ids and names of other bots, from the mentions; of a mention that does not tell its kind, too.
    pub(super) bots: Vec<(String, String)>,
    pub(super) content: ParsedContent,
}

impl FeishuEvent {
    /// The dedupe key, the same for every redelivery.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Message(inbound) if inbound.edited => {
                format!("{}/edit/{}", inbound.message, inbound.event)
            }
            Self::Message(inbound) => inbound.message.clone(),
            Self::Recalled { message, .. } => format!("{message}/recall"),
            Self::Pressed(pressed) => pressed.event.clone(),
            Self::Nothing(what) => what.clone(),
        }
    }
}

/// A press of a button.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FeishuPress {
    pub(super) event: String,
    pub(super) by: String,
    /// The button's value: untrusted.
    pub(super) value: Value,
    pub(super) message: String,
    pub(super) chat: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EventEnvelope {
    header: HeaderWire,
    event: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HeaderWire {
    event_id: String,
    event_type: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MessageEvent {
    sender: SenderWire,
    message: MessageWire,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SenderWire {
    sender_id: IdWire,
    sender_type: String,
}

/// A person's ids: an object by kind, or the open id as a string.
#[derive(Debug, Default)]
struct IdWire {
    open_id: Option<String>,
    /// The same for all apps of one developer.
    union_id: Option<String>,
}

impl<'de> Deserialize<'de> for IdWire {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        let open_id = value.as_str().or_else(|| value.get("open_id").and_then(Value::as_str));
        let union_id = value.get("union_id").and_then(Value::as_str).filter(|id| !id.is_empty());
        Ok(Self { open_id: open_id.map(str::to_owned), union_id: union_id.map(str::to_owned) })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MessageWire {
    message_id: String,
    parent_id: Option<String>,
    thread_id: Option<String>,
    chat_id: String,
    chat_type: String,
    message_type: String,
    content: Value,
    mentions: Option<Vec<MentionWire>>,
    create_time: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MentionWire {
    key: String,
    id: IdWire,
    name: Option<String>,
    mentioned_type: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PressEvent {
    operator: IdWire,
    action: ActionWire,
    context: ContextWire,
    token: Option<String>,
    open_message_id: Option<String>,
    open_chat_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ActionWire {
    value: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContextWire {
    open_message_id: Option<String>,
    open_chat_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RecallEvent {
    message_id: String,
    chat_id: String,
}

/// Parses an event. `me` is the agent's own open id. Where it is unknown, any mentioned bot counts as the agent, and so
/// does a single mention of unknown kind: the platform rarely delivers messages that mention another bot.
pub(super) fn read_event(event: Value, me: &str) -> FeishuEvent {
    let Ok(envelope) = serde_json::from_value::<EventEnvelope>(event) else {
        return FeishuEvent::Nothing("an event that cannot be read".to_owned());
    };
    match envelope.header.event_type.as_str() {
        "im.message.receive_v1" => read_message(envelope, me, false),
        "im.message.updated_v1" => read_message(envelope, me, true),
        "im.message.recalled_v1" => recalled(envelope.event),
        "card.action.trigger" => pressed(envelope.event, envelope.header.event_id),
        other => FeishuEvent::Nothing(other.chars().take(80).collect()),
    }
}

fn read_message(envelope: EventEnvelope, me: &str, edited: bool) -> FeishuEvent {
    let EventEnvelope { header, event } = envelope;
    let Ok(MessageEvent { sender, message }) = serde_json::from_value(event) else {
        return FeishuEvent::Nothing("a message that cannot be read".to_owned());
    };
    let IdWire { open_id, union_id: sender_union } = sender.sender_id;
    let Some(sender_id) = open_id.filter(|id| !id.is_empty()) else {
        return FeishuEvent::Nothing("a message without a sender".to_owned());
    };
    if message.message_id.is_empty() || message.chat_id.is_empty() {
        return FeishuEvent::Nothing("a message without an id".to_owned());
    }
    let mentions = message.mentions.unwrap_or_default();
    let alone = mentions.len() == 1;
    let may_be_bot =
        |mention: &MentionWire| mention.mentioned_type.as_deref().is_none_or(|kind| kind != "user");
    let bots: Vec<String> = mentions
        .iter()
        .filter(|mention| may_be_bot(mention))
        .filter_map(|mention| mention.id.open_id.clone())
        .collect();
    let mentions: Vec<Mention> = mentions
        .into_iter()
        .map(|mention| Mention {
            key: mention.key,
            mine: match me {
                "" => match mention.mentioned_type.as_deref() {
                    None | Some("") => alone,
                    Some(kind) => kind == "bot",
                },
                me => mention.id.open_id.as_deref() == Some(me),
            },
            id: mention.id.open_id,
            name: mention.name.unwrap_or_default(),
        })
        .collect();
    // JSON in a string; a proxy may have decoded it.
    let content = message.content.as_str().map_or_else(|| message.content.to_string(), str::to_owned);
    let content = read_content(&message.message_type, &content, &mentions, me);
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    let named = |mention: &Mention| {
        let may_be_bot = mention.id.as_ref().is_some_and(|id| bots.contains(id));
        let known = !mention.mine && !mention.name.is_empty() && may_be_bot;
        mention.id.clone().filter(|_| known).map(|id| (id, mention.name.clone()))
    };
    let person = |mention: &Mention| {
        let id = mention.id.clone().filter(|_| !mention.mine && !mention.name.is_empty())?;
        Some((id, mention.name.clone()))
    };
    FeishuEvent::Message(Box::new(FeishuMessage {
        message: message.message_id,
        chat: message.chat_id,
        kind: if message.chat_type == "p2p" { ChatKind::Direct } else { ChatKind::Group },
        topic: some(message.thread_id),
        parent: some(message.parent_id),
        sender: sender_id,
        sender_union,
        // A missing type means a person: the platform marks only bots.
        sender_is_person: matches!(sender.sender_type.as_str(), "user" | ""),
        at: Timestamp::from_millis(millis(&message.create_time)),
        event: header.event_id,
        edited,
        mentions_me: content.mentions_me || mentions.iter().any(|mention| mention.mine),
        mentions_others: mentions.iter().any(|mention| !mention.mine),
        bots: mentions.iter().filter_map(named).collect(),
        people: mentions.iter().filter_map(person).collect(),
        content,
    }))
}

fn recalled(event: Value) -> FeishuEvent {
    match serde_json::from_value::<RecallEvent>(event) {
        Ok(recall) if !recall.message_id.is_empty() => {
            FeishuEvent::Recalled { message: recall.message_id, chat: recall.chat_id }
        }
        _ => FeishuEvent::Nothing("a recall that cannot be read".to_owned()),
    }
}

fn pressed(event: Value, id: String) -> FeishuEvent {
    let Ok(press) = serde_json::from_value::<PressEvent>(event) else {
        return FeishuEvent::Nothing("a press that cannot be read".to_owned());
    };
    let id = Some(id).filter(|id| !id.is_empty()).or(press.token).unwrap_or_default();
    let message = press.context.open_message_id.or(press.open_message_id).unwrap_or_default();
    let chat = press.context.open_chat_id.or(press.open_chat_id).unwrap_or_default();
    match press.operator.open_id {
        Some(by) if !by.is_empty() && !id.is_empty() => FeishuEvent::Pressed(Box::new(FeishuPress {
            event: id,
            by,
            value: press.action.value,
            message,
            chat,
        })),
        _ => FeishuEvent::Nothing("a press without a person or an id".to_owned()),
    }
}

/// Milliseconds as a string or a number.
pub(super) fn millis(value: &Value) -> i64 {
    value.as_i64().or_else(|| value.as_str().and_then(|text| text.parse().ok())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn message(extra: Value) -> Value {
        let mut message = json!({
            "message_id": "om_1", "chat_id": "oc_1", "chat_type": "group", "message_type": "text",
            "content": "{\"text\":\"@_user_1 hi @_user_2\"}", "create_time": "1700000000123",
            "mentions": [
                { "key": "@_user_1", "id": { "open_id": "ou_me" }, "name": "Ship" },
                { "key": "@_user_2", "id": { "open_id": "ou_bo" }, "name": "Bo" },
            ],
        });
        for (key, value) in extra.as_object().unwrap() {
            message[key] = value.clone();
        }
        json!({
            "schema": "2.0", "header": { "event_id": "e1", "event_type": "im.message.receive_v1" },
            "event": { "sender": { "sender_id": { "open_id": "ou_ada" }, "sender_type": "user" }, "message": message },
        })
    }

    fn read(event: Value) -> FeishuMessage {
        match read_event(event, "ou_me") {
            FeishuEvent::Message(inbound) => *inbound,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_message_tells_who_where_and_to_whom() {
        let inbound = read(message(json!({ "thread_id": "omt_1", "parent_id": "om_0" })));
        assert_eq!(
            (inbound.message.as_str(), inbound.chat.as_str(), inbound.sender.as_str()),
            ("om_1", "oc_1", "ou_ada")
        );
        assert_eq!((inbound.topic.as_deref(), inbound.parent.as_deref()), (Some("omt_1"), Some("om_0")));
        assert_eq!((inbound.kind, inbound.at.as_millis()), (ChatKind::Group, 1_700_000_000_123));
        assert!(
            inbound.mentions_me && inbound.mentions_others && inbound.sender_is_person && !inbound.edited
        );
        assert_eq!(inbound.content.text, "hi @Bo");
        assert_eq!(inbound.bots, [("ou_bo".to_owned(), "Bo".to_owned())]);
        let direct = read(message(json!({ "chat_type": "p2p", "thread_id": "", "mentions": null })));
        assert_eq!((direct.kind, direct.topic, direct.mentions_me), (ChatKind::Direct, None, false));
    }

    #[test]
    fn whoever_does_not_know_itself_takes_a_mentioned_bot_for_itself() {
        let mentioning = |kind: Value| {
            message(json!({ "mentions": [{ "key": "@_user_1", "id": { "open_id": "ou_x" }, "name": "Ship",
                "mentioned_type": kind }] }))
        };
        for (kind, mine) in [(json!("bot"), true), (json!(null), true), (json!("user"), false)] {
            let FeishuEvent::Message(inbound) = read_event(mentioning(kind.clone()), "") else { panic!() };
            assert_eq!(inbound.mentions_me, mine, "{kind}");
        }
        let FeishuEvent::Message(inbound) = read_event(message(json!({})), "") else { panic!() };
        assert!(!inbound.mentions_me, "one of several, and nobody says which is a bot");
    }

    #[test]
    fn ids_and_contents_may_come_in_other_shapes() {
        let mut event = message(
            json!({ "content": { "text": "hi" }, "mentions": [{ "key": "@_user_1", "id": "ou_me" }] }),
        );
        event["event"]["sender"] = json!({ "sender_id": { "open_id": "ou_ada" } });
        let inbound = read(event);
        assert!(inbound.mentions_me && inbound.sender_is_person);
        assert_eq!(inbound.content.text, "hi");
    }

    #[test]
    fn a_bot_is_no_person() {
        let mut event = message(json!({}));
        event["event"]["sender"]["sender_type"] = json!("app");
        assert!(!read(event).sender_is_person);
    }

    #[test]
    fn a_press_tells_who_and_what() {
        let event = json!({
            "header": { "event_id": "e2", "event_type": "card.action.trigger" },
            "event": {
                "operator": { "open_id": "ou_ada" }, "action": { "value": { "a": 1 }, "tag": "button" },
                "context": { "open_message_id": "om_2", "open_chat_id": "oc_1" },
            },
        });
        let expected = FeishuPress {
            event: "e2".into(),
            by: "ou_ada".into(),
            value: json!({ "a": 1 }),
            message: "om_2".into(),
            chat: "oc_1".into(),
        };
        assert_eq!(read_event(event, "ou_me"), FeishuEvent::Pressed(Box::new(expected)));
    }

    #[test]
    fn other_events_are_nothing_to_us() {
        for event in [
            json!({ "header": { "event_type": "im.chat.disbanded_v1" }, "event": {} }),
            json!({ "header": { "event_type": "im.message.receive_v1" }, "event": { "message": 7 } }),
            json!({ "header": { "event_type": "im.message.receive_v1" }, "event": {} }),
            json!({ "header": { "event_type": "card.action.trigger" }, "event": {} }),
            json!([]),
            json!(null),
        ] {
            assert!(matches!(read_event(event.clone(), "ou_me"), FeishuEvent::Nothing(_)), "{event}");
        }
        let recall = json!({ "header": { "event_type": "im.message.recalled_v1" },
            "event": { "message_id": "om_1", "chat_id": "oc_1" } });
        let expected = FeishuEvent::Recalled { message: "om_1".into(), chat: "oc_1".into() };
        assert_eq!(read_event(recall, "ou_me"), expected);
    }

    proptest! {
        #[test]
        fn no_content_is_too_strange(kind in "[a-z_]{0,12}", content in any::<String>()) {
            let _heard = read(message(json!({ "message_type": kind, "content": content })));
        }
    }
}
