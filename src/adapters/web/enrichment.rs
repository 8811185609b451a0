//! The enrich steps for messages of HTTP clients. There is no inbox here: the caller waits, and sends the message again
//! when it got no answer. A message that is stored already is not enriched again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;
use super::server::Web;
use crate::adapters::chat::name_before;
use crate::adapters::submission::enrich_with;
use crate::audio::Container;
use crate::domain::{Author, InboundFile, IngressKind, MessageId, Said, StoredFile, ThreadId};
use crate::ports::EnrichInput;

/// A file of a request, with the fields of a file part of the AI SDK.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestFile {
    media_type: String,
    /// A `data:` or `https:` address.
    url: String,
    filename: Option<String>,
}

impl From<RequestFile> for InboundFile {
    fn from(file: RequestFile) -> Self {
        Self { media_type: file.media_type, url: file.url, name: file.filename }
    }
}

/// One lock for each message that is being enriched.
#[derive(Debug, Default)]
pub(super) struct EnrichingMessages(Mutex<HashMap<(ThreadId, MessageId), Weak<Semaphore>>>);

impl EnrichingMessages {
    /// Waits until no other request enriches this message.
    async fn alone(&self, thread: &ThreadId, message: &MessageId) -> Option<OwnedSemaphorePermit> {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| lock.strong_count() > 0);
            let known = locks.entry((thread.clone(), message.clone())).or_default();
            known.upgrade().unwrap_or_else(|| {
                let lock = Arc::new(Semaphore::new(1));
                *known = Arc::downgrade(&lock);
                lock
            })
        };
        lock.acquire_owned().await.ok()
    }
}

/// An enriched message. Other requests with the same message wait until this is dropped: after it is stored.
#[derive(Debug)]
pub(super) struct Enriched {
    pub(super) kind: IngressKind,
    pub(super) alone: Option<OwnedSemaphorePermit>,
}

impl From<IngressKind> for Enriched {
    fn from(kind: IngressKind) -> Self {
        Self { kind, alone: None }
    }
}

impl Web {
    /// A message with the results of the steps. Its recordings become files of the thread.
    pub(super) async fn enriched(
        &self,
        thread: &ThreadId,
        author: &Author,
        message: &MessageId,
        kind: IngressKind,
    ) -> Result<Enriched, Problem> {
        let (said, revised) = match kind {
            IngressKind::Said(said) => (said, false),
            IngressKind::Revised(said) => (said, true),
            other => return Ok(other.into()),
        };
        let as_before = |said| if revised { IngressKind::Revised(said) } else { IngressKind::Said(said) };
        if !self.parts.enrich.iter().any(|step| step.applies(&said)) {
            return Ok(as_before(said).into());
        }
        let alone = self.enriching.alone(thread, message).await;
        if !revised && !self.parts.store.run_of(thread, message).await?.is_empty() {
            return Ok(as_before(said).into());
        }
        let mut said = self.with_stored_recordings(thread, message, said).await?;
        for step in self.parts.enrich.iter() {
            if step.applies(&said)
                && let Some(result) = enrich_with(&**step, EnrichInput { thread, author, said: &said }).await
            {
                said = result;
            }
        }
        Ok(Enriched { kind: as_before(said), alone })
    }

    async fn with_stored_recordings(
        &self,
        thread: &ThreadId,
        message: &MessageId,
        mut said: Said,
    ) -> Result<Said, Problem> {
        for (index, file) in said.files.iter_mut().enumerate() {
            let Some(bytes) = recording_in(file)? else { continue };
            let shown = file.name.clone().unwrap_or_else(|| Container::of(&bytes).file_name().to_owned());
            let stored = StoredFile::new(thread.clone(), &name_before(message.as_str(), index), &shown);
            self.parts.files.keep(&stored, bytes).await?;
            file.url = stored.url();
            file.name = Some(shown);
        }
        Ok(said)
    }
}

/// The content of a recording that a message carries itself.
fn recording_in(file: &InboundFile) -> Result<Option<Vec<u8>>, Problem> {
    let Some(data) = file.url.strip_prefix("data:").filter(|_| file.media_type.starts_with("audio/")) else {
        return Ok(None);
    };
    let unreadable = || Problem::bad("a recording must be a data: address with Base64");
    let (kind, content) = data.split_once(',').ok_or_else(unreadable)?;
    if !kind.ends_with(";base64") {
        return Err(unreadable());
    }
    BASE64_STANDARD.decode(content).map(Some).map_err(|_| unreadable())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_read_from_its_data_address_and_other_files_are_left() {
        let file = |media_type: &str, url: &str| InboundFile {
            media_type: media_type.to_owned(),
            url: url.to_owned(),
            name: None,
        };
        for (media_type, url, expected) in [
            ("audio/webm", "data:audio/webm;codecs=opus;base64,aGk=", Ok(Some(b"hi".to_vec()))),
            ("audio/ogg", "data:audio/ogg;base64,aGk=", Ok(Some(b"hi".to_vec()))),
            ("image/png", "data:image/png;base64,aGk=", Ok(None)),
            ("audio/ogg", "/api/files/web%3Achat%3A1/a%2Eogg", Ok(None)),
            ("audio/ogg", "data:audio/ogg;base64,???", Err(())),
            ("audio/ogg", "data:audio/ogg,hi", Err(())),
            ("audio/ogg", "data:audio/ogg", Err(())),
        ] {
            assert_eq!(recording_in(&file(media_type, url)).map_err(|_| ()), expected, "{url}");
        }
    }
}
