//! What is remembered from one conversation to the next, and the tasks that wait.

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

/// What is remembered.
pub trait Memory: Send + Sync + std::fmt::Debug {
    /// What is remembered for somebody; nothing where there is nothing.
    fn recall(&self, scope: &MemoryScope) -> BoxFuture<'_, Result<Option<Remembered>, StoreError>>;

    /// Writes this in the place of all that was remembered before, unless that is not `before` any more: then nothing is
    /// written. Says whether it was.
    fn remember(
        &self,
        scope: &MemoryScope,
        before: Option<&str>,
        text: &str,
    ) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Adds notes behind those of the same month, in their order. All are written or none of a month.
    fn add_notes(&self, scope: &ScopeKey, notes: Vec<Note>) -> BoxFuture<'_, Result<NotesAdded, StoreError>>;

    /// The tasks there are, by the names of their files.
    fn tasks(&self) -> BoxFuture<'_, Result<Vec<TaskNote>, StoreError>>;
}
