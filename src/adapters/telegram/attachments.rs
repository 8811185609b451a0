//! Downloads the files of a message, with a deadline and bounded concurrency.

use std::path::Path;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::json;

use super::api::Api;
use super::contents::{Attachment, LARGEST_FILE};
use crate::adapters::chat::inbound::Downloads;
use crate::adapters::chat::{self, FetchError};
use crate::domain::{InboundFile, StoredFile, ThreadId};
use crate::ports::FileStore;
use crate::render::Phrase;

/// Deadline of one file, all attempts together.
const DEADLINE: Duration = Duration::from_secs(20);
/// Deadline of `getFile`.
const LOOKUP: Duration = Duration::from_secs(10);
/// How many downloads run at the same time.
const AT_ONCE: usize = 8;

#[derive(Debug)]
pub(super) struct Fetcher {
    api: Api,
    downloads: Downloads,
}

/// The result of downloading the files of a message.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    /// The files that were downloaded.
    pub(super) files: Vec<InboundFile>,
    /// The others, by name, with the notice for the sender.
    pub(super) missing: Vec<(String, Phrase)>,
}

#[derive(Deserialize)]
struct Located {
    file_path: Option<String>,
}

impl Fetcher {
    pub(super) const fn new(api: Api) -> Self {
        Self { api, downloads: Downloads::new(AT_ONCE, DEADLINE) }
    }

    /// Downloads the files of a message into `root`. Each file has the same name for every redelivery, so a stored one
    /// is not downloaded again. `chat` is the new id of a migrated chat.
    pub(super) async fn fetch(
        &self,
        root: &dyn FileStore,
        thread: &ThreadId,
        chat: Option<i64>,
        files: Vec<Attachment>,
    ) -> Fetched {
        let tries = files.into_iter().map(|file| async move {
            let stored = place_of(thread, chat, &file);
            (self.one(root, &stored, &file).await, stored, file)
        });
        let mut fetched = Fetched::default();
        for (outcome, stored, file) in futures_util::future::join_all(tries).await {
            match outcome {
                Ok(()) => fetched.files.push(inbound(&stored, file)),
                Err(FetchError::TooBig { limit }) => {
                    let phrase = Phrase::FileTooBig { name: file.name.clone(), megabytes: limit >> 20 };
                    fetched.missing.push((file.name, phrase));
                }
                Err(error) => {
                    tracing::warn!(%error, thread = %thread, "file download failed");
                    fetched.missing.push((file.name.clone(), Phrase::FileLost(file.name)));
                }
            }
        }
        fetched
    }

    /// Finds the files that were downloaded before, and downloads none.
    pub(super) async fn find(
        &self,
        root: &dyn FileStore,
        thread: &ThreadId,
        chat: Option<i64>,
        files: Vec<Attachment>,
    ) -> (Vec<InboundFile>, Vec<Attachment>) {
        let (mut here, mut elsewhere) = (Vec::new(), Vec::new());
        for file in files {
            let stored = place_of(thread, chat, &file);
            if chat::is_kept(root, &stored).await.unwrap_or(false) {
                here.push(inbound(&stored, file));
            } else {
                elsewhere.push(file);
            }
        }
        (here, elsewhere)
    }

    async fn one(
        &self,
        root: &dyn FileStore,
        stored: &StoredFile,
        file: &Attachment,
    ) -> Result<(), FetchError> {
        if file.size.is_some_and(|size| size > LARGEST_FILE) {
            return Err(FetchError::TooBig { limit: LARGEST_FILE });
        }
        if chat::is_kept(root, stored).await? {
            return Ok(());
        }
        self.downloads.fetch(|| self.attempt(root, stored, file)).await
    }

    async fn attempt(
        &self,
        root: &dyn FileStore,
        stored: &StoredFile,
        file: &Attachment,
    ) -> Result<(), FetchError> {
        let broken = |error: &dyn std::fmt::Display| FetchError::Broken(error.to_string());
        let asked = self.api.ask::<Located>("getFile", &json!({ "file_id": file.file_id }), LOOKUP).await;
        let located = match asked {
            Err(error) if error.says("file is too big") => {
                return Err(FetchError::TooBig { limit: LARGEST_FILE });
            }
            other => other.map_err(|error| broken(&error))?,
        };
        let path = located.file_path.ok_or_else(|| broken(&"telegram did not say where it is"))?;
        let denied = |error: std::io::Error| FetchError::Denied(error.to_string());
        // A local Bot API server returns the path of the file itself.
        if Path::new(&path).is_absolute() {
            let length = tokio::fs::metadata(&path).await.map_err(denied)?.len();
            if length > LARGEST_FILE {
                return Err(FetchError::TooBig { limit: LARGEST_FILE });
            }
            let content = tokio::fs::read(&path).await.map_err(denied)?;
            let content = stream::once(async move { Ok::<_, std::io::Error>(content) });
            return chat::keep(root, stored, content, LARGEST_FILE).await.map(drop);
        }
        let answer = self.api.download(&path).await.map_err(|error| broken(&error))?;
        let content = answer.bytes_stream().map(|piece| piece.map_err(reqwest::Error::without_url));
        chat::keep(root, stored, content, LARGEST_FILE).await.map(drop)
    }
}

/// The name of a stored file. After a migration message ids restart and the folder stays, so the names then include the
/// new id of the chat.
fn place_of(thread: &ThreadId, chat: Option<i64>, file: &Attachment) -> StoredFile {
    let before = match chat {
        Some(chat) => format!("{chat}-{}-", file.message_id),
        None => format!("{}-", file.message_id),
    };
    StoredFile::new(thread.clone(), &before, &file.name)
}

fn inbound(stored: &StoredFile, file: Attachment) -> InboundFile {
    InboundFile { media_type: file.media_type, url: stored.url(), name: Some(file.name) }
}
