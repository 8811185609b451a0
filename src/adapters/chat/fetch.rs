//! Keeping a file that came with a message: bounded in size, whole or not at all, in the thread's own folder.

use std::path::Path;

use futures_util::{Stream, StreamExt as _};
use tokio::io::AsyncWriteExt as _;

use crate::domain::StoredFile;

/// Why a file could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// It is longer than what may be.
    #[error("the file is longer than {limit} bytes")]
    TooBig {
        /// How many bytes there may be.
        limit: u64,
    },
    /// It broke off on the way.
    #[error("the file could not be fetched: {0}")]
    Broken(String),
    /// It could not be written.
    #[error("the file could not be written")]
    Disk(#[from] std::io::Error),
}

/// Keeps what comes under `files`, and gives its length. What is too long or breaks off leaves nothing behind.
pub async fn keep<B, E>(
    files: &Path,
    file: &StoredFile,
    content: impl Stream<Item = Result<B, E>>,
    limit: u64,
) -> Result<u64, FetchError>
where
    B: AsRef<[u8]>,
    E: std::fmt::Display,
{
    let target = files.join(file.path());
    let folder = target.parent().unwrap_or(&target).to_owned();
    tokio::fs::create_dir_all(&folder).await?;
    let temporary = tempfile::Builder::new().prefix(".new-").tempfile_in(&folder)?;
    let mut writer = tokio::fs::File::from_std(temporary.reopen()?);
    let mut content = std::pin::pin!(content);
    let mut length: u64 = 0;
    while let Some(piece) = content.next().await {
        let piece = piece.map_err(|error| FetchError::Broken(error.to_string()))?;
        length += piece.as_ref().len() as u64;
        if length > limit {
            return Err(FetchError::TooBig { limit });
        }
        writer.write_all(piece.as_ref()).await?;
    }
    writer.flush().await?;
    // The message that names it is about to be kept for certain, so must the file be.
    writer.sync_all().await?;
    temporary.persist(&target).map_err(|error| error.error)?;
    Ok(length)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn file() -> StoredFile {
        StoredFile::new("fake:chat:1".parse().unwrap(), "7-", "a.txt")
    }

    fn entries(files: &Path) -> usize {
        std::fs::read_dir(files.join(file().path()).parent().unwrap()).unwrap().count()
    }

    #[tokio::test]
    async fn a_file_is_kept_whole_under_its_thread() {
        let dir = tempfile::tempdir().unwrap();
        let pieces = stream::iter([Ok::<_, String>("ab"), Ok("cd")]);
        assert_eq!(keep(dir.path(), &file(), pieces, 4).await.unwrap(), 4);
        assert_eq!(std::fs::read(dir.path().join(file().path())).unwrap(), b"abcd");
        assert_eq!(entries(dir.path()), 1);
    }

    #[tokio::test]
    async fn what_is_too_long_or_breaks_off_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let endless = stream::repeat_with(|| Ok::<_, String>([0_u8; 1024]));
        assert!(matches!(
            keep(dir.path(), &file(), endless, 5000).await,
            Err(FetchError::TooBig { limit: 5000 })
        ));
        let broken = stream::iter([Ok("ab"), Err("reset")]);
        assert!(matches!(keep(dir.path(), &file(), broken, 10).await, Err(FetchError::Broken(_))));
        assert_eq!(entries(dir.path()), 0);
    }
}
