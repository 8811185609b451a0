//! Downloads a message's files into the thread's folder before the message is submitted. A file that cannot be
//! downloaded becomes a notice, and the message is submitted without it.

use std::sync::Arc;
use std::time::Duration;

use super::event::{Attachment, InboundMessage};
use crate::adapters::chat::{Downloads, FetchError, is_kept, keep, name_before};
use crate::domain::{InboundFile, Language, StoredFile, ThreadId};
use crate::ports::FileStore;
use crate::render::Phrase;

const LONGEST: u64 = 30 << 20;
/// Deadline of one download.
const DEADLINE: Duration = Duration::from_secs(60);
/// How many downloads run at the same time.
const AT_ONCE: usize = 8;
/// Most files of one message.
const MOST: usize = 16;

#[derive(Debug)]
pub(super) struct Fetcher {
    http: reqwest::Client,
    files: Arc<dyn FileStore>,
    downloads: Downloads,
}

impl Fetcher {
    pub(super) const fn new(http: reqwest::Client, files: Arc<dyn FileStore>) -> Self {
        Self { http, files, downloads: Downloads::new(AT_ONCE, DEADLINE) }
    }

    /// The files of a message, and the notices for those that were not downloaded.
    pub(super) async fn fetch(
        &self,
        thread: &ThreadId,
        inbound: &InboundMessage,
        language: Language,
    ) -> (Vec<InboundFile>, Vec<String>) {
        let tries = inbound.attachments.iter().take(MOST).enumerate().map(|(index, one)| async move {
            let file = StoredFile::new(thread.clone(), &name_before(&inbound.id, index), &one.name);
            let outcome = self.downloads.fetch(|| self.fetch_one(&file, one)).await;
            (one, file, outcome)
        });
        let (mut files, mut lost) = (Vec::new(), Vec::new());
        for (one, file, outcome) in futures_util::future::join_all(tries).await {
            let phrase = match outcome {
                Ok(()) => {
                    let (media_type, name) = (one.media_type.clone(), Some(one.name.clone()));
                    files.push(InboundFile { media_type, url: file.url(), name });
                    continue;
                }
                Err(FetchError::TooBig { limit }) => {
                    Phrase::FileTooBig { name: one.name.clone(), megabytes: limit >> 20 }
                }
                Err(error) => {
                    tracing::warn!(%thread, %error, name = one.name, "file download failed");
                    Phrase::FileLost(one.name.clone())
                }
            };
            lost.push(phrase.say(language));
        }
        (files, lost)
    }

    async fn fetch_one(&self, file: &StoredFile, one: &Attachment) -> Result<(), FetchError> {
        // The message may be redelivered after its URL has expired.
        if is_kept(&*self.files, file).await? {
            return Ok(());
        }
        if one.size.is_some_and(|size| size > LONGEST) {
            return Err(FetchError::TooBig { limit: LONGEST });
        }
        let broken = |error: reqwest::Error| FetchError::Broken(error.without_url().to_string());
        let answer = self.http.get(&one.url).timeout(DEADLINE).send().await.map_err(broken)?;
        let status = answer.status();
        if status.is_client_error() && !matches!(status.as_u16(), 408 | 429) {
            return Err(FetchError::Denied(status.to_string()));
        }
        let answer = answer.error_for_status().map_err(broken)?;
        keep(&*self.files, file, answer.bytes_stream(), LONGEST).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::event::{Dispatch, InboundEvent, read};
    use super::*;
    use crate::store::AttachmentFiles;

    #[tokio::test]
    async fn a_file_that_is_here_is_not_fetched_again() {
        crate::http_client::install_tls();
        let dir = tempfile::tempdir().unwrap();
        let kept = Arc::new(AttachmentFiles::new(dir.path()));
        // The server does not answer.
        let body = json!({ "id": "m1", "content": "look", "author": { "user_openid": "U1" }, "attachments": [
            { "content_type": "file", "filename": "a.txt", "url": "http://127.0.0.1:1/a.txt", "size": 2 }] });
        let dispatch = Dispatch { name: "C2C_MESSAGE_CREATE".to_owned(), event_id: None, body };
        let InboundEvent::Said(inbound) = read(&dispatch, None) else { panic!() };
        let thread: ThreadId = "qq:chat:U1".parse().unwrap();
        let stored = StoredFile::new(thread.clone(), &name_before("m1", 0), "a.txt");
        keep(&*kept, &stored, futures_util::stream::iter([Ok::<_, String>("ab")]), 9).await.unwrap();
        let fetcher = Fetcher::new(reqwest::Client::new(), kept);
        let (files, lost) = fetcher.fetch(&thread, &inbound, Language::En).await;
        assert_eq!((files.len(), lost.len()), (1, 0), "{lost:?}");
    }
}
