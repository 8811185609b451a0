//! Attachments in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::io::Cursor;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::{StoredFile, ThreadId, ToolCallId};
use crate::ports::{BoxFuture, FileStore, FileWriter, OpenFile, StoreError, ToolOutput, ToolOutputs};

type AllFiles = BTreeMap<(ThreadId, String), Vec<u8>>;

/// The files of all threads. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct InMemoryFiles {
    all: Arc<Mutex<AllFiles>>,
}

impl InMemoryFiles {
    fn all(&self) -> MutexGuard<'_, AllFiles> {
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
        let writer = InMemoryFileWriter { files: self.clone(), file: file.clone(), content: Vec::new() };
        Box::pin(ready(Ok(Box::new(writer) as Box<dyn FileWriter>)))
    }

    fn remove_all(&self, thread: &ThreadId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.all().retain(|(of, _), _| of != thread);
        Box::pin(ready(Ok(())))
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
struct InMemoryFileWriter {
    files: InMemoryFiles,
    file: StoredFile,
    content: Vec<u8>,
}

impl FileWriter for InMemoryFileWriter {
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

type AllOutputs = BTreeMap<String, String>;

/// The outputs by name. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct InMemoryOutputs {
    all: Arc<Mutex<AllOutputs>>,
}

impl InMemoryOutputs {
    fn all(&self) -> MutexGuard<'_, AllOutputs> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolOutputs for InMemoryOutputs {
    fn begin(&self, call: &ToolCallId) -> Box<dyn ToolOutput> {
        Box::new(GrowingOutput { outputs: self.clone(), call: call.plain_name(), text: String::new() })
    }
}

#[derive(Debug)]
struct GrowingOutput {
    outputs: InMemoryOutputs,
    call: String,
    text: String,
}

impl ToolOutput for GrowingOutput {
    fn write<'a>(&'a mut self, text: &'a str) -> BoxFuture<'a, ()> {
        self.text.push_str(text);
        Box::pin(ready(()))
    }

    fn close(self: Box<Self>, needed: bool) -> BoxFuture<'static, Option<String>> {
        let Self { outputs, call, text } = *self;
        if !needed || text.is_empty() {
            return Box::pin(ready(None));
        }
        let mut all = outputs.all();
        let name = format!("{call}-{}", all.len() + 1);
        all.insert(name.clone(), text);
        drop(all);
        Box::pin(ready(Some(name)))
    }
}
