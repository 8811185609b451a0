//! What people see now, after all edits and deletions, and queries for tests.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::room::{Button, Draft, Room};
use super::world::{Environment, Press};

/// How long a draft is shown without a refresh.
const DRAFT_LIFE: Duration = Duration::from_secs(30);

/// A message in a chat.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Visible {
    pub(crate) id: i64,
    pub(crate) author: String,
    pub(crate) by_bot: bool,
    pub(crate) topic: Option<i64>,
    pub(crate) reply_to: Option<i64>,
    /// Its text or caption.
    pub(crate) text: String,
    pub(crate) entities: Vec<Value>,
    /// Its kind of media, such as `photo`.
    pub(crate) media: Option<&'static str>,
    pub(crate) buttons: Vec<Vec<Button>>,
}

impl Visible {
    /// A message, in the view of the bot with this id.
    fn read(message: &Value, me: i64) -> Self {
        let words = if message.get("caption").is_some() { "caption" } else { "text" };
        let list = if words == "caption" { "caption_entities" } else { "entities" };
        let author = message["sender_chat"]["title"].as_str().or(message["from"]["first_name"].as_str());
        let media = ["photo", "document", "voice", "audio", "video", "sticker", "location", "contact"];
        Self {
            id: message["message_id"].as_i64().unwrap_or_default(),
            author: author.unwrap_or_default().to_owned(),
            by_bot: message["from"]["id"] == me,
            topic: message["message_thread_id"].as_i64(),
            reply_to: message["reply_to_message"]["message_id"].as_i64(),
            text: message[words].as_str().unwrap_or_default().to_owned(),
            entities: message[list].as_array().cloned().unwrap_or_default(),
            media: media.into_iter().find(|kind| message.get(kind).is_some()),
            buttons: Room::buttons(message),
        }
    }

    /// The texts of the buttons, in one list.
    pub(crate) fn labels(&self) -> Vec<&str> {
        self.buttons.iter().flatten().map(|button| button.text.as_str()).collect()
    }
}

impl Environment {
    /// The current messages of a chat, without service messages.
    pub(crate) fn visible(&self, chat: i64) -> Vec<Visible> {
        let read = |message| Visible::read(message, self.account.user.id);
        let all = self.room(chat).messages.values().map(read);
        all.filter(|message| message.media.is_some() || !message.text.is_empty()).collect()
    }

    /// The bot's current messages in a chat that came after this one.
    pub(crate) fn bot_messages_after(&self, chat: i64, message: i64) -> Vec<Visible> {
        let later = self.room(chat).messages.range(message + 1..);
        let read = |message| Visible::read(message, self.account.user.id);
        later.map(|(_, message)| read(message)).filter(|message| message.by_bot).collect()
    }

    /// The current texts of the bot's messages in a chat.
    pub(crate) fn bot_texts(&self, chat: i64) -> Vec<String> {
        self.visible(chat).into_iter().filter(|message| message.by_bot).map(|message| message.text).collect()
    }

    /// The chat as text: one line for each message.
    pub(crate) fn visible_text(&self, chat: i64) -> String {
        let mut out = String::new();
        for message in self.visible(chat) {
            let topic = message.topic.map_or_else(String::new, |topic| format!("#{topic} "));
            let media = message.media.map_or_else(String::new, |media| format!("({media}) "));
            write!(out, "{topic}{}: {media}{}", message.author, message.text).unwrap();
            let labels = message.labels();
            if !labels.is_empty() {
                write!(out, " [{}]", labels.join("|")).unwrap();
            }
            out.push('\n');
        }
        out
    }

    /// The visible drafts of a chat.
    pub(crate) fn drafts(&self, chat: i64) -> Vec<&Draft> {
        self.room(chat).drafts.values().filter(|draft| draft.at.elapsed() < DRAFT_LIFE).collect()
    }

    /// The bot's reaction to a message.
    pub(crate) fn reaction(&self, chat: i64, message: i64) -> &[String] {
        self.room(chat).reactions.get(&message).map(Vec::as_slice).unwrap_or_default()
    }

    /// The state of a press.
    pub(crate) fn press(&self, query: &str) -> &Press {
        self.presses.get(query).unwrap_or_else(|| panic!("nobody pressed {query}"))
    }

    /// The names in a menu of commands.
    pub(crate) fn menu(&self, scope: &str, language: &str) -> Vec<&str> {
        let commands = self.commands.get(&(scope.to_owned(), language.to_owned())).and_then(Value::as_array);
        commands.into_iter().flatten().filter_map(|command| command["command"].as_str()).collect()
    }

    /// How many updates are unconfirmed.
    pub(crate) fn pending(&self) -> usize {
        self.updates.pending()
    }

    /// The highest confirmed update id.
    pub(crate) fn confirmed(&self) -> i64 {
        self.updates.confirmed()
    }

    /// The id of the update of a message.
    pub(crate) fn update_of(&self, chat: i64, message: i64) -> i64 {
        let brings = |update: &Value| {
            let kinds = ["message", "channel_post"].into_iter().filter_map(|kind| update.get(kind));
            kinds.into_iter().any(|m| m["chat"]["id"] == chat && m["message_id"] == message)
        };
        let found = self.updates.made().iter().find(|(_, update)| brings(update));
        found.map(|(id, _)| *id).unwrap_or_else(|| panic!("no update brought {message} of {chat}"))
    }

    /// The id of the latest update.
    pub(crate) fn last_update(&self) -> i64 {
        *self.updates.made().keys().next_back().expect("there was no update yet")
    }

    /// Each call that exceeded the limits: its chat and its method.
    pub(crate) fn violations(&self) -> &[(i64, String)] {
        self.flood.as_ref().map(|flood| flood.violations()).unwrap_or_default()
    }

    /// How many deliveries to the webhook failed.
    pub(crate) fn webhook_failures(&self) -> usize {
        self.webhook.as_ref().map_or(0, |webhook| webhook.failures)
    }

    /// The whole state, for a failing test.
    pub(crate) fn tell(&self) -> String {
        let mut out = format!("{}", self.log);
        for id in self.rooms.keys() {
            write!(out, "--- chat {id}\n{}", self.visible_text(*id)).unwrap();
        }
        write!(out, "--- {} updates wait, confirmed up to {}", self.pending(), self.confirmed()).unwrap();
        out
    }
}
