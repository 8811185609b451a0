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
use crate::adapters::chat::{FileBlock, UnsendableFile};
use crate::domain::AttachmentKind;

/// Most bytes of a file: it is sent as Base64 in one request.
pub(super) const LONGEST: u64 = 20 << 20;

/// Most bytes of a text file that is sent as messages instead.
const MOST_WORDS: usize = 128 << 10;

/// Sends a file to a chat.
pub(super) async fn post(
    api: &QqApi,
    place: &SendTarget,
    file: &FileBlock,
    content: &Result<Vec<u8>, UnsendableFile>,
) -> Result<Value, CallFailure> {
    let bytes = match content {
        Ok(bytes) => bytes,
        Err(error @ UnsendableFile::TooLong { .. }) => {
            return Err(CallFailure { kind: FailureKind::Long, ..refused(&error.to_string()) });
        }
        Err(error) => return Err(refused(&error.to_string())),
    };
    let messages = place.scene.messages(&place.chat);
    let Some(upload) = place.scene.files(&place.chat) else {
        return post_in_guild(api, &messages, place, file, bytes).await;
    };
    let body = json!({ "file_type": file_type(file), "file_data": BASE64_STANDARD.encode(bytes),
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
pub(super) fn words_of<'a>(file: &FileBlock, content: &'a [u8]) -> Option<&'a str> {
    let is_text = matches!(file.media_type.as_str(), "text/markdown" | "text/plain");
    let text = std::str::from_utf8(content).ok().filter(|_| is_text)?;
    (text.len() <= MOST_WORDS && !text.trim().is_empty()).then_some(text)
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
    use crate::domain::StoredFile;

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
