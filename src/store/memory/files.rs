//! Attachments in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::io::Cursor;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::{StoredFile, ThreadId};
use crate::ports::{BoxFuture, FileStore, FileWriter, OpenFile, StoreError};

type All = BTreeMap<(ThreadId, String), Vec<u8>>;

/// The files of all threads. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct InMemoryFiles {
    all: Arc<Mutex<All>>,
}

impl InMemoryFiles {
    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, file: &StoredFile, content: Vec<u8>) {
        self.all().insert((file.thread().clone(), file.name().to_owned()), content);
    }
}

impl FileStore for InMemoryFiles {
    fn keep(&self, file: &StoredFile, content: Vec<u8>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.put(file, content);
        Box::pin(ready(Ok(())))
    }

    fn create(&self, file: &StoredFile) -> BoxFuture<'_, Result<Box<dyn FileWriter>, StoreError>> {
        let writer = Growing { files: self.clone(), file: file.clone(), content: Vec::new() };
        Box::pin(ready(Ok(Box::new(writer) as Box<dyn FileWriter>)))
    }

    fn open(&self, thread: &ThreadId, name: &str) -> BoxFuture<'_, Result<Option<OpenFile>, StoreError>> {
        let found = self.all().get(&(thread.clone(), name.to_owned())).cloned();
        let open = |content: Vec<u8>| OpenFile {
            length: content.len() as u64,
            content: Box::new(Cursor::new(content)),
        };
        Box::pin(ready(Ok(found.map(open))))
    }
}

#[derive(Debug)]
struct Growing {
    files: InMemoryFiles,
    file: StoredFile,
    content: Vec<u8>,
}

impl FileWriter for Growing {
    fn write<'a>(&'a mut self, piece: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        self.content.extend_from_slice(piece);
        Box::pin(ready(Ok(())))
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        let Self { files, file, content } = *self;
        files.put(&file, content);
        Box::pin(ready(Ok(())))
    }
}
