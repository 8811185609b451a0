//! The files of threads: `.ship/files/<thread>/<name>`.

use std::path::PathBuf;

use super::atomic::replace_file;
use super::disk::refused;
use super::layout::private_dir;
use crate::domain::StoredFile;
use crate::ports::{BoxFuture, FileStore, StoreError};

/// The files of one project's threads.
#[derive(Clone, Debug)]
pub struct FileShelf {
    files: PathBuf,
}

impl FileShelf {
    /// The files in this folder. Touches nothing.
    pub const fn new(files: PathBuf) -> Self {
        Self { files }
    }
}

impl FileStore for FileShelf {
    fn keep(&self, file: &StoredFile, content: Vec<u8>) -> BoxFuture<'_, Result<(), StoreError>> {
        let path = self.files.join(file.path());
        Box::pin(async move {
            let place = path.clone();
            let write = move || {
                private_dir(path.parent().unwrap_or(&path))?;
                replace_file(&path, &content, 0o600)
            };
            let done = tokio::task::spawn_blocking(write).await.map_err(|_| StoreError::closed())?;
            done.map_err(|source| refused(&place, source))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_stands_in_its_threads_folder() {
        let dir = tempfile::tempdir().unwrap();
        let file = StoredFile::new("fake:chat:1".parse().unwrap(), "", "answer.md");
        FileShelf::new(dir.path().join("files")).keep(&file, b"words".to_vec()).await.unwrap();
        assert_eq!(std::fs::read(dir.path().join("files").join(file.path())).unwrap(), b"words");
    }
}
