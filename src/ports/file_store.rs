//! The files of threads: attachments of messages, in and out.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::{BoxFuture, StoreError};
use crate::domain::{StoredFile, ThreadId};

/// A stored file opened for reading.
pub struct OpenFile {
    pub length: u64,
    pub content: Box<dyn AsyncRead + Send + Unpin>,
}

impl OpenFile {
    /// Reads the whole file.
    ///
    /// # Errors
    /// When reading fails.
    pub async fn bytes(mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.length).unwrap_or_default());
        self.content.read_to_end(&mut bytes).await?;
        Ok(bytes)
    }
}

impl std::fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenFile").field("length", &self.length).finish_non_exhaustive()
    }
}

/// A file that is being written. It appears complete when it is finished; dropped before, it leaves nothing.
pub trait FileWriter: Send + std::fmt::Debug {
    fn write<'a>(&'a mut self, piece: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Makes the file durable and replaces one of the same name.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>>;
}

/// The files of all threads.
pub trait FileStore: Send + Sync + std::fmt::Debug {
    /// Stores a file, complete and durable. One of the same name is replaced.
    fn keep(&self, file: &StoredFile, content: Vec<u8>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Begins a file whose content is written in pieces.
    fn create(&self, file: &StoredFile) -> BoxFuture<'_, Result<Box<dyn FileWriter>, StoreError>>;

    /// Opens a file of the thread by name; `None` where there is none.
    fn open(&self, thread: &ThreadId, name: &str) -> BoxFuture<'_, Result<Option<OpenFile>, StoreError>>;
}
