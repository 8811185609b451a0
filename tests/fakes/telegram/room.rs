//! One chat as the server stores it: its messages, its topics, and the bot's role.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};

use super::account::User;

/// The kind of a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Private,
    Group,
    Supergroup,
    Channel,
}

impl Kind {
    /// The name in the wire format.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Group => "group",
            Self::Supergroup => "supergroup",
            Self::Channel => "channel",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthorRole {
    Member,
    Admin,
    Left,
    Kicked,
    /// The person of a private chat never wrote to the bot.
    Stranger,
}

impl AuthorRole {
    /// The status in the wire format.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Admin => "administrator",
            Self::Left | Self::Stranger => "left",
            Self::Kicked => "kicked",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// Its text; empty for a thinking indicator.
    pub(crate) text: String,
    pub(crate) topic: Option<i64>,
    /// When it was last refreshed.
    pub(crate) at: Instant,
}

#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) id: i64,
    pub(crate) kind: Kind,
    pub(crate) title: String,
    pub(crate) forum: bool,
    pub(crate) topics: BTreeMap<i64, String>,
    /// The current messages, in the wire format.
    pub(crate) messages: BTreeMap<i64, Value>,
    pub(crate) last_id: i64,
    pub(crate) members: BTreeMap<i64, User>,
    pub(crate) admins: Vec<i64>,
    pub(crate) role: AuthorRole,
    pub(crate) migrated_to: Option<i64>,
    pub(crate) drafts: BTreeMap<i64, Draft>,
    /// The bot's reaction to each message.
    pub(crate) reactions: BTreeMap<i64, Vec<String>>,
}

impl Room {
    /// An empty chat with the bot in it.
    pub(crate) fn new(id: i64, kind: Kind, title: &str) -> Self {
        Self {
            id,
            kind,
            title: title.to_owned(),
            forum: false,
            topics: BTreeMap::new(),
            messages: BTreeMap::new(),
            last_id: 0,
            members: BTreeMap::new(),
            admins: Vec::new(),
            role: AuthorRole::Member,
            migrated_to: None,
            drafts: BTreeMap::new(),
            reactions: BTreeMap::new(),
        }
    }

    /// In the wire format.
    pub(crate) fn wire(&self) -> Value {
        let mut chat = json!({ "id": self.id, "type": self.kind.name() });
        let name = if self.kind == Kind::Private { "first_name" } else { "title" };
        chat[name] = json!(self.title);
        if self.forum {
            chat["is_forum"] = json!(true);
        }
        chat
    }

    /// A new id in this chat.
    pub(crate) fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    /// A message as it is quoted in another: without its own quote.
    pub(crate) fn quoted(&self, message: i64) -> Option<Value> {
        let mut quoted = self.messages.get(&message)?.clone();
        quoted.as_object_mut()?.remove("reply_to_message");
        Some(quoted)
    }

    /// The buttons of a message, row by row.
    pub(crate) fn buttons(message: &Value) -> Vec<Vec<Button>> {
        let rows =
            message["reply_markup"]["inline_keyboard"].as_array().map(Vec::as_slice).unwrap_or_default();
        let row =
            |row: &Value| -> Vec<Button> { row.as_array().into_iter().flatten().map(Button::read).collect() };
        rows.iter().map(row).collect()
    }
}

/// A button under a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Button {
    pub(crate) text: String,
    /// The callback data; `None` for a link.
    pub(crate) data: Option<String>,
}

impl Button {
    fn read(button: &Value) -> Self {
        let field = |name: &str| button[name].as_str().map(str::to_owned);
        Self { text: field("text").unwrap_or_default(), data: field("callback_data") }
    }
}
