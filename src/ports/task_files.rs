//! The port of the task files.

use super::{BoxFuture, StoreError};

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
