//! Methods about chats: actions, reactions, members, topics.

use serde_json::{Value, json};

use super::super::answer::{Answer, Done, Refusal};
use super::super::log::Deed;
use super::super::request::Params;
use super::super::room::{AuthorRole, Kind};
use super::super::world::Environment;
use super::target::{chat, topic, writable};

const ACTIONS: [&str; 11] = [
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
];

/// The emoji a bot may react with.
const REACTIONS: &str = "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 \
                         😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡";

/// `sendChatAction`.
pub(crate) fn send_chat_action(world: &mut Environment, params: &Params) -> Answer {
    let chat = writable(world, params)?;
    let topic = topic(world, world.room(chat), params)?;
    let action = params.text("action").unwrap_or_default();
    if !ACTIONS.contains(&action.as_str()) {
        return Err(Refusal::bad("wrong parameter action in request"));
    }
    Ok(Done { result: json!(true), deed: Deed::Acted { topic, action } })
}

/// `setMessageReaction`: one emoji of the allowed set, or none.
pub(crate) fn set_message_reaction(world: &mut Environment, params: &Params) -> Answer {
    let chat = writable(world, params)?;
    let message = params.int("message_id").unwrap_or_default();
    if !world.room(chat).messages.contains_key(&message) {
        return Err(Refusal::bad("message to react not found"));
    }
    let reactions = params.json("reaction")?.and_then(|list| list.as_array().cloned()).unwrap_or_default();
    if reactions.len() > 1 {
        return Err(Refusal::bad("REACTIONS_TOO_MANY"));
    }
    let allowed = |reaction: &Value| {
        let emoji = reaction["emoji"].as_str().filter(|_| reaction["type"] == "emoji")?;
        REACTIONS.split_whitespace().any(|known| known == emoji).then(|| emoji.to_owned())
    };
    let emoji: Option<Vec<String>> = reactions.iter().map(allowed).collect();
    let emoji = emoji.ok_or_else(|| Refusal::bad("REACTION_INVALID"))?;
    world.room_mut(chat).reactions.insert(message, emoji.clone());
    Ok(Done { result: json!(true), deed: Deed::Reacted { message, emoji } })
}

/// `getChat`.
pub(crate) fn get_chat(world: &mut Environment, params: &Params) -> Answer {
    let room = world.room(chat(world, params)?);
    if room.kind != Kind::Private && matches!(room.role, AuthorRole::Kicked) {
        return Err(Refusal::forbidden(&format!("bot was kicked from the {} chat", room.kind.name())));
    }
    let mut result = room.wire();
    result["accent_color_id"] = json!(0);
    result["max_reaction_count"] = json!(11);
    result["accepted_gift_types"] = json!({ "unlimited_gifts": false, "limited_gifts": false,
        "unique_gifts": false, "premium_subscription": false });
    Ok(Done { result, deed: Deed::Asked })
}

/// `getChatMember`.
pub(crate) fn get_chat_member(world: &mut Environment, params: &Params) -> Answer {
    let room = world.room(writable(world, params)?);
    let id = params.int("user_id").unwrap_or_default();
    let result = if id == world.account.user.id {
        json!({ "status": room.role.status(), "user": world.account.user.wire() })
    } else {
        let user = room.members.get(&id).ok_or_else(|| Refusal::bad("user not found"))?;
        let status = if room.admins.contains(&id) { "administrator" } else { "member" };
        json!({ "status": status, "user": user.wire() })
    };
    Ok(Done { result, deed: Deed::Asked })
}

/// `getChatAdministrators`, which leaves other bots out.
pub(crate) fn get_chat_administrators(world: &mut Environment, params: &Params) -> Answer {
    let room = world.room(writable(world, params)?);
    if room.kind == Kind::Private {
        return Err(Refusal::bad("there are no administrators in the private chat"));
    }
    let admin = |user: Value| json!({ "status": "administrator", "user": user, "is_anonymous": false });
    let people = room.admins.iter().filter_map(|id| room.members.get(id)).map(|user| admin(user.wire()));
    let me = (room.role == AuthorRole::Admin).then(|| admin(world.account.user.wire()));
    Ok(Done { result: people.chain(me).collect(), deed: Deed::Asked })
}

/// `leaveChat`.
pub(crate) fn leave_chat(world: &mut Environment, params: &Params) -> Answer {
    let chat = writable(world, params)?;
    let room = world.room_mut(chat);
    if room.kind == Kind::Private {
        return Err(Refusal::bad("chat member status can't be changed in private chats"));
    }
    room.role = AuthorRole::Left;
    Ok(Done { result: json!(true), deed: Deed::Left })
}

/// `createForumTopic`.
pub(crate) fn create_forum_topic(world: &mut Environment, params: &Params) -> Answer {
    let chat = writable(world, params)?;
    let name = params.text("name").filter(|name| (1..=128).contains(&name.chars().count()));
    let name = name.ok_or_else(|| Refusal::bad("TOPIC_NAME_INVALID"))?;
    let private = world.account.topics;
    let room = world.room_mut(chat);
    match room.kind {
        Kind::Private if private => {}
        Kind::Supergroup if room.forum && room.role == AuthorRole::Admin => {}
        Kind::Supergroup if room.forum => return Err(Refusal::bad("not enough rights to create a topic")),
        _ => return Err(Refusal::bad("the chat is not a forum")),
    }
    let topic = world.make_topic(chat, &name);
    let result = json!({ "message_thread_id": topic, "name": name, "icon_color": 7_322_096 });
    Ok(Done { result, deed: Deed::CreatedTopic { topic } })
}
