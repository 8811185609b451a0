//! Simulated people: they write, press buttons and send files.

use serde_json::{Value, json};
use shipagent::ports::{Clock as _, SystemClock};

use super::server::Feishu;
use super::world::{Environment, Posted, Written};
use super::{BOT, world};

/// A message of a person.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    chat: String,
    kind: &'static str,
    sender: String,
    topic: Option<String>,
    parent: Option<String>,
    message_type: String,
    content: Value,
    mentions_bot: bool,
    /// Another account that it mentions, by id and name.
    names: Option<(String, String)>,
    by_bot: bool,
    /// When it was written, in milliseconds.
    at: i64,
}

impl Message {
    /// In private.
    pub(crate) fn private(sender: &str, text: &str) -> Self {
        Self {
            chat: format!("oc_{}", sender.trim_start_matches("ou_")),
            kind: "p2p",
            sender: sender.to_owned(),
            topic: None,
            parent: None,
            message_type: "text".to_owned(),
            content: json!({ "text": text }),
            mentions_bot: false,
            names: None,
            by_bot: false,
            at: 1_700_000_000_000,
        }
    }

    pub(crate) fn group(chat: &str, sender: &str, text: &str) -> Self {
        Self { chat: chat.to_owned(), kind: "group", ..Self::private(sender, text) }
    }

    /// Mentions the agent.
    pub(crate) fn mentioning(mut self) -> Self {
        let text = self.content["text"].as_str().unwrap_or_default().to_owned();
        self.content = json!({ "text": format!("@_user_1 {text}") });
        self.mentions_bot = true;
        self
    }

    /// Mentions another account, as `@_user_2` in its text.
    pub(crate) fn naming(mut self, open_id: &str, name: &str) -> Self {
        self.names = Some((open_id.to_owned(), name.to_owned()));
        self
    }

    /// Another bot wrote it.
    pub(crate) fn by_bot(mut self) -> Self {
        self.by_bot = true;
        self
    }

    /// Written now, and not at the fixed time of most tests.
    pub(crate) fn now(mut self) -> Self {
        self.at = SystemClock.now().as_millis();
        self
    }

    /// Written so many seconds ago.
    pub(crate) fn ago(mut self, seconds: i64) -> Self {
        self = self.now();
        self.at -= seconds * 1000;
        self
    }

    pub(crate) fn in_topic(mut self, topic: &str) -> Self {
        self.topic = Some(topic.to_owned());
        self
    }

    pub(crate) fn answering(mut self, message: &str) -> Self {
        self.parent = Some(message.to_owned());
        self
    }

    pub(crate) fn of_kind(mut self, kind: &str, content: Value) -> Self {
        self.message_type = kind.to_owned();
        self.content = content;
        self
    }

    fn event(&self, id: &str) -> Value {
        let mut message = json!({
            "message_id": id, "chat_id": self.chat, "chat_type": self.kind, "create_time": self.at.to_string(),
            "update_time": self.at.to_string(), "message_type": self.message_type, "content": self.content.to_string(),
        });
        if self.mentions_bot {
            message["mentions"] = json!([{ "key": "@_user_1", "id": { "open_id": BOT, "union_id": "on_x" },
                "name": "Ship", "tenant_key": "k" }]);
        }
        if let Some((id, name)) = &self.names {
            message["mentions"] = json!([{ "key": "@_user_2", "id": { "open_id": id }, "name": name,
                "mentioned_type": "bot", "tenant_key": "k" }]);
        }
        for (key, value) in
            [("thread_id", &self.topic), ("parent_id", &self.parent), ("root_id", &self.parent)]
        {
            if let Some(value) = value {
                message[key] = json!(value);
            }
        }
        let kind = if self.by_bot { "bot" } else { "user" };
        let sender = json!({ "sender_id": { "open_id": self.sender, "union_id": format!("on_{}", self.sender) }, "sender_type": kind, "tenant_key": "k" });
        json!({ "sender": sender, "message": message })
    }
}

fn envelope(kind: &str, id: &str, event: Value) -> Value {
    let header = json!({ "event_id": id, "event_type": kind, "create_time": "1700000000000", "token": "vt",
        "app_id": super::APP_ID, "tenant_key": "k" });
    json!({ "schema": "2.0", "header": header, "event": event })
}

impl Feishu {
    /// A person writes. Returns the message's id.
    pub(crate) fn write(&self, message: &Message) -> String {
        let id = self.shared.change(|world| world.fresh("om_user"));
        self.write_as(message, &id);
        id
    }

    /// A person writes a message of this id.
    pub(crate) fn write_as(&self, message: &Message, id: &str) {
        self.remember(message, id);
        self.shared.change(|world| deliver(world, message, id, "first"));
    }

    /// A person has deleted a message that the platform remembers.
    pub(crate) fn delete(&self, id: &str) {
        self.shared.change(|world| {
            let written = world.written.get_mut(id).expect("it is there");
            written.item = json!({ "message_id": id, "msg_type": "text", "deleted": true, "chat_id": written.chat,
                "create_time": written.item["create_time"], "body": { "content": "This message was recalled" } });
        });
    }

    /// The platform knows a message of which it does not tell the app.
    pub(crate) fn remember(&self, message: &Message, id: &str) {
        let item = json!({
            "message_id": id, "msg_type": message.message_type, "create_time": message.at.to_string(), "deleted": false,
            "chat_id": message.chat, "body": { "content": message.content.to_string() },
            "sender": if message.by_bot {
                json!({ "id": message.sender, "id_type": "app_id", "sender_type": "app" })
            } else {
                json!({ "id": message.sender, "id_type": "open_id", "sender_type": "user" })
            },
        });
        let written = Written { chat: message.chat.clone(), item };
        self.shared.change(|world| world.written.insert(id.to_owned(), written));
    }

    /// The platform sends the event of a message again.
    pub(crate) fn write_again(&self, message: &Message, id: &str) {
        self.shared.change(|world| {
            let nonce = world.fresh("again");
            deliver(world, message, id, &nonce);
        });
    }

    /// The event of a message, for the webhook.
    pub(crate) fn event_of(&self, message: &Message) -> Value {
        let id = self.shared.change(|world| world.fresh("om_user"));
        envelope("im.message.receive_v1", &format!("ev-{id}"), message.event(&id))
    }

    /// A file on the platform. Returns its key.
    pub(crate) fn keep_file(&self, name: &str, bytes: &[u8]) -> String {
        self.shared.change(|world| {
            let key = world.fresh("key_");
            world.files.insert(key.clone(), (name.to_owned(), bytes.to_vec()));
            key
        })
    }

    /// A person presses the button of a card whose label contains this. Returns the key of the event.
    pub(crate) fn press(&self, posted: &Posted, label: &str, by: &str) -> String {
        let value = button(&posted.content, label);
        self.press_value(posted, value, by)
    }

    pub(crate) fn press_value(&self, posted: &Posted, value: Value, by: &str) -> String {
        self.shared.change(|world| {
            let id = world.fresh("ev_press");
            let event = json!({
                "operator": { "open_id": by, "union_id": "on_y" }, "token": "c-1", "host": "im_message",
                "action": { "value": value, "tag": "button" },
                "context": { "open_message_id": posted.id, "open_chat_id": posted.chat },
            });
            world.push(id.clone(), "card", envelope("card.action.trigger", &id, event));
            id
        })
    }

    /// Waits for the app's response to an event.
    pub(crate) async fn acknowledgement(&self, key: &str) -> world::Ack {
        self.wait_for("an acknowledgement", |world| {
            world.acks.iter().find(|ack| ack.key == key && ack.code == 200).cloned()
        })
        .await
    }

    /// Waits for an unsettled card with buttons in a chat.
    pub(crate) async fn question(&self, chat: &str) -> Posted {
        self.wait_for("a question", |world| {
            let open =
                |posted: &&Posted| posted.chat == chat && posted.content.to_string().contains("\"button\"");
            world.posted.iter().rev().find(open).cloned()
        })
        .await
    }
}

/// The value of the button whose label contains this.
fn button(card: &Value, label: &str) -> Value {
    let rows = card["body"]["elements"].as_array().cloned().unwrap_or_default();
    let buttons = rows
        .iter()
        .filter_map(|row| row["columns"].as_array())
        .flatten()
        .map(|column| &column["elements"][0]);
    let found =
        buttons.clone().find(|button| button["text"]["content"].as_str().unwrap_or_default().contains(label));
    found.unwrap_or_else(|| panic!("no button {label} in {card}"))["behaviors"][0]["value"].clone()
}

fn deliver(world: &mut Environment, message: &Message, id: &str, nonce: &str) {
    let event = envelope("im.message.receive_v1", &format!("ev-{id}-{nonce}"), message.event(id));
    world.push(format!("{id}-{nonce}"), "event", event);
}
