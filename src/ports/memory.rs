//! The port of memory and tasks.

use super::{BoxFuture, StoreError};
use crate::domain::{MemoryScope, Remembered, TaskNote};

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

    /// All tasks, by file name.
    fn tasks(&self) -> BoxFuture<'_, Result<Vec<TaskNote>, StoreError>>;
}
