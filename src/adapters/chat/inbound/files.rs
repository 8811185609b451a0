//! Downloads a file of a message into the thread's folder: bounded in size, complete or not at all.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use tokio::sync::Semaphore;

use super::super::retry;
use crate::domain::{Backoff, StoredFile, short_digest};
use crate::ports::{FileStore, StoreError};

/// Why a download failed.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("the file is longer than {limit} bytes")]
    TooBig { limit: u64 },
    /// The transfer was interrupted.
    #[error("the file could not be fetched: {0}")]
    Broken(String),
    /// The platform refuses it, also for a retry.
    #[error("the file is not to be had: {0}")]
    Denied(String),
    #[error("the file could not be written")]
    Store(#[from] StoreError),
}

/// How many attempts, and the wait between two.
const TRIES: u32 = 3;
const PAUSE: Backoff = Backoff {
    first: Duration::from_millis(300),
    longest: Duration::from_secs(1),
    stable_after: Duration::ZERO,
};

/// Downloads with bounded concurrency, a deadline each, and retries of interrupted transfers.
#[derive(Debug)]
pub struct Downloads {
    places: Semaphore,
    deadline: Duration,
}

impl Downloads {
    /// At most `at_once` downloads at a time; `deadline` covers all attempts of one.
    pub const fn new(at_once: usize, deadline: Duration) -> Self {
        Self { places: Semaphore::const_new(at_once), deadline }
    }

    /// Downloads one file. `attempt` makes one attempt.
    pub async fn fetch<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, FetchError>
    where
        F: Future<Output = Result<T, FetchError>>,
    {
        let _place = self.places.acquire().await;
        let work = retry(TRIES, PAUSE, attempt, |error| {
            matches!(error, FetchError::Broken(_)).then_some(Duration::ZERO)
        });
        let late = |_| FetchError::Broken("it took too long".to_owned());
        tokio::time::timeout(self.deadline, work).await.map_err(late)?
    }
}

/// Whether a file is already stored: a stored file is complete.
pub async fn is_kept(files: &dyn FileStore, file: &StoredFile) -> Result<bool, FetchError> {
    Ok(files.open(file.thread(), file.name()).await?.is_some())
}

/// The prefix of the file names of one message, derived from `key`: the same for every redelivery.
pub fn name_before(key: &str, index: usize) -> String {
    format!("{}-{index}-", short_digest(key.as_bytes(), 8))
}

/// Writes a stream into `files` and returns its length. Too long or interrupted content leaves no file.
pub async fn keep<B, E>(
    files: &dyn FileStore,
    file: &StoredFile,
    content: impl Stream<Item = Result<B, E>>,
    limit: u64,
) -> Result<u64, FetchError>
where
    B: AsRef<[u8]>,
    E: std::fmt::Display,
{
    let mut writer = files.create(file).await?;
    let mut content = std::pin::pin!(content);
    let mut length: u64 = 0;
    while let Some(piece) = content.next().await {
        let piece = piece.map_err(|error| FetchError::Broken(error.to_string()))?;
        length += piece.as_ref().len() as u64;
        if length > limit {
            return Err(FetchError::TooBig { limit });
        }
        writer.write(piece.as_ref()).await?;
    }
    writer.finish().await?;
    Ok(length)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use futures_util::stream;

    use super::*;
    use crate::store::AttachmentFiles;

    fn file() -> StoredFile {
        StoredFile::new("fake:chat:1".parse().unwrap(), "7-", "a.txt")
    }

    fn entries(dir: &Path) -> usize {
        std::fs::read_dir(dir.join("files").join(file().path()).parent().unwrap()).unwrap().count()
    }

    #[tokio::test]
    async fn a_file_is_kept_whole_under_its_thread() {
        let dir = tempfile::tempdir().unwrap();
        let files = AttachmentFiles::new(dir.path());
        let pieces = stream::iter([Ok::<_, String>("ab"), Ok("cd")]);
        assert!(!is_kept(&files, &file()).await.unwrap());
        assert_eq!(keep(&files, &file(), pieces, 4).await.unwrap(), 4);
        assert!(is_kept(&files, &file()).await.unwrap());
        assert_eq!(std::fs::read(dir.path().join("files").join(file().path())).unwrap(), b"abcd");
        assert_eq!(entries(dir.path()), 1);
    }

    #[test]
    fn the_files_of_a_message_keep_their_names() {
        let name = name_before("ROBOT1.0_abc!/x", 2);
        assert_eq!(name, name_before("ROBOT1.0_abc!/x", 2));
        assert!(name.len() == 19 && name.ends_with("-2-"), "{name}");
        assert_ne!(name_before("m-1-11", 0), name_before("m-11-1", 0));
    }

    #[tokio::test(start_paused = true)]
    async fn what_breaks_off_is_tried_again_and_what_hangs_is_given_up() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let downloads = Downloads::new(1, Duration::from_secs(5));
        let tries = AtomicU32::new(0);
        let broken = || FetchError::Broken("cut".to_owned());
        let third =
            || async { if tries.fetch_add(1, Ordering::Relaxed) < 2 { Err(broken()) } else { Ok(7) } };
        assert_eq!(downloads.fetch(third).await.unwrap(), 7);
        let never = || async { Err::<(), _>(broken()) };
        assert!(matches!(downloads.fetch(never).await, Err(FetchError::Broken(_))));
        let denied = || async {
            tries.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>(FetchError::Denied("404".to_owned()))
        };
        assert!(matches!(downloads.fetch(denied).await, Err(FetchError::Denied(_))));
        assert_eq!(tries.load(Ordering::Relaxed), 4, "a refusal is final");
        let hangs = std::future::pending::<Result<(), FetchError>>;
        assert!(matches!(downloads.fetch(hangs).await, Err(FetchError::Broken(_))));
        let slow = || async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Ok(())
        };
        let all = futures_util::future::join_all((0..3).map(|_| downloads.fetch(slow))).await;
        assert!(all.iter().all(Result::is_ok), "waiting for a place is not the file's own time: {all:?}");
    }

    #[tokio::test]
    async fn what_is_too_long_or_breaks_off_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let files = AttachmentFiles::new(dir.path());
        let endless = stream::repeat_with(|| Ok::<_, String>([0_u8; 1024]));
        assert!(matches!(
            keep(&files, &file(), endless, 5000).await,
            Err(FetchError::TooBig { limit: 5000 })
        ));
        let broken = stream::iter([Ok("ab"), Err("reset")]);
        assert!(matches!(keep(&files, &file(), broken, 10).await, Err(FetchError::Broken(_))));
        assert_eq!(entries(dir.path()), 0);
    }
}
