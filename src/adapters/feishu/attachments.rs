//! Attachments: downloads files into the thread's folder, and uploads files from there.

use std::time::Duration;

use tokio::io::AsyncReadExt as _;

use super::api::FeishuApi;
use super::card::ReadyMessage;
use super::content::{Resource, ResourceKind};
use super::fault::FeishuError;
use crate::adapters::chat::{FetchError, FileBlock, keep};
use crate::domain::{AttachmentKind, StoredFile};
use crate::ports::FileStore;

/// Most bytes of a downloaded file.
const MOST_IN: u64 = 50 << 20;
/// Deadline of one download.
pub(super) const FETCH_WITHIN: Duration = Duration::from_secs(60);
/// How many leading bytes identify a file type.
const HEAD: u64 = 16;
/// The platform's limits for an uploaded image and file.
const MOST_IMAGE: u64 = 10 << 20;
pub(super) const MOST_FILE: u64 = 30 << 20;

/// Downloads a file into the thread's folder and returns its media type.
pub(super) async fn fetch_one(
    api: &FeishuApi,
    files: &dyn FileStore,
    message: &str,
    resource: &Resource,
    stored: &StoredFile,
) -> Result<String, FetchError> {
    if let Some(found) = files.open(stored.thread(), stored.name()).await? {
        let mut head = Vec::new();
        let read = found.content.take(HEAD).read_to_end(&mut head).await;
        read.map_err(|error| FetchError::Broken(error.to_string()))?;
        return Ok(media_type(resource.kind, picture_type(&head), stored.name()));
    }
    let response = api.resource(message, resource).await.map_err(|error| match error {
        FeishuError::Refused { .. } => FetchError::Denied(error.to_string()),
        FeishuError::Network(_) | FeishuError::Busy { .. } => FetchError::Broken(error.to_string()),
    })?;
    let reported = response.headers().get("content-type").and_then(|value| value.to_str().ok());
    let media_type = media_type(resource.kind, reported, stored.name());
    keep(files, stored, response.bytes_stream(), MOST_IN).await?;
    Ok(media_type)
}

/// The media type by the leading bytes of an image.
fn picture_type(head: &[u8]) -> Option<&'static str> {
    match head {
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        _ => None,
    }
}

fn media_type(kind: ResourceKind, reported: Option<&str>, name: &str) -> String {
    let reported =
        reported.map(|reported| reported.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    let reported =
        reported.filter(|reported| reported.contains('/') && reported != "application/octet-stream");
    let by_name = match extension(name).as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        "pdf" => Some("application/pdf"),
        "txt" | "log" => Some("text/plain"),
        "md" => Some("text/markdown"),
        "csv" => Some("text/csv"),
        "json" => Some("application/json"),
        _ => None,
    };
    reported.unwrap_or_else(|| {
        let by_kind = match kind {
            ResourceKind::Image => "image/png",
            ResourceKind::Audio => "audio/ogg",
            ResourceKind::Video => "video/mp4",
            ResourceKind::File => by_name.unwrap_or("application/octet-stream"),
        };
        by_kind.to_owned()
    })
}

fn extension(name: &str) -> String {
    name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default()
}

/// Uploads a file and returns the message that shows it.
pub(super) async fn upload(
    api: &FeishuApi,
    file: &FileBlock,
    bytes: Vec<u8>,
) -> Result<ReadyMessage, FeishuError> {
    let name = &file.name;
    let (kind, key, value) = match upload_kind(file.kind, name, bytes.len() as u64) {
        UploadKind::Image => match api.upload_image(name, bytes.clone()).await {
            // What the platform refuses as an image it may still accept as a file.
            Err(FeishuError::Refused { .. }) => {
                ("file", "file_key", api.upload_file(name, "stream", bytes).await?)
            }
            key => ("image", "image_key", key?),
        },
        UploadKind::Voice => ("audio", "file_key", api.upload_file(name, "opus", bytes).await?),
        UploadKind::File(kind) => ("file", "file_key", api.upload_file(name, kind, bytes).await?),
    };
    Ok(ReadyMessage { kind, content: serde_json::json!({ key: value }).to_string() })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UploadKind {
    Image,
    Voice,
    /// With the platform's file type.
    File(&'static str),
}

fn upload_kind(kind: AttachmentKind, name: &str, length: u64) -> UploadKind {
    let extension = extension(name);
    let file = UploadKind::File(match extension.as_str() {
        "pdf" => "pdf",
        "doc" | "docx" => "doc",
        "xls" | "xlsx" => "xls",
        "ppt" | "pptx" => "ppt",
        _ => "stream",
    });
    match kind {
        AttachmentKind::Image if length <= MOST_IMAGE => UploadKind::Image,
        // The platform plays only Opus as voice.
        AttachmentKind::Voice if matches!(extension.as_str(), "opus" | "ogg") => UploadKind::Voice,
        AttachmentKind::Image | AttachmentKind::Voice | AttachmentKind::File => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::AttachmentFiles;

    #[test]
    fn each_file_goes_the_way_the_platform_has_for_it() {
        for (kind, name, length, expected) in [
            (AttachmentKind::Image, "a.png", 1, UploadKind::Image),
            (AttachmentKind::Image, "a.png", MOST_IMAGE + 1, UploadKind::File("stream")),
            (AttachmentKind::Voice, "a.opus", 1, UploadKind::Voice),
            (AttachmentKind::Voice, "a.mp3", 1, UploadKind::File("stream")),
            (AttachmentKind::File, "Report.PDF", 1, UploadKind::File("pdf")),
            (AttachmentKind::File, "a.docx", 1, UploadKind::File("doc")),
            (AttachmentKind::File, "noending", 1, UploadKind::File("stream")),
        ] {
            assert_eq!(upload_kind(kind, name, length), expected, "{name}");
        }
    }

    #[tokio::test]
    async fn a_file_that_is_here_is_not_fetched_again() {
        crate::http_client::install_tls();
        let dir = tempfile::tempdir().unwrap();
        let files = AttachmentFiles::new(dir.path());
        let resource = Resource { key: "img_1".to_owned(), kind: ResourceKind::Image, name: None };
        let thread = "feishu:chat:oc_1".parse().unwrap();
        let stored = StoredFile::new(thread, "om_1-img_1-", ResourceKind::Image.default_name());
        let picture = futures_util::stream::iter([Ok::<_, String>(b"\xff\xd8\xff\xe0rest")]);
        keep(&files, &stored, picture, 100).await.unwrap();
        // The server does not answer.
        let api =
            FeishuApi::new(reqwest::Client::new(), "http://127.0.0.1:1", "cli_a", &"s".to_owned().into());
        let fetched = fetch_one(&api, &files, "om_1", &resource, &stored).await.unwrap();
        assert_eq!(fetched, "image/jpeg");
    }

    #[test]
    fn what_a_file_is_is_told_or_guessed() {
        for (kind, reported, name, expected) in [
            (ResourceKind::Image, Some("image/jpeg; x=1"), "image.png", "image/jpeg"),
            (ResourceKind::File, Some("application/octet-stream"), "a.pdf", "application/pdf"),
            (ResourceKind::File, None, "a.bin", "application/octet-stream"),
            (ResourceKind::Audio, None, "voice.opus", "audio/ogg"),
        ] {
            assert_eq!(media_type(kind, reported, name), expected, "{name}");
        }
        for (head, expected) in [
            (&b"\xff\xd8\xff\xe0rest"[..], Some("image/jpeg")),
            (b"RIFF....WEBPVP8 ", Some("image/webp")),
            (b"GIF89a", Some("image/gif")),
            (b"words", None),
            (b"", None),
        ] {
            assert_eq!(picture_type(head), expected);
        }
    }
}
