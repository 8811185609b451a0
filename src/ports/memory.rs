//! What is remembered from one conversation to the next, and the tasks that wait. Whoever asks waits for the disk, so
//! ask off the runtime's threads.

use super::StoreError;
use crate::domain::{MemoryScope, Remembered, TaskNote};

pub trait Memory: Send + Sync + std::fmt::Debug {
    /// What is remembered for somebody; nothing where there is nothing.
    fn recall(&self, scope: &MemoryScope) -> Result<Option<Remembered>, StoreError>;

    /// Writes this in the place of all that was remembered before, unless that is not `before` any more: then nothing is
    /// written. Says whether it was.
    fn remember(&self, scope: &MemoryScope, before: Option<&str>, text: &str) -> Result<bool, StoreError>;

    /// The tasks there are, by the names of their files.
    fn tasks(&self) -> Result<Vec<TaskNote>, StoreError>;
}
