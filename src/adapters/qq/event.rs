//! Parses the platform's events. Pure: one function from a dispatch to an [`QqEvent`].
//!
//! A missing or malformed field never fails the event: the platform adds and moves fields without notice.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message_text::{clean, without_mentions};
use super::scene::Scene;
use crate::domain::{Quoted, Timestamp};

/// An event of the gateway or the webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Dispatch {
    pub(super) name: String,
    /// The event id; some kinds of events can be replied to by it.
    pub(super) event_id: Option<String>,
    pub(super) body: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum QqEvent {
    Said(Box<QqEventMessage>),
    /// A person pressed a button.
    Pressed(Box<QqPress>),
    /// The bot was added, removed, befriended or unfriended.
    Relation {
        name: String,
        /// The group or person.
        chat: String,
    },
    /// An event without effect.
    Nothing,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct QqEventMessage {
    pub(super) scene: Scene,
    pub(super) chat: String,
    /// The platform's id of the message.
    pub(super) id: String,
    pub(super) user: String,
    pub(super) name: Option<String>,
    pub(super) from_bot: bool,
    pub(super) at: Option<Timestamp>,
    pub(super) text: String,
    /// Whether the text is the platform's transcript of a voice message.
    pub(super) spoken: bool,
    /// Whether the author administers the group, if the platform reports it.
    pub(super) admin: Option<bool>,
    /// Whether the message certainly addresses the bot.
    pub(super) addressed: bool,
    pub(super) attachments: Vec<FileDescription>,
    pub(super) quoted: Option<Quoted>,
}

/// A file attached to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileDescription {
    pub(super) url: String,
    pub(super) name: String,
    pub(super) media_type: String,
    pub(super) size: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct QqPress {
    /// The interaction id to acknowledge.
    pub(super) interaction: String,
    /// The event id to reply to.
    pub(super) event_id: Option<String>,
    /// The candidate chats: a guild event does not distinguish a channel from a direct chat.
    pub(super) places: Vec<(Scene, String)>,
    /// The guild, if there is one.
    pub(super) guild: Option<String>,
    pub(super) user: String,
    /// Whether the person administers the group, if the platform reports it.
    pub(super) admin: Option<bool>,
    /// The data of our button.
    pub(super) data: String,
    pub(super) at: Option<Timestamp>,
}

/// Parses a dispatch. `me` is the bot's own id, if known.
pub(super) fn read(dispatch: &Dispatch, me: Option<&str>) -> QqEvent {
    let body = &dispatch.body;
    let inbound = match dispatch.name.as_str() {
        "C2C_MESSAGE_CREATE" => c2c(body),
        "GROUP_AT_MESSAGE_CREATE" => group(body, true),
        "GROUP_MESSAGE_CREATE" => group(body, is_mentioned(body)),
        "AT_MESSAGE_CREATE" => guild(body, Scene::Channel, "channel_id", me, true),
        "MESSAGE_CREATE" => {
            guild(body, Scene::Channel, "channel_id", me, is_mentioned(body) || names(body, me))
        }
        "DIRECT_MESSAGE_CREATE" => guild(body, Scene::Dm, "guild_id", me, true),
        "INTERACTION_CREATE" => {
            let press = press(body, dispatch.event_id.clone());
            return press.map_or(QqEvent::Nothing, |press| QqEvent::Pressed(Box::new(press)));
        }
        "GROUP_ADD_ROBOT" | "GROUP_DEL_ROBOT" | "GROUP_MSG_REJECT" | "GROUP_MSG_RECEIVE" => {
            return relation(dispatch, "group_openid");
        }
        "FRIEND_ADD" | "FRIEND_DEL" | "C2C_MSG_REJECT" | "C2C_MSG_RECEIVE" => {
            return relation(dispatch, "openid");
        }
        _ => return QqEvent::Nothing,
    };
    inbound.map_or(QqEvent::Nothing, |inbound| QqEvent::Said(Box::new(inbound)))
}

fn relation(dispatch: &Dispatch, key: &str) -> QqEvent {
    let chat = text(&dispatch.body, key).unwrap_or_default();
    QqEvent::Relation { name: dispatch.name.clone(), chat }
}

fn c2c(body: &Value) -> Option<QqEventMessage> {
    let author = &body["author"];
    let user = text(author, "user_openid").or_else(|| text(author, "id"))?;
    let mut inbound = read_message(body, Scene::C2c, user.clone(), user)?;
    inbound.text = clean(&inbound.text);
    inbound.addressed = true;
    Some(inbound)
}

fn group(body: &Value, addressed: bool) -> Option<QqEventMessage> {
    let author = &body["author"];
    let user = text(author, "member_openid").or_else(|| text(author, "id"))?;
    let mut inbound = read_message(body, Scene::Group, text(body, "group_openid")?, user)?;
    inbound.text = clean(&inbound.text);
    inbound.addressed = addressed;
    Some(inbound)
}

fn guild(body: &Value, scene: Scene, key: &str, me: Option<&str>, addressed: bool) -> Option<QqEventMessage> {
    let user = text(&body["author"], "id")?;
    let mut inbound = read_message(body, scene, text(body, key)?, user)?;
    let mentioned = list(body, "mentions").iter().filter(|one| one["bot"] == true);
    let bots: Vec<String> = mentioned.filter_map(|one| text(one, "id")).collect();
    let own = me.map(|me| vec![me.to_owned()]).unwrap_or(bots);
    inbound.text = clean(&without_mentions(&inbound.text, &own));
    inbound.addressed = addressed;
    Some(inbound)
}

fn read_message(body: &Value, scene: Scene, chat: String, user: String) -> Option<QqEventMessage> {
    let said = text(body, "content").unwrap_or_default();
    let found: Vec<&Value> = list(body, "attachments").iter().collect();
    // The platform's transcript of a voice message counts as its text.
    let spoken = found.iter().find_map(|one| text(one, "asr_refer_text"));
    let blank = said.trim().is_empty();
    let is_spoken = blank && spoken.is_some();
    Some(QqEventMessage {
        scene,
        chat,
        id: text(body, "id")?,
        user,
        name: text(&body["member"], "nick").or_else(|| text(&body["author"], "username")),
        from_bot: body.pointer("/author/bot") == Some(&Value::Bool(true)),
        at: text(body, "timestamp").and_then(|at| Timestamp::parse_rfc3339(&at)),
        text: if blank { spoken.unwrap_or(said) } else { said },
        spoken: is_spoken,
        admin: runs_it(body),
        addressed: false,
        attachments: found.into_iter().filter_map(attachment).collect(),
        quoted: quoted(body),
    })
}

/// The type of a message that quotes another; the quoted one is its first element.
const QUOTING: u64 = 103;

fn quoted(body: &Value) -> Option<Quoted> {
    let reference = text(&body["message_reference"], "message_id");
    let element = list(body, "msg_elements").first().filter(|_| body["message_type"] == QUOTING);
    let words = element.and_then(|element| text(element, "content")).map(|words| clean(&words));
    if reference.is_none() && words.is_none() {
        return None;
    }
    Some(Quoted {
        platform_message: reference.unwrap_or_default(),
        author: None,
        text: words.unwrap_or_default(),
    })
}

fn attachment(one: &Value) -> Option<FileDescription> {
    let kind = text(one, "content_type").unwrap_or_default();
    let is_voice = kind == "voice" || kind.starts_with("audio/");
    // The default voice format (silk) is hardly supported; the platform also offers WAV.
    let plain = text(one, "voice_wav_url").filter(|_| is_voice);
    let media_type = match (&plain, kind.as_str()) {
        (Some(_), _) => "audio/wav".to_owned(),
        (None, "voice") => "audio/silk".to_owned(),
        (None, kind) if kind.contains('/') => kind.to_owned(),
        (None, _) => "application/octet-stream".to_owned(),
    };
    let is_plain = plain.is_some();
    let url = with_scheme(&plain.or_else(|| text(one, "url"))?);
    let name = text(one, "filename").filter(|name| !name.trim().is_empty() && !is_plain);
    let name = name.unwrap_or_else(|| fallback_name(&media_type).to_owned());
    let size = one["size"].as_u64().filter(|size| *size > 0 && !is_plain);
    Some(FileDescription { url, name, media_type, size })
}

fn fallback_name(media_type: &str) -> &'static str {
    match media_type.split('/').next().unwrap_or_default() {
        "image" => "image.png",
        "video" => "video.mp4",
        "audio" if media_type == "audio/wav" => "voice.wav",
        "audio" => "voice.silk",
        _ => "file",
    }
}

/// URLs come with a scheme, with `//` only, or without.
fn with_scheme(url: &str) -> String {
    if url.contains("://") { url.to_owned() } else { format!("https://{}", url.trim_start_matches('/')) }
}

fn press(body: &Value, event_id: Option<String>) -> Option<QqPress> {
    // Other interactions request the bot's settings or open menus; only a button carries our data.
    let resolved = body.pointer("/data/resolved").unwrap_or(&Value::Null);
    // The kind of chat is a number, a word, or missing; the ids always identify it.
    let guild = text(body, "guild_id").map(|id| (Scene::Dm, id));
    let (places, user) = if let Some(group) = text(body, "group_openid") {
        (vec![(Scene::Group, group)], text(body, "group_member_openid")?)
    } else if let Some(user) = text(body, "user_openid").filter(|_| guild.is_none()) {
        (vec![(Scene::C2c, user.clone())], user)
    } else {
        let channel = text(body, "channel_id").map(|id| (Scene::Channel, id));
        (channel.into_iter().chain(guild).collect(), text(resolved, "user_id")?)
    };
    Some(QqPress {
        interaction: text(body, "id")?,
        event_id,
        places,
        guild: text(body, "guild_id"),
        user,
        admin: runs_it(body),
        data: text(resolved, "button_data")?,
        at: text(body, "timestamp").and_then(|at| Timestamp::parse_rfc3339(&at)),
    })
}

/// The guild roles that administer the guild or the channel: administrator, owner, channel administrator.
const RUNNING: [&str; 3] = ["2", "4", "5"];

/// Whether the roles in a body make a person an administrator; `None` where it has no roles.
pub(super) fn runs_it(body: &Value) -> Option<bool> {
    let role = text(&body["author"], "member_role").or_else(|| text(body, "member_role"));
    if let Some(role) = role {
        return Some(matches!(role.to_ascii_lowercase().as_str(), "owner" | "admin" | "administrator"));
    }
    let roles = body.pointer("/member/roles").or_else(|| body.get("roles"))?.as_array()?;
    // Role ids are strings so far; numbers are accepted as well.
    let named = |role: &Value| role.as_str().map_or_else(|| role.to_string(), str::to_owned);
    Some(roles.iter().map(named).any(|role| RUNNING.contains(&role.as_str())))
}

fn is_mentioned(body: &Value) -> bool {
    list(body, "mentions").iter().any(|one| one["is_you"] == true)
}

fn names(body: &Value, me: Option<&str>) -> bool {
    me.is_some_and(|me| list(body, "mentions").iter().any(|one| one["id"] == me))
}

fn list<'a>(body: &'a Value, key: &str) -> &'a [Value] {
    body[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A non-empty string.
fn text(body: &Value, key: &str) -> Option<String> {
    body.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
