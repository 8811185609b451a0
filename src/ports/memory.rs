//! What is remembered from one conversation to the next, and the tasks that wait.

use super::{BoxFuture, StoreError};
use crate::domain::{MemoryScope, Remembered, TaskNote};

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

    /// The tasks there are, by the names of their files.
    fn tasks(&self) -> BoxFuture<'_, Result<Vec<TaskNote>, StoreError>>;
}
