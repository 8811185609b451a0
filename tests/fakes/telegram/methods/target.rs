//! The target of a message: the chat, the topic, the message it replies to, and whether the bot may write there.

use serde_json::{Map, Value, json};

use super::super::answer::Refusal;
use super::super::formatted::Formatted;
use super::super::request::Params;
use super::super::room::{AuthorRole, Kind, Room};
use super::super::world::Environment;
use super::keyboard;

/// A target that the bot may write to, with all fields of a message beside its content.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) chat: i64,
    pub(crate) topic: Option<i64>,
    pub(crate) reply_to: Option<i64>,
    pub(crate) fields: Map<String, Value>,
}

/// The chat of a call, with any role of the bot.
pub(crate) fn chat(world: &Environment, params: &Params) -> Result<i64, Refusal> {
    let named = params.text("chat_id").filter(|name| !name.is_empty());
    let named = named.ok_or_else(|| Refusal::bad("chat_id is empty"))?;
    let id = named.parse().ok().filter(|id| world.rooms.contains_key(id));
    id.ok_or_else(|| Refusal::bad("chat not found"))
}

/// The chat of a call, if the bot may write there.
pub(crate) fn writable(world: &Environment, params: &Params) -> Result<i64, Refusal> {
    let id = chat(world, params)?;
    let room = world.room(id);
    if let Some(to) = room.migrated_to {
        return Err(Refusal::migrated(to));
    }
    let kind = if room.kind == Kind::Supergroup { "supergroup" } else { room.kind.name() };
    match (room.role, room.kind) {
        (AuthorRole::Member | AuthorRole::Admin, _) => Ok(id),
        (AuthorRole::Stranger, _) => Err(Refusal::forbidden("bot can't initiate conversation with a user")),
        (AuthorRole::Kicked, Kind::Private) => Err(Refusal::forbidden("bot was blocked by the user")),
        (AuthorRole::Kicked, _) => Err(Refusal::forbidden(&format!("bot was kicked from the {kind} chat"))),
        (AuthorRole::Left, _) => Err(Refusal::forbidden(&format!("bot is not a member of the {kind} chat"))),
    }
}

/// The topic of a call. The General topic has no id that can be written to.
pub(crate) fn topic(world: &Environment, room: &Room, params: &Params) -> Result<Option<i64>, Refusal> {
    let Some(topic) = params.int("message_thread_id").filter(|topic| *topic != 0) else { return Ok(None) };
    let has_topics = room.forum || (room.kind == Kind::Private && world.account.topics);
    let known = if has_topics {
        room.topics.contains_key(&topic)
    } else {
        // In a supergroup without topics a thread has the id of its first message.
        room.kind == Kind::Supergroup && room.messages.contains_key(&topic)
    };
    if known { Ok(Some(topic)) } else { Err(Refusal::bad("message thread not found")) }
}

/// All fields of a message except its content.
pub(crate) fn target(world: &Environment, params: &Params) -> Result<Target, Refusal> {
    let chat = writable(world, params)?;
    let room = world.room(chat);
    let topic = topic(world, room, params)?;
    let mut fields = Map::new();
    fields.insert("from".to_owned(), world.account.user.wire());
    let reply_to = reply(room, params, &mut fields)?;
    if let Some(markup) = keyboard::markup(params)? {
        // Only an inline keyboard is part of the message.
        if markup.get("inline_keyboard").is_some() {
            fields.insert("reply_markup".to_owned(), markup);
        }
    }
    Ok(Target { chat, topic, reply_to, fields })
}

fn reply(room: &Room, params: &Params, fields: &mut Map<String, Value>) -> Result<Option<i64>, Refusal> {
    let wanted = match params.json("reply_parameters")? {
        Some(wanted) => wanted,
        None => match params.int("reply_to_message_id") {
            Some(id) => {
                json!({ "message_id": id, "allow_sending_without_reply": params.flag("allow_sending_without_reply") })
            }
            None => return Ok(None),
        },
    };
    let id = wanted["message_id"].as_i64().ok_or_else(|| Refusal::bad("can't parse reply parameters"))?;
    let Some(quoted) = room.quoted(id) else {
        return match wanted["allow_sending_without_reply"].as_bool() {
            Some(true) => Ok(None),
            _ => Err(Refusal::bad("message to be replied not found")),
        };
    };
    if let Some(quote) = wanted["quote"].as_str() {
        let said = quoted["text"].as_str().or(quoted["caption"].as_str()).unwrap_or_default();
        let before = said.split_once(quote).ok_or_else(|| Refusal::bad("QUOTE_TEXT_INVALID"))?.0;
        let position = super::super::formatted::units(before);
        fields.insert("quote".to_owned(), json!({ "text": quote, "position": position, "is_manual": true }));
    }
    fields.insert("reply_to_message".to_owned(), quoted);
    Ok(Some(id))
}

/// Parses a text or caption with its markup, and checks its length.
pub(crate) fn formatted(
    params: &Params,
    name: &str,
    limit: usize,
    too_long: &str,
) -> Result<Option<Formatted>, Refusal> {
    let Some(text) = params.text(name) else { return Ok(None) };
    let list = if name == "caption" { "caption_entities" } else { "entities" };
    let refused = |error: String| match error.starts_with("unsupported parse_mode") {
        true => Refusal::bad("unsupported parse_mode"),
        false => Refusal::bad(format!("can't parse entities: {error}")),
    };
    let formatted = match (params.text("parse_mode").filter(|mode| !mode.is_empty()), params.json(list)?) {
        (Some(mode), _) => Formatted::parse(&text, &mode).map_err(refused)?,
        (None, Some(Value::Array(entities))) => Formatted::with_entities(&text, entities).map_err(refused)?,
        (None, Some(_)) => return Err(Refusal::bad(format!("can't parse {list}"))),
        (None, None) => Formatted::typed(&text),
    };
    if super::super::formatted::units(&formatted.text) > limit {
        return Err(Refusal::bad(too_long));
    }
    Ok(Some(formatted))
}

/// Adds a text or caption to a message.
pub(crate) fn put(fields: &mut Map<String, Value>, name: &str, formatted: &Formatted) {
    let list = if name == "caption" { "caption_entities" } else { "entities" };
    fields.insert(name.to_owned(), json!(formatted.text));
    if formatted.entities.is_empty() {
        fields.remove(list);
    } else {
        fields.insert(list.to_owned(), json!(formatted.entities));
    }
}
