//! Files in: what came with a message, fetched into the thread's own folder before the message is handed in.

use std::path::PathBuf;
use std::time::Duration;

use super::event::{Attachment, Heard};
use crate::adapters::chat::{FetchError, keep};
use crate::domain::{InboundFile, Language, StoredFile, ThreadId};
use crate::render::Phrase;

/// Longest file.
const LONGEST: u64 = 30 << 20;
/// How long one may take.
const DEADLINE: Duration = Duration::from_secs(60);
/// More than this in one message is nobody's wish.
const MOST: usize = 16;

/// Fetches files.
#[derive(Clone, Debug)]
pub(super) struct Fetcher {
    http: reqwest::Client,
    files: PathBuf,
}

impl Fetcher {
    pub(super) const fn new(http: reqwest::Client, files: PathBuf) -> Self {
        Self { http, files }
    }

    /// The files of a message, and what to say about those that could not be had.
    pub(super) async fn fetch(
        &self,
        thread: &ThreadId,
        heard: &Heard,
        language: Language,
    ) -> (Vec<InboundFile>, Vec<String>) {
        let (mut files, mut lost) = (Vec::new(), Vec::new());
        for (index, one) in heard.attachments.iter().take(MOST).enumerate() {
            let name = stored_name(&heard.id, index);
            let file = StoredFile::new(thread.clone(), &name, &one.name);
            match self.fetch_one(&file, one).await {
                Ok(()) => files.push(InboundFile {
                    media_type: one.media_type.clone(),
                    url: file.url(),
                    name: Some(one.name.clone()),
                }),
                Err(error) => {
                    tracing::warn!(%thread, %error, name = one.name, "an attachment could not be fetched");
                    let phrase = match error {
                        FetchError::TooBig { limit } => {
                            Phrase::FileTooBig { name: one.name.clone(), megabytes: limit >> 20 }
                        }
                        FetchError::Broken(_) | FetchError::Disk(_) => Phrase::FileLost(one.name.clone()),
                    };
                    lost.push(phrase.say(language));
                }
            }
        }
        (files, lost)
    }

    async fn fetch_one(&self, file: &StoredFile, one: &Attachment) -> Result<(), FetchError> {
        if one.size.is_some_and(|size| size > LONGEST) {
            return Err(FetchError::TooBig { limit: LONGEST });
        }
        let broken = |error: reqwest::Error| FetchError::Broken(error.without_url().to_string());
        let answer = self.http.get(&one.url).timeout(DEADLINE).send().await;
        let answer = answer.and_then(reqwest::Response::error_for_status).map_err(broken)?;
        keep(&self.files, file, answer.bytes_stream(), LONGEST).await.map(drop)
    }
}

/// What tells the files of one message from all others: the same name, whenever the message comes.
fn stored_name(message: &str, index: usize) -> String {
    let mut tail: Vec<char> = message.chars().filter(char::is_ascii_alphanumeric).rev().take(16).collect();
    tail.reverse();
    format!("{}-{index}-", tail.into_iter().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_message_keep_their_names() {
        assert_eq!(stored_name("ROBOT1.0_abc!/x", 2), "ROBOT10abcx-2-");
        assert_ne!(stored_name("a", 0), stored_name("a", 1));
    }
}
