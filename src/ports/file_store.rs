//! Files of the project and of its state: attachments, full outputs of calls, task files and Agent.md.

use std::io;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::{BoxFuture, StoreError};
use crate::domain::{AuthorId, StoredFile, ThreadId, Timestamp, ToolCallId};

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

    /// Removes all files of the thread.
    fn remove_all(&self, thread: &ThreadId) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Opens a file of the thread by name; `None` where there is none.
    fn open(&self, thread: &ThreadId, name: &str) -> BoxFuture<'_, Result<Option<OpenFile>, StoreError>>;
}

/// The full outputs of calls. The store decides how many are kept, and how long.
pub trait ToolOutputs: Send + Sync + std::fmt::Debug {
    /// Begins the output of a call. Creates nothing before the first text.
    fn begin(&self, call: &ToolCallId) -> Box<dyn ToolOutput>;
}

/// The output of one call. Write errors are ignored: they must not fail the command.
pub trait ToolOutput: Send + Sync + std::fmt::Debug {
    /// Appends text, up to the size limit.
    fn write<'a>(&'a mut self, text: &'a str) -> BoxFuture<'a, ()>;

    /// Ends the output; deletes it where it is not `needed`. Returns its path, relative to the project.
    fn close(self: Box<Self>, needed: bool) -> BoxFuture<'static, Option<String>>;
}

/// A task file in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFileEntry {
    /// The file name without `.md`.
    pub name: String,
    /// Differs whenever the content may differ.
    pub version: u64,
}

/// The task files of a project. People may edit them at any time.
pub trait TaskFiles: Send + Sync + std::fmt::Debug {
    /// All task files by name, without those that were set aside. Reads no content.
    fn list(&self) -> BoxFuture<'_, Result<Vec<TaskFileEntry>, StoreError>>;

    /// The content of a file, up to a little more than the largest task; `None` where there is none.
    fn read(&self, name: &str) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>>;

    /// Replaces a file, unless its content differs from `before`: then nothing is written. Returns whether it was
    /// written.
    fn write(
        &self,
        name: &str,
        before: Option<Vec<u8>>,
        content: Vec<u8>,
    ) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Removes a file, unless its content differs from `before`. Returns whether it was removed.
    fn remove(&self, name: &str, before: Vec<u8>) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Sets a file of a task that is over aside.
    fn set_aside(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Waits until a file may have changed since the last call. May be ready without a change.
    fn changed(&self) -> BoxFuture<'_, ()>;
}

/// The instructions for one model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentInstructions {
    pub text: Arc<str>,
    /// Whether this call is the first to return a changed text.
    pub changed: bool,
}

/// The agent's instructions. Read before each model call, so that an edit counts from the next call on.
pub trait Instructions: Send + Sync + std::fmt::Debug {
    /// The current instructions. If the file cannot be read, the last readable text.
    fn current(&self) -> BoxFuture<'_, CurrentInstructions>;
}

/// Instructions that never change.
#[derive(Clone, Debug)]
pub struct FixedInstructions(pub Arc<str>);

impl Instructions for FixedInstructions {
    fn current(&self) -> BoxFuture<'_, CurrentInstructions> {
        Box::pin(async { CurrentInstructions { text: self.0.clone(), changed: false } })
    }
}

/// An earlier text of the instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstructionsVersion {
    pub id: String,
    /// When it was replaced.
    pub replaced_at: String,
    /// Who replaced it.
    pub replaced_by: String,
    pub characters: usize,
}

/// The instructions as the operator edits them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EditableInstructions {
    pub text: String,
    /// Newest first.
    pub versions: Vec<InstructionsVersion>,
}

/// The result of writing the instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstructionsWrite {
    Written,
    /// The text was changed elsewhere since it was read.
    Conflict,
    /// Nothing but blanks.
    Empty,
    TooLong,
}

/// Reads and replaces the instructions, and keeps the last texts.
pub trait InstructionsEditor: Send + Sync + std::fmt::Debug {
    fn read(&self) -> BoxFuture<'_, Result<EditableInstructions, StoreError>>;

    /// The text of an earlier version; `None` where it is not kept any more.
    fn version<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// Replaces the text, if it is still `before`.
    fn write<'a>(
        &'a self,
        text: String,
        before: &'a str,
        by: &'a AuthorId,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<InstructionsWrite, StoreError>>;
}
