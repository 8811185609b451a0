//! The files of threads: `.ship/files/<thread>/<name>`.

use std::io;
use std::path::{Component, Path, PathBuf};

use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;

use super::atomic::replace_file;
use super::disk::{on_disk, refused};
use super::layout::{Layout, private_dir};
use crate::domain::{StoredFile, ThreadId};
use crate::ports::{BoxFuture, FileStore, FileWriter, OpenFile, StoreError};

/// The files of one project's threads.
#[derive(Clone, Debug)]
pub struct AttachmentFiles {
    folder: PathBuf,
}

impl AttachmentFiles {
    /// The files under this `.ship` directory. Opens nothing.
    pub fn new(ship_dir: &Path) -> Self {
        Self { folder: Layout::new(ship_dir).files() }
    }
}

impl FileStore for AttachmentFiles {
    fn keep(&self, file: &StoredFile, content: Vec<u8>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(on_disk(self.folder.join(file.path()), move |path| {
            private_dir(path.parent().unwrap_or(path))?;
            replace_file(path, &content, 0o600)
        }))
    }

    fn create(&self, file: &StoredFile) -> BoxFuture<'_, Result<Box<dyn FileWriter>, StoreError>> {
        let target = self.folder.join(file.path());
        Box::pin(async move {
            let named = target.clone();
            let temporary = on_disk(target, |path| {
                let folder = path.parent().unwrap_or(path);
                private_dir(folder)?;
                let temporary = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
                let content = temporary.reopen()?;
                Ok((temporary, content))
            });
            let (temporary, content) = temporary.await?;
            let content = tokio::fs::File::from_std(content);
            Ok(Box::new(GrowingFile { target: named, temporary, content }) as Box<dyn FileWriter>)
        })
    }

    fn remove_all(&self, thread: &ThreadId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(on_disk(self.folder.join(thread.file_name()), |folder| {
            match std::fs::remove_dir_all(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            }
        }))
    }

    fn open(&self, thread: &ThreadId, name: &str) -> BoxFuture<'_, Result<Option<OpenFile>, StoreError>> {
        let plain = is_one_component(name);
        let (thread, name) = (thread.file_name(), name.to_owned());
        Box::pin(async move {
            if !plain {
                return Ok(None);
            }
            let found = on_disk(self.folder.clone(), move |folder| find(folder, &thread, &name)).await?;
            Ok(found.map(|(file, length)| OpenFile {
                length,
                content: Box::new(tokio::fs::File::from_std(file)),
            }))
        })
    }
}

/// Whether a name is a single path component.
fn is_one_component(name: &str) -> bool {
    let mut components = Path::new(name).components();
    matches!((components.next(), components.next()), (Some(Component::Normal(_)), None))
}

/// Opens a regular file inside the thread's folder; links that lead out of it are not followed.
fn find(folder: &Path, thread: &str, name: &str) -> io::Result<Option<(std::fs::File, u64)>> {
    let inside = || -> io::Result<Option<(std::fs::File, u64)>> {
        let folder = folder.canonicalize()?.join(thread);
        let path = folder.join(name).canonicalize()?;
        if !path.starts_with(&folder) || !path.metadata()?.is_file() {
            return Ok(None);
        }
        let file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Some((file, length)))
    };
    match inside() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found,
    }
}

/// A file that is being written under a temporary name.
#[derive(Debug)]
struct GrowingFile {
    target: PathBuf,
    temporary: NamedTempFile,
    content: tokio::fs::File,
}

impl FileWriter for GrowingFile {
    fn write<'a>(&'a mut self, piece: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let written = self.content.write_all(piece).await;
            written.map_err(|source| refused(&self.target, source))
        })
    }

    fn finish(mut self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async move {
            let synced = async {
                self.content.flush().await?;
                // Synced, because the message that refers to it is about to be committed durably.
                self.content.sync_all().await
            };
            synced.await.map_err(|source| refused(&self.target, source))?;
            let Self { target, temporary, .. } = *self;
            on_disk(target, |path| temporary.persist(path).map(drop).map_err(|error| error.error)).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread() -> ThreadId {
        "fake:chat:1".parse().unwrap()
    }

    #[tokio::test]
    async fn a_file_stands_in_its_threads_folder() {
        let dir = tempfile::tempdir().unwrap();
        let file = StoredFile::new(thread(), "", "answer.md");
        AttachmentFiles::new(dir.path()).keep(&file, b"words".to_vec()).await.unwrap();
        assert_eq!(std::fs::read(dir.path().join("files").join(file.path())).unwrap(), b"words");
    }

    #[tokio::test]
    async fn a_file_that_is_not_finished_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let files = AttachmentFiles::new(dir.path());
        let file = StoredFile::new(thread(), "", "a.txt");
        let mut writer = files.create(&file).await.unwrap();
        writer.write(b"half").await.unwrap();
        drop(writer);
        let folder = dir.path().join("files").join(thread().file_name());
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_link_out_of_the_folder_leads_nowhere() {
        let root = tempfile::tempdir().unwrap();
        let (files, secret) = (AttachmentFiles::new(root.path()), root.path().join("secret"));
        let folder = root.path().join("files").join(thread().file_name());
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::File::create(&secret).unwrap();
        std::fs::File::create(folder.join("good.txt")).unwrap();
        std::os::unix::fs::symlink(&secret, folder.join("link.txt")).unwrap();
        assert!(files.open(&thread(), "good.txt").await.unwrap().is_some());
        for name in ["link.txt", "none.txt", "../secret", "..", "."] {
            assert!(files.open(&thread(), name).await.unwrap().is_none(), "{name}");
        }
    }
}
