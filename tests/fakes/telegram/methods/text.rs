//! Text messages: sent, drafted, edited and deleted.

use std::time::Instant;

use serde_json::{Map, Value, json};

use super::super::answer::{Answer, Done, Refusal};
use super::super::formatted::Formatted;
use super::super::log::Deed;
use super::super::request::Params;
use super::super::room::{AuthorRole, Draft, Kind};
use super::super::world::{Environment, now};
use super::keyboard;
use super::target::{Target, formatted, put, target, topic, writable};

const EMPTY: &str = "message text is empty";
const TOO_LONG: &str = "message is too long";

/// A non-empty text.
fn spoken(params: &Params) -> Result<Formatted, Refusal> {
    let raw = params.text("text").unwrap_or_default();
    if raw.is_empty() {
        return Err(Refusal::bad(EMPTY));
    }
    let said = formatted(params, "text", 4096, TOO_LONG)?.unwrap_or_default();
    if said.text.trim().is_empty() {
        // Markup without text is empty; white space alone has its own error message.
        return Err(Refusal::bad(if raw.trim().is_empty() { "text must be non-empty" } else { EMPTY }));
    }
    Ok(said)
}

/// `sendMessage`.
pub(crate) fn send_message(world: &mut Environment, params: &Params) -> Answer {
    let said = spoken(params)?;
    let Target { chat, topic, reply_to, mut fields } = target(world, params)?;
    put(&mut fields, "text", &said);
    let message = world.post(chat, topic, fields);
    // The message replaces its draft.
    world.room_mut(chat).drafts.retain(|_, draft| draft.topic != topic);
    let id = message["message_id"].as_i64().unwrap_or_default();
    let deed = Deed::Sent { message: id, topic, reply_to, text: said.text, media: None };
    Ok(Done { result: message, deed })
}

/// `sendMessageDraft`, which older servers do not support.
pub(crate) fn send_message_draft(world: &mut Environment, params: &Params) -> Answer {
    if !world.account.drafts {
        return Err(Refusal::not_found());
    }
    let chat = writable(world, params)?;
    let room = world.room(chat);
    if room.kind != Kind::Private {
        return Err(Refusal::bad("message drafts can be sent only to private chats"));
    }
    let draft = params.int("draft_id").filter(|draft| *draft != 0);
    let draft = draft.ok_or_else(|| Refusal::bad("draft identifier must be non-zero"))?;
    let topic = topic(world, room, params)?;
    let text = formatted(params, "text", 4096, TOO_LONG)?.unwrap_or_default().text;
    let drafts = &mut world.room_mut(chat).drafts;
    // A chat shows one draft: another id replaces the one before.
    drafts.retain(|id, other| *id == draft || other.topic != topic);
    drafts.insert(draft, Draft { text: text.clone(), topic, at: Instant::now() });
    Ok(Done { result: json!(true), deed: Deed::Drafted { draft, topic, text } })
}

/// The message of a call to edit, if it exists and is the bot's own.
fn own<'a>(
    world: &'a mut Environment,
    params: &Params,
) -> Result<(i64, &'a mut Map<String, Value>), Refusal> {
    let chat = writable(world, params)?;
    let me = world.account.user.id;
    let id = params.int("message_id").ok_or_else(|| Refusal::bad("message identifier is not specified"))?;
    let message = world.room_mut(chat).messages.get_mut(&id).and_then(Value::as_object_mut);
    let message = message.ok_or_else(|| Refusal::bad("message to edit not found"))?;
    let mine = message.get("from").is_some_and(|from| from["id"] == json!(me));
    if mine { Ok((id, message)) } else { Err(Refusal::bad("message can't be edited")) }
}

/// Edits a message; an unchanged message is an error.
fn edit(
    world: &mut Environment,
    params: &Params,
    change: impl FnOnce(&mut Map<String, Value>) -> Result<(), Refusal>,
) -> Result<(i64, Value), Refusal> {
    let markup = keyboard::markup(params)?;
    let (id, message) = own(world, params)?;
    let mut changed = message.clone();
    change(&mut changed)?;
    // A keyboard that is not sent again is removed.
    match markup {
        Some(markup) => drop(changed.insert("reply_markup".to_owned(), markup)),
        None => drop(changed.remove("reply_markup")),
    }
    if changed == *message {
        return Err(Refusal::bad(
            "message is not modified: specified new message content and reply markup are exactly the same as a \
             current content and reply markup of the message",
        ));
    }
    changed.insert("edit_date".to_owned(), json!(now()));
    *message = changed.clone();
    Ok((id, Value::Object(changed)))
}

/// `editMessageText`.
pub(crate) fn edit_message_text(world: &mut Environment, params: &Params) -> Answer {
    let said = spoken(params)?;
    if world.account.agreeable {
        let message = params.int("message_id").unwrap_or_default();
        return Ok(Done { result: json!(true), deed: Deed::Edited { message, text: said.text } });
    }
    let (message, result) = edit(world, params, |message| {
        if !message.contains_key("text") {
            return Err(Refusal::bad("there is no text in the message to edit"));
        }
        put(message, "text", &said);
        Ok(())
    })?;
    Ok(Done { result, deed: Deed::Edited { message, text: said.text } })
}

/// `editMessageCaption`.
pub(crate) fn edit_message_caption(world: &mut Environment, params: &Params) -> Answer {
    let said = formatted(params, "caption", 1024, "message caption is too long")?.unwrap_or_default();
    let (message, result) = edit(world, params, |message| {
        if message.contains_key("text") {
            return Err(Refusal::bad("there is no caption in the message to edit"));
        }
        put(message, "caption", &said);
        Ok(())
    })?;
    Ok(Done { result, deed: Deed::Edited { message, text: said.text } })
}

/// `editMessageReplyMarkup`.
pub(crate) fn edit_message_reply_markup(world: &mut Environment, params: &Params) -> Answer {
    let (message, result) = edit(world, params, |_| Ok(()))?;
    Ok(Done { result, deed: Deed::ChangedButtons { message } })
}

/// `deleteMessage`: the bot's own messages, or in a group it administers any message.
pub(crate) fn delete_message(world: &mut Environment, params: &Params) -> Answer {
    let chat = writable(world, params)?;
    let id = params.int("message_id").ok_or_else(|| Refusal::bad("message identifier is not specified"))?;
    let me = world.account.user.id;
    let room = world.room_mut(chat);
    let message = room.messages.get(&id).ok_or_else(|| Refusal::bad("message to delete not found"))?;
    let may =
        message["from"]["id"] == json!(me) || room.kind == Kind::Private || room.role == AuthorRole::Admin;
    if !may {
        return Err(Refusal::bad("message can't be deleted"));
    }
    room.messages.remove(&id);
    Ok(Done { result: json!(true), deed: Deed::Deleted { message: id } })
}
