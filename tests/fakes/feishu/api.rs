//! The API calls: each is validated like the real one, and answered with its error codes.

use serde_json::{Value, json};

use super::cards;
use super::multipart::fields;
use super::world::{Environment, Posted};
use super::{APP_ID, APP_SECRET, BOT};

#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) token: Option<String>,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
}

impl Call {
    fn query(&self, key: &str) -> &str {
        self.query.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value)
    }
}

/// Its response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

pub(super) fn raw(status: u16, body: &Value) -> Answer {
    let headers = vec![("content-type", "application/json; charset=utf-8".to_owned())];
    Answer { status, headers, body: body.to_string().into_bytes() }
}

pub(super) fn done(data: Value) -> Answer {
    raw(200, &json!({ "code": 0, "msg": "success", "data": data }))
}

pub(super) fn fault(code: i64, words: &str) -> Answer {
    raw(400, &json!({ "code": code, "msg": words }))
}

/// Parses JSON inside a string.
pub(super) fn parse(text: &Value) -> Value {
    text.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

pub(super) fn answer(world: &mut Environment, call: &Call, socket: &str) -> Answer {
    let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    match (call.method.as_str(), call.path.as_str()) {
        ("POST", "/open-apis/auth/v3/tenant_access_token/internal") => return token(world, &body),
        ("POST", "/callback/ws/endpoint") => return endpoint(world, &body, socket),
        _ => {}
    }
    match &call.token {
        None => return fault(99_991_661, "Missing access token for authorization"),
        Some(token) if !token.starts_with("t-") => return fault(99_991_671, "token must start with 't-'"),
        Some(token) if !world.tokens.contains(token) => {
            return fault(99_991_663, "Invalid access token for authorization");
        }
        Some(_) => {}
    }
    if world.mood.minimal && !is_indispensable(call) {
        let headers = vec![("content-type", "text/plain".to_owned())];
        return Answer { status: 404, headers, body: b"404 page not found".to_vec() };
    }
    let path = call.path.strip_prefix("/open-apis/").unwrap_or_default();
    let path: Vec<&str> = path.split('/').collect();
    match (call.method.as_str(), path.as_slice()) {
        ("GET", ["bot", "v3", "info"]) => raw(
            200,
            &json!({ "code": 0, "msg": "ok", "bot": { "open_id": BOT, "app_name": "Ship", "activate_status": 2 } }),
        ),
        ("POST", ["im", "v1", "messages"]) => {
            if call.query("receive_id_type") != "chat_id" {
                return fault(99_992_402, "field validation failed: receive_id_type is required");
            }
            send(world, &body, body["receive_id"].as_str().unwrap_or_default().to_owned(), None)
        }
        ("POST", ["im", "v1", "messages", id, "reply"]) => match world.chat_of(id) {
            Some(chat) => send(world, &body, chat, Some((*id).to_owned())),
            None => fault(230_110, "The message has been deleted"),
        },
        ("PATCH", ["im", "v1", "messages", id]) => replace(world, id, &body),
        ("DELETE", ["im", "v1", "messages", id]) => {
            world.posted.retain(|posted| posted.id != *id);
            done(json!({}))
        }
        ("GET", ["im", "v1", "messages"]) => history(world, call),
        ("GET", ["im", "v1", "messages", id]) => match world.item(id) {
            Some(item) => done(json!({ "items": [item] })),
            None => fault(230_110, "The message has been deleted"),
        },
        ("GET", ["im", "v1", "messages", _, "resources", key]) => match world.files.get(*key) {
            Some((_, bytes)) => Answer {
                status: 200,
                headers: vec![("content-type", "application/octet-stream".to_owned())],
                body: bytes.clone(),
            },
            None => fault(234_003, "File not in msg"),
        },
        ("POST", ["im", "v1", "messages", id, "reactions"]) => {
            let sign = body["reaction_type"]["emoji_type"].as_str().unwrap_or_default();
            if !matches!(sign, "Get" | "OK" | "Typing") {
                return fault(231_001, "The reaction_type is invalid.");
            }
            world.signs.push(((*id).to_owned(), sign.to_owned()));
            done(json!({ "reaction_id": "r1", "reaction_type": { "emoji_type": sign } }))
        }
        ("GET", ["im", "v1", "chats", id]) => {
            assert_eq!(call.query("user_id_type"), "open_id");
            world.owner_questions += 1;
            match world.owners.get(*id) {
                Some(owner) => done(json!({ "name": "Group", "owner_id": owner, "owner_id_type": "open_id",
                    "user_manager_id_list": ["ou_manager"], "chat_mode": "group" })),
                None => fault(232_006, "Your request specifies a chat_id which is invalid."),
            }
        }
        ("POST", ["im", "v1", kind @ ("images" | "files")]) => upload(world, call, kind),
        (method, ["cardkit", "v1", rest @ ..]) => cards::answer(world, method, rest, &body),
        _ => raw(404, &json!({ "code": 404, "msg": "no such call" })),
    }
}

/// The calls of a minimal server: sending and replying.
fn is_indispensable(call: &Call) -> bool {
    let path = call.path.strip_prefix("/open-apis/im/v1/messages").unwrap_or("/no");
    call.method == "POST" && (path.is_empty() || path.ends_with("/reply"))
}

fn token(world: &mut Environment, body: &Value) -> Answer {
    if body["app_id"] != APP_ID || body["app_secret"] != APP_SECRET {
        return raw(200, &json!({ "code": 10014, "msg": "app secret invalid" }));
    }
    let token = world.fresh("t-");
    world.tokens.insert(token.clone());
    world.tokens_given += 1;
    let expire = world.mood.token_secs;
    raw(200, &json!({ "code": 0, "msg": "ok", "tenant_access_token": token, "expire": expire }))
}

fn endpoint(world: &mut Environment, body: &Value, socket: &str) -> Answer {
    if body["AppID"] != APP_ID || body["AppSecret"] != APP_SECRET {
        return raw(
            200,
            &json!({ "code": 1_000_040_345_i64, "msg": "app id or secret is wrong", "data": {} }),
        );
    }
    let ticket = world.fresh("ticket");
    world.tickets.insert(ticket.clone());
    let url = format!("ws://{socket}/ws/v2?device_id=7&service_id=33554678&ticket={ticket}");
    let config = json!({ "ReconnectCount": -1, "ReconnectInterval": 1, "ReconnectNonce": 0,
        "PingInterval": world.mood.ping });
    raw(200, &json!({ "code": 0, "msg": "", "data": { "URL": url, "ClientConfig": config } }))
}

fn send(world: &mut Environment, body: &Value, chat: String, reply_to: Option<String>) -> Answer {
    if !world.written.values().any(|written| written.chat == chat) {
        return fault(230_002, "Bot/User can NOT be out of the chat.");
    }
    world.sends += 1;
    if world.mood.busy > 0 {
        world.mood.busy -= 1;
        return fault(230_020, "This operation triggers the frequency limit");
    }
    let uuid = body["uuid"].as_str().unwrap_or_default().to_owned();
    if uuid.len() > 50 {
        return fault(99_992_402, "uuid is too long");
    }
    if let Some(id) = world.uuids.get(&uuid).filter(|_| !uuid.is_empty()) {
        return done(json!({ "message_id": id, "chat_id": chat }));
    }
    let kind = body["msg_type"].as_str().unwrap_or_default().to_owned();
    let content = parse(&body["content"]);
    if !content.is_object() {
        return fault(230_001, "Your request contains an invalid request parameter: content");
    }
    let length = body["content"].as_str().unwrap_or_default().len();
    match kind.as_str() {
        "text" if length > 150 * 1024 => return fault(230_025, "the message content reaches its limit"),
        "post" if length > 30 * 1024 => return fault(230_025, "the message content reaches its limit"),
        "interactive" => match content["data"]["card_id"].as_str() {
            Some(id) => match world.entities.get_mut(id) {
                Some(entity) if entity.sent => return fault(230_001, "card entity has been sent"),
                Some(entity) => entity.sent = true,
                None => return fault(200_740, "no such card"),
            },
            None => {
                if let Some(flaw) = cards::flaw(world, &content) {
                    return flaw;
                }
            }
        },
        "image" | "file" | "audio" => {
            let key = content["image_key"].as_str().or(content["file_key"].as_str()).unwrap_or_default();
            if !world.files.contains_key(key) {
                return fault(230_001, "no such key");
            }
        }
        "text" | "post" => {}
        _ => return fault(230_001, "unknown msg_type"),
    }
    let id = world.fresh("om_bot");
    let in_thread = body["reply_in_thread"] == true;
    world.posted.push(Posted {
        id: id.clone(),
        chat: chat.clone(),
        kind,
        content,
        reply_to,
        in_thread,
        changes: 0,
    });
    world.uuids.insert(uuid, id.clone());
    if world.mood.lost_answers > 0 {
        world.mood.lost_answers -= 1;
        return Answer { status: 502, headers: Vec::new(), body: b"<html>bad gateway</html>".to_vec() };
    }
    done(json!({ "message_id": id, "chat_id": chat }))
}

fn replace(world: &mut Environment, id: &str, body: &Value) -> Answer {
    let card = parse(&body["content"]);
    if let Some(flaw) = cards::flaw(world, &card) {
        return flaw;
    }
    match world.posted.iter_mut().find(|posted| posted.id == id) {
        Some(posted) if posted.kind == "interactive" => {
            posted.content = card;
            posted.changes += 1;
            done(json!({}))
        }
        Some(_) => fault(230_001, "not a card"),
        None => fault(230_110, "The message has been deleted"),
    }
}

fn history(world: &mut Environment, call: &Call) -> Answer {
    world.mood.history.calls += 1;
    if let Some(code) = world.mood.history.refuses {
        let limited = code == 99_991_400;
        let mut refusal =
            fault(code, if limited { "request trigger frequency limit" } else { "Lack of permission" });
        if limited {
            refusal.headers.push(("x-ogw-ratelimit-reset", "30".to_owned()));
        }
        return refusal;
    }
    let chat = call.query("container_id");
    let size: usize = call.query("page_size").parse().unwrap_or(20);
    if size > 50 || call.query("container_id_type") != "chat" {
        return fault(99_992_402, "field validation failed");
    }
    let (size, overlap) = world.mood.history.page.map_or((size, 0), |most| (size.min(most), 1));
    let mut ids: Vec<&String> =
        world.written.iter().filter(|(_, w)| w.chat == chat).map(|(id, _)| id).collect();
    ids.extend(world.posted.iter().filter(|posted| posted.chat == chat).map(|posted| &posted.id));
    ids.sort_by_key(|id| id.chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect::<String>());
    ids.reverse();
    let from: usize = call.query("page_token").parse().unwrap_or(0);
    let items: Vec<Value> = ids.iter().skip(from).take(size).filter_map(|id| world.item(id)).collect();
    let more = from + size < ids.len();
    let next = from + size - overlap;
    let page = if more { next.to_string() } else { String::new() };
    done(json!({ "items": items, "has_more": more, "page_token": page }))
}

fn upload(world: &mut Environment, call: &Call, kind: &str) -> Answer {
    let fields = fields(&call.content_type, &call.body);
    let (field, prefix, key, most) = match kind {
        "images" => ("image", "img_", "image_key", 10 << 20),
        _ => ("file", "file_", "file_key", 30 << 20),
    };
    let Some(bytes) = fields.get(field).filter(|bytes| !bytes.is_empty() && bytes.len() <= most) else {
        return fault(234_006, "the file is empty or too large");
    };
    let name =
        fields.get("file_name").map(|name| String::from_utf8_lossy(name).into_owned()).unwrap_or_default();
    let id = world.fresh(prefix);
    world.files.insert(id.clone(), (name, bytes.clone()));
    done(json!({ key: id }))
}
