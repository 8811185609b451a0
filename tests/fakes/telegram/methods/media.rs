//! Files: sent one by one or as an album, and downloads.

use serde_json::{Map, Value, json};

use super::super::answer::{Answer, Done, Refusal};
use super::super::log::Deed;
use super::super::request::{Params, Upload};
use super::super::world::Environment;
use super::target::{Target, formatted, put, target};

/// The limits of uploads and downloads.
const UPLOAD_LIMIT: usize = 50 << 20;
const PHOTO_LIMIT: usize = 10 << 20;
const FETCH_LIMIT: usize = 20 << 20;

const CAPTION_TOO_LONG: &str = "message caption is too long";

/// `sendDocument` and similar methods.
pub(crate) fn send_media(world: &mut Environment, params: &Params, kind: &'static str) -> Answer {
    let caption = formatted(params, "caption", 1024, CAPTION_TOO_LONG)?;
    let Target { chat, topic, reply_to, mut fields } = target(world, params)?;
    let mut file = match (params.file(kind), params.text(kind)) {
        (Some(upload), _) => uploaded(world, upload, kind)?,
        (None, Some(named)) => named_file(world, params, &named, kind)?,
        (None, None) => return Err(Refusal::bad(format!("there is no {kind} in the request"))),
    };
    if let (Some(seconds), Some(file)) = (params.int("duration"), file.as_object_mut()) {
        file.insert("duration".to_owned(), seconds.into());
    }
    fields.insert(kind.to_owned(), file);
    if let Some(caption) = caption.as_ref().filter(|caption| !caption.text.is_empty()) {
        put(&mut fields, "caption", caption);
    }
    let message = world.post(chat, topic, fields);
    let id = message["message_id"].as_i64().unwrap_or_default();
    let text = caption.unwrap_or_default().text;
    Ok(Done { result: message, deed: Deed::Sent { message: id, topic, reply_to, text, media: Some(kind) } })
}

/// A file uploaded with the call.
fn uploaded(world: &mut Environment, upload: &Upload, kind: &str) -> Result<Value, Refusal> {
    let size = upload.bytes.len();
    if size == 0 {
        return Err(Refusal::bad("file must be non-empty"));
    }
    if size > UPLOAD_LIMIT {
        return Err(Refusal::new(413, "Request Entity Too Large"));
    }
    if kind == "photo" && size > PHOTO_LIMIT {
        return Err(Refusal::bad(format!("file of size {size} bytes is too big for a photo")));
    }
    let id = world.keep(&upload.name, upload.bytes.clone(), size);
    Ok(wire(kind, &id, &upload.name, upload.mime.as_deref(), size))
}

/// A file by its id, by a part of the body, or by a URL.
fn named_file(world: &mut Environment, params: &Params, named: &str, kind: &str) -> Result<Value, Refusal> {
    if let Some(part) = named.strip_prefix("attach://") {
        let upload =
            params.file(part).ok_or_else(|| Refusal::bad(format!("attached file \"{part}\" not found")))?;
        return uploaded(world, upload, kind);
    }
    let size = world.files.get(named).map(|file| file.size);
    match size {
        Some(size) => Ok(wire(kind, named, "file", None, size)),
        None if named.starts_with("http://") || named.starts_with("https://") => {
            let id = world.keep("from-the-web.bin", named.as_bytes().to_vec(), named.len());
            Ok(wire(kind, &id, "from-the-web.bin", None, named.len()))
        }
        None => Err(Refusal::bad("wrong file identifier/HTTP URL specified")),
    }
}

/// A file in the wire format.
pub(crate) fn wire(kind: &str, id: &str, name: &str, mime: Option<&str>, size: usize) -> Value {
    let mut file = json!({ "file_id": id, "file_unique_id": format!("u{id}"), "file_size": size });
    match kind {
        "photo" => {
            let mut small = file.clone();
            (small["width"], small["height"]) = (json!(90), json!(60));
            small["file_size"] = json!(size.min(1200));
            (file["width"], file["height"]) = (json!(1280), json!(853));
            return json!([small, file]);
        }
        "voice" | "audio" => file["duration"] = json!(3),
        "video" => (file["width"], file["height"], file["duration"]) = (json!(640), json!(480), json!(3)),
        "sticker" => (file["width"], file["height"]) = (json!(512), json!(512)),
        _ => {}
    }
    if kind != "voice" && kind != "sticker" {
        file["file_name"] = json!(name);
    }
    if let Some(mime) = mime {
        file["mime_type"] = json!(mime);
    }
    file
}

/// `sendMediaGroup`: two to ten files of compatible kinds.
pub(crate) fn send_media_group(world: &mut Environment, params: &Params) -> Answer {
    let Target { chat, topic, reply_to: _, fields } = target(world, params)?;
    let media = params.json("media")?.and_then(|media| media.as_array().cloned()).unwrap_or_default();
    match media.len() {
        0 => return Err(Refusal::bad("there are no messages to send")),
        1 => return Err(Refusal::bad("there are too few messages to send as an album")),
        2..=10 => {}
        _ => return Err(Refusal::bad("too many messages to send as an album")),
    }
    let kinds: Vec<&str> = media.iter().map(|item| item["type"].as_str().unwrap_or_default()).collect();
    for kind in &kinds {
        match *kind {
            "photo" | "video" if !kinds.iter().any(|other| ["document", "audio"].contains(other)) => {}
            "document" | "audio" if kinds.iter().all(|other| other == kind) => {}
            "photo" | "video" | "document" | "audio" => {
                return Err(Refusal::bad(format!("{kind} can't be mixed with other media types")));
            }
            _ => return Err(Refusal::bad("can't parse InputMedia: media type is not supported")),
        }
    }
    let group = (13_000_000_000_i64 + world.room(chat).last_id).to_string();
    let items: Result<Vec<_>, Refusal> =
        media.iter().zip(&kinds).map(|(item, kind)| album_item(world, params, item, kind, &fields)).collect();
    let mut texts = Vec::new();
    let messages = items?.into_iter().map(|mut item| {
        item.insert("media_group_id".to_owned(), json!(group));
        texts.push(item.get("caption").and_then(Value::as_str).unwrap_or_default().to_owned());
        world.post(chat, topic, item)
    });
    let messages: Vec<Value> = messages.collect();
    let ids = messages.iter().filter_map(|message| message["message_id"].as_i64()).collect();
    Ok(Done { result: json!(messages), deed: Deed::SentAlbum { messages: ids, topic, texts } })
}

fn album_item(
    world: &mut Environment,
    params: &Params,
    item: &Value,
    kind: &str,
    fields: &Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let named = item["media"].as_str().unwrap_or_default();
    let file = named_file(world, params, named, kind)?;
    let item = Params::from_object(item.as_object().cloned().unwrap_or_default());
    let mut fields = fields.clone();
    fields.insert(kind.to_owned(), file);
    if let Some(caption) = formatted(&item, "caption", 1024, CAPTION_TOO_LONG)? {
        put(&mut fields, "caption", &caption);
    }
    Ok(fields)
}

/// `getFile`.
pub(crate) fn get_file(world: &mut Environment, params: &Params) -> Answer {
    let id = params.text("file_id").unwrap_or_default();
    let file = world.files.get(&id);
    let file = file.ok_or_else(|| Refusal::bad("wrong file_id or the file is temporarily unavailable"))?;
    if file.size > FETCH_LIMIT {
        return Err(Refusal::bad("file is too big"));
    }
    let result = json!({ "file_id": id, "file_unique_id": format!("u{id}"), "file_size": file.size,
        "file_path": file.path });
    Ok(Done { result, deed: Deed::Asked })
}
