//! Tolerant types for updates: only the fields that are used. Unknown fields and kinds of updates are ignored; a secondary
//! field that cannot be parsed is ignored too.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// `null` reads as the default.
fn or_default<'de, D, T>(given: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(given)?.unwrap_or_default())
}

/// An unreadable value reads as the default.
fn lenient<'de, D, T>(given: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + DeserializeOwned,
{
    Ok(T::deserialize(Value::deserialize(given)?).unwrap_or_default())
}

/// Reads a list of entities; an unreadable one becomes an entity of unknown place and kind.
fn entities<'de, D: Deserializer<'de>>(given: D) -> Result<Vec<Entity>, D::Error> {
    let elements = match Value::deserialize(given)? {
        Value::Array(elements) => elements,
        Value::Null => Vec::new(),
        other => vec![other],
    };
    let read = |element| Entity::deserialize(element).unwrap_or_else(|_| Entity::unreadable());
    Ok(elements.into_iter().map(read).collect())
}

/// A message with any forward origin counts as forwarded.
fn origin<'de, D: Deserializer<'de>>(given: D) -> Result<Option<ForwardOrigin>, D::Error> {
    let value = Value::deserialize(given)?;
    Ok((!value.is_null()).then(|| ForwardOrigin::deserialize(value).unwrap_or_default()))
}

/// A string, or a number converted to one.
fn text<'de, D: Deserializer<'de>>(given: D) -> Result<String, D::Error> {
    match Value::deserialize(given)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(serde::de::Error::custom("neither a text nor a number")),
    }
}

/// The bot itself, from `getMe`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Me {
    pub(super) id: i64,
    /// Its name, without the `@`.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) username: String,
    /// Whether private chats with it can have topics.
    #[serde(default, rename = "has_topics_enabled", deserialize_with = "or_default")]
    pub(super) topics: bool,
    /// Whether it receives all group messages (privacy mode off).
    #[serde(default, rename = "can_read_all_group_messages", deserialize_with = "or_default")]
    pub(super) hears_all: bool,
}

impl Me {
    /// Whether a text is its `@name`.
    pub(super) fn is_called(&self, mention: &str) -> bool {
        let name = mention.strip_prefix('@').unwrap_or_default();
        !name.is_empty() && name.eq_ignore_ascii_case(&self.username)
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Update {
    pub(super) message: Option<Message>,
    pub(super) edited_message: Option<Message>,
    pub(super) callback_query: Option<CallbackQuery>,
    pub(super) my_chat_member: Option<MemberChange>,
    pub(super) stopped_message_generation: Option<StoppedDraft>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Chat {
    pub(super) id: i64,
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) title: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) is_forum: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct User {
    pub(super) id: i64,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) is_bot: bool,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) first_name: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) last_name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) language_code: Option<String>,
}

impl User {
    /// Full name.
    pub(super) fn name(&self) -> String {
        match &self.last_name {
            Some(last) => format!("{} {last}", self.first_name),
            None => self.first_name.clone(),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Message {
    pub(super) message_id: i64,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) date: i64,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) edit_date: Option<i64>,
    pub(super) chat: Chat,
    pub(super) from: Option<User>,
    pub(super) sender_chat: Option<Chat>,
    pub(super) message_thread_id: Option<i64>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) is_topic_message: bool,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) reply_to_message: Option<Box<Message>>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) quote: Option<Quote>,
    #[serde(default, deserialize_with = "origin")]
    pub(super) forward_origin: Option<ForwardOrigin>,
    pub(super) forward_date: Option<serde::de::IgnoredAny>,
    pub(super) via_bot: Option<serde::de::IgnoredAny>,
    pub(super) sender_business_bot: Option<serde::de::IgnoredAny>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) is_automatic_forward: bool,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) is_from_offline: bool,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) media_group_id: Option<String>,
    pub(super) text: Option<String>,
    #[serde(default, deserialize_with = "entities")]
    pub(super) entities: Vec<Entity>,
    pub(super) caption: Option<String>,
    #[serde(default, deserialize_with = "entities")]
    pub(super) caption_entities: Vec<Entity>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) photo: Vec<File>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) document: Option<File>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) voice: Option<File>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) audio: Option<File>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) video: Option<File>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) video_note: Option<File>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) animation: Option<File>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) sticker: Option<Sticker>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) location: Option<Location>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) venue: Option<Venue>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) contact: Option<Contact>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) poll: Option<Poll>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) dice: Option<Dice>,
    pub(super) migrate_to_chat_id: Option<i64>,
    pub(super) migrate_from_chat_id: Option<i64>,
    pub(super) forum_topic_created: Option<serde::de::IgnoredAny>,
}

/// The quoted part of the message that is replied to.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Quote {
    #[serde(default)]
    pub(super) text: String,
}

/// The origin of a forwarded message: exactly one of these fields is set.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ForwardOrigin {
    pub(super) sender_user: Option<User>,
    pub(super) sender_user_name: Option<String>,
    pub(super) sender_chat: Option<Chat>,
    pub(super) chat: Option<Chat>,
}

/// A marked part of a text. Offset and length count UTF-16 units.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Entity {
    #[serde(default, rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) offset: usize,
    #[serde(default)]
    pub(super) length: usize,
    pub(super) user: Option<User>,
}

impl Entity {
    fn unreadable() -> Self {
        Self { kind: "unreadable".to_owned(), offset: 0, length: usize::MAX, user: None }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct File {
    pub(super) file_id: String,
    pub(super) file_name: Option<String>,
    pub(super) mime_type: Option<String>,
    pub(super) file_size: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Sticker {
    pub(super) emoji: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Location {
    pub(super) latitude: f64,
    pub(super) longitude: f64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Venue {
    pub(super) location: Location,
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    pub(super) address: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Contact {
    #[serde(default)]
    pub(super) phone_number: String,
    #[serde(default)]
    pub(super) first_name: String,
    pub(super) last_name: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Poll {
    #[serde(default)]
    pub(super) question: String,
    #[serde(default)]
    pub(super) options: Vec<PollOption>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct PollOption {
    #[serde(default)]
    pub(super) text: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Dice {
    #[serde(default)]
    pub(super) emoji: String,
    #[serde(default)]
    pub(super) value: i64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct CallbackQuery {
    #[serde(deserialize_with = "text")]
    pub(super) id: String,
    pub(super) from: User,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) message: Option<ButtonMessage>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) data: Option<String>,
}

/// The message with the button; of an old one there is little more than its id.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ButtonMessage {
    pub(super) message_id: i64,
    pub(super) chat: Chat,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) message_thread_id: Option<i64>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) is_topic_message: bool,
}

/// A change of the bot's membership.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct MemberChange {
    pub(super) chat: Chat,
    pub(super) from: User,
    pub(super) old_chat_member: ChatMember,
    pub(super) new_chat_member: ChatMember,
}

/// The membership of a user in a chat.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ChatMember {
    #[serde(default)]
    pub(super) status: String,
    pub(super) is_member: Option<bool>,
}

impl ChatMember {
    /// Whether the user is a member.
    pub(super) fn is_in(&self) -> bool {
        match self.status.as_str() {
            "creator" | "administrator" | "member" => true,
            "restricted" => self.is_member.unwrap_or(true),
            _ => false,
        }
    }

    /// Whether the user is an administrator.
    pub(super) fn is_admin(&self) -> bool {
        matches!(self.status.as_str(), "creator" | "administrator")
    }
}

/// A press on "stop generating".
#[derive(Clone, Debug, Deserialize)]
pub(super) struct StoppedDraft {
    pub(super) chat: Chat,
    pub(super) message_thread_id: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_in_any_case_and_nothing_else_is() {
        let me = Me { id: 1, username: "Ship_Bot".into(), ..Me::default() };
        for (words, known) in
            [("@ship_bot", true), ("@SHIP_BOT", true), ("ship_bot", false), ("@ship", false), ("@", false)]
        {
            assert_eq!(me.is_called(words), known, "{words}");
        }
        assert!(!Me::default().is_called("@"));
    }
}
