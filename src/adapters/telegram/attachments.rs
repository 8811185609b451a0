//! Files of messages: downloads those of people, uploads those of the agent.

use std::path::Path;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{ApiError, BotApi, Upload};
use super::chat_target::ChatTarget;
use super::content::LARGEST_FILE;
use super::deliver::{TelegramSender, reply_target};
use super::html::{CAPTION_LIMIT, MESSAGE_LIMIT, render, render_one, visible_len};
use super::limits::SendPriority;
use super::outgoing_message::OutgoingMessage;
use crate::adapters::chat::inbound::Attachment;
use crate::adapters::chat::{FetchError, FileBlock, is_kept, keep};
use crate::audio::Container;
use crate::domain::{AttachmentKind, DeliveryId, LengthUnit, StoredFile};
use crate::ports::{Attempt, DeliveryError, Durability, FileStore, OutboxEntry};

/// Deadline of `getFile`.
const LOCATE_WITHIN: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct Located {
    file_path: Option<String>,
}

/// Downloads a file, unless it is stored already.
pub(super) async fn download(
    api: &BotApi,
    files: &dyn FileStore,
    attachment: &Attachment,
    file: &StoredFile,
) -> Result<(), FetchError> {
    let limit = LARGEST_FILE;
    if attachment.size.is_some_and(|size| size > limit) {
        return Err(FetchError::TooBig { limit });
    }
    if is_kept(files, file).await? {
        return Ok(());
    }
    let broken = |error: &dyn std::fmt::Display| FetchError::Broken(error.to_string());
    let body = json!({ "file_id": attachment.locator });
    let located = match api.ask::<Located>("getFile", &body, LOCATE_WITHIN).await {
        Err(error) if error.says("file is too big") => return Err(FetchError::TooBig { limit }),
        asked => asked.map_err(|error| broken(&error))?,
    };
    let path = located.file_path.ok_or_else(|| broken(&"telegram did not say where it is"))?;
    let denied = |error: std::io::Error| FetchError::Denied(error.to_string());
    // A local Bot API server returns the path of the file itself.
    if Path::new(&path).is_absolute() {
        if tokio::fs::metadata(&path).await.map_err(denied)?.len() > limit {
            return Err(FetchError::TooBig { limit });
        }
        let content = tokio::fs::read(&path).await.map_err(denied)?;
        let content = stream::once(async move { Ok::<_, std::io::Error>(content) });
        return keep(files, file, content, limit).await.map(drop);
    }
    let answer = api.download(&path).await.map_err(|error| broken(&error))?;
    let content = answer.bytes_stream().map(|piece| piece.map_err(reqwest::Error::without_url));
    keep(files, file, content, limit).await.map(drop)
}

/// The server's limits.
pub(super) const LARGEST_UPLOAD: u64 = 50 << 20;
const LARGEST_PICTURE: u64 = 10 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Medium {
    Photo,
    Voice,
    Document,
}

impl Medium {
    fn of(kind: AttachmentKind, media_type: &str, size: u64) -> Self {
        match kind {
            AttachmentKind::Image
                if size <= LARGEST_PICTURE
                    && matches!(media_type, "image/png" | "image/jpeg" | "image/webp") =>
            {
                Self::Photo
            }
            AttachmentKind::Voice
                if matches!(media_type, "audio/ogg" | "audio/opus" | "audio/mpeg" | "audio/mp4") =>
            {
                Self::Voice
            }
            AttachmentKind::Image | AttachmentKind::Voice | AttachmentKind::File => Self::Document,
        }
    }

    const fn method(self) -> &'static str {
        match self {
            Self::Photo => "sendPhoto",
            Self::Voice => "sendVoice",
            Self::Document => "sendDocument",
        }
    }

    const fn field(self) -> &'static str {
        match self {
            Self::Photo => "photo",
            Self::Voice => "voice",
            Self::Document => "document",
        }
    }
}

impl TelegramSender {
    /// Sends a file with its caption; a caption that is too long is sent before it.
    pub(super) async fn upload(
        &self,
        entry: &OutboxEntry,
        block: &FileBlock,
        content: Vec<u8>,
        attempt: Attempt,
    ) -> Result<Option<i64>, DeliveryError> {
        let place = self.place(entry)?;
        let FileBlock { name, media_type, kind, caption, .. } = block;
        let medium = Medium::of(*kind, media_type, content.len() as u64);
        let mut outgoing =
            OutgoingMessage { reply_to: reply_target(place, entry), ..OutgoingMessage::default() };
        if let Some(caption) = caption.as_deref().filter(|caption| !caption.trim().is_empty()) {
            let words = render_one(caption, CAPTION_LIMIT);
            let fits = LengthUnit::Utf16.measure(caption.trim()) <= CAPTION_LIMIT;
            if fits && visible_len(&words.html) <= CAPTION_LIMIT {
                outgoing.words = words;
            } else {
                self.say_before(place, entry, caption, outgoing.reply_to.take()).await?;
            }
        }
        let seconds = (medium == Medium::Voice)
            .then(|| Container::of(&content).millis(&content))
            .flatten()
            .map(|millis| millis.div_ceil(1000));
        let upload = Upload {
            field: medium.field(),
            name: name.clone(),
            media_type: media_type.clone(),
            content,
            seconds,
        };
        let sent = match self.client.upload(place, medium.method(), &upload, &outgoing, entry, attempt).await
        {
            // An image that the server cannot read, a person who disabled voice messages: as a document it still
            // arrives.
            Err(ApiError::Refused { code: 400, .. }) if medium != Medium::Document => {
                let medium = Medium::Document;
                let upload = Upload { field: medium.field(), seconds: None, ..upload };
                self.client.upload(place, medium.method(), &upload, &outgoing, entry, attempt).await
            }
            sent => sent,
        };
        Ok(sent?)
    }

    /// Sends a text that is too long for a caption. A retry of the file does not repeat it.
    async fn say_before(
        &self,
        place: ChatTarget,
        entry: &OutboxEntry,
        caption: &str,
        reply_to: Option<i64>,
    ) -> Result<(), ApiError> {
        let (notes, name) = (&self.outbound.parts.notes, format!("said:{}", entry.intent.thread_id));
        let said = parts_said(notes.get(&name).await.ok().flatten().as_ref(), &entry.id);
        for (index, words) in render(caption, MESSAGE_LIMIT).into_iter().enumerate().skip(said) {
            let outgoing =
                OutgoingMessage { words, reply_to: reply_to.filter(|_| index == 0), keyboard: None };
            self.client.send(place, &outgoing, SendPriority::Required).await?;
            let note = json!({ "delivery": entry.id, "parts": index + 1 });
            if let Err(error) = notes.put(&name, note, Durability::Written).await {
                tracing::debug!(%error, "caption progress not stored");
            }
        }
        Ok(())
    }
}

/// How many parts of a caption were sent before a file, according to the note.
fn parts_said(note: Option<&Value>, delivery: &DeliveryId) -> usize {
    let mine = note.filter(|note| note.get("delivery").and_then(Value::as_str) == Some(delivery.as_str()));
    let parts = mine.and_then(|note| note.get("parts")?.as_u64());
    parts.and_then(|parts| usize::try_from(parts).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_shown_as_what_telegram_takes_it_for() {
        use AttachmentKind::{File, Image, Voice};
        for (kind, media_type, size, expected) in [
            (Image, "image/png", 1000, Medium::Photo),
            (Image, "image/jpeg", LARGEST_PICTURE, Medium::Photo),
            (Image, "image/jpeg", LARGEST_PICTURE + 1, Medium::Document),
            (Image, "image/svg+xml", 1000, Medium::Document),
            (File, "image/png", 1000, Medium::Document),
            (Voice, "audio/ogg", 1000, Medium::Voice),
            (Voice, "audio/wav", 1000, Medium::Document),
        ] {
            assert_eq!(Medium::of(kind, media_type, size), expected, "{kind:?} {media_type} {size}");
        }
    }
}
