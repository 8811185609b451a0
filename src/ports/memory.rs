//! The port of memory and tasks.

use super::{BoxFuture, StoreError};
use crate::domain::{MemoryScope, Remembered, ScopeKey, TaskNote, Timestamp};

/// Something to be found again by search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub id: String,
    pub at: Timestamp,
    /// The name of its author.
    pub author: String,
    pub text: String,
}

/// What became of notes that were to be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotesAdded {
    pub added: usize,
    /// Those that were there already, with the same id, time, author and text.
    pub known: usize,
}

/// Memory and tasks.
pub trait Memory: Send + Sync + std::fmt::Debug {
    /// The memory of a scope; `None` where there is none.
    fn recall(&self, scope: &MemoryScope) -> BoxFuture<'_, Result<Option<Remembered>, StoreError>>;

    /// Replaces the memory of a scope, unless the stored text differs from `before`: then nothing is written. Returns
    /// whether it was written.
    fn remember(
        &self,
        scope: &MemoryScope,
        before: Option<&str>,
        text: &str,
    ) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Adds notes behind those of the same month, in their order. All are written or none of a month.
    fn add_notes(&self, scope: &ScopeKey, notes: Vec<Note>) -> BoxFuture<'_, Result<NotesAdded, StoreError>>;

    /// All tasks, by file name.
    fn tasks(&self) -> BoxFuture<'_, Result<Vec<TaskNote>, StoreError>>;
}
