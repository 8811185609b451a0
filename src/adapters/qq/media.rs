//! Sends files: uploads a file first and sends its `file_info`; in guilds an image goes with the message.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use super::api::{QqApi, UPLOAD};
use super::call_failure::{CallFailure, FailureKind};
use super::compose::{file_body, reply};
use super::send::SendTarget;
use super::text;
use crate::adapters::chat::FileBlock;
use crate::domain::{AttachmentKind, StoredFile};
use crate::ports::FileStore;

/// Most bytes of a file: it is sent as Base64 in one request.
const LONGEST: u64 = 20 << 20;

/// Most bytes of a text file that is sent as messages instead.
const MOST_WORDS: usize = 128 << 10;

/// Sends a file to a chat.
pub(super) async fn post(
    api: &QqApi,
    files: &dyn FileStore,
    place: &SendTarget,
    file: &FileBlock,
) -> Result<Value, CallFailure> {
    let bytes = read(files, &file.file).await?;
    let messages = place.scene.messages(&place.chat);
    let Some(upload) = place.scene.files(&place.chat) else {
        return post_in_guild(api, &messages, place, file, &bytes).await;
    };
    let body = json!({ "file_type": file_type(file), "file_data": BASE64_STANDARD.encode(&bytes),
        "srv_send_msg": false, "file_name": file.name });
    let uploaded = api.call_within(UPLOAD, Method::POST, &upload, Some(&body)).await?;
    let info = uploaded.get("file_info").and_then(Value::as_str);
    let info = info.ok_or_else(|| refused("the upload gave no file_info"))?;
    let body = file_body(place.scene, info, file.caption.as_deref(), &place.key, place.seq);
    api.call(Method::POST, &messages, Some(&body)).await
}

async fn post_in_guild(
    api: &QqApi,
    messages: &str,
    place: &SendTarget,
    file: &FileBlock,
    bytes: &[u8],
) -> Result<Value, CallFailure> {
    if file.kind != AttachmentKind::Image {
        return Err(refused("guilds take pictures only"));
    }
    let mut fields: Vec<(&'static str, String)> = Vec::new();
    let reply = reply(place.scene, &place.key, place.seq);
    for name in ["msg_id", "event_id"] {
        fields.extend(reply.get(name).and_then(Value::as_str).map(|id| (name, id.to_owned())));
    }
    fields.extend(file.caption.as_deref().map(|caption| ("content", text::plain(caption))));
    api.call_with_image(messages, &fields, bytes, &file.name).await
}

/// The content of a text file, if it is short enough to be sent as messages.
pub(super) async fn words_of(files: &dyn FileStore, file: &FileBlock) -> Option<String> {
    if !matches!(file.media_type.as_str(), "text/markdown" | "text/plain") {
        return None;
    }
    let bytes = read(files, &file.file).await.ok()?;
    String::from_utf8(bytes).ok().filter(|text| text.len() <= MOST_WORDS && !text.trim().is_empty())
}

async fn read(files: &dyn FileStore, file: &StoredFile) -> Result<Vec<u8>, CallFailure> {
    let found = files.open(file.thread(), file.name()).await.ok().flatten();
    let found = found.ok_or_else(|| refused("the file is not there any more"))?;
    if found.length > LONGEST {
        return Err(CallFailure {
            kind: FailureKind::Long,
            what: format!("the file is longer than {LONGEST} bytes"),
            after: None,
        });
    }
    found.bytes().await.map_err(|_| refused("the file cannot be read"))
}

fn refused(what: &str) -> CallFailure {
    CallFailure { kind: FailureKind::File, what: what.to_owned(), after: None }
}

/// The platform's file type. The platform converts WAV to its own format.
fn file_type(file: &FileBlock) -> u8 {
    match (file.kind, file.media_type.as_str()) {
        (AttachmentKind::Image, "image/png" | "image/jpeg") => 1,
        (_, "video/mp4") => 2,
        (AttachmentKind::Voice, "audio/silk" | "audio/wav") => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_platform_can_show_goes_out_as_more_than_a_file() {
        for (kind, media_type, expected) in [
            (AttachmentKind::Image, "image/png", 1),
            (AttachmentKind::Image, "image/svg+xml", 4),
            (AttachmentKind::File, "image/png", 4),
            (AttachmentKind::File, "video/mp4", 2),
            (AttachmentKind::Voice, "audio/silk", 3),
            (AttachmentKind::Voice, "audio/wav", 3),
            (AttachmentKind::Voice, "audio/ogg", 4),
        ] {
            let draft = FileBlock {
                file: StoredFile::new("qq:chat:1".parse().unwrap(), "", "x"),
                name: "x".to_owned(),
                media_type: media_type.to_owned(),
                kind,
                caption: None,
            };
            assert_eq!(file_type(&draft), expected, "{media_type}");
        }
    }
}
