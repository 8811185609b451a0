//! Memory whose files are in memory.

use std::sync::Arc;

use crate::domain::{MemoryItem, ScopeKey, items_of};
use crate::ports::SystemClock;
use crate::store::memory_book::{HeldFiles, MemoryBook, MemoryFiles};

/// Core memory, notes and ledger. Clones share them.
pub type InMemoryMemory = MemoryBook<HeldFiles>;

impl Default for InMemoryMemory {
    fn default() -> Self {
        Self::over(HeldFiles::default(), Arc::new(SystemClock))
    }
}

impl InMemoryMemory {
    /// The notes of a scope, in the order of their files.
    pub(super) fn notes_of(&self, scope: &ScopeKey) -> Vec<MemoryItem> {
        let folder = scope.notes_folder();
        let names = self.files().names(&folder).unwrap_or_default();
        let text =
            |name: String| self.files().read(&format!("{folder}/{name}"), 0, u64::MAX).unwrap_or_default();
        names.into_iter().flat_map(|name| items_of(&String::from_utf8_lossy(&text(name)))).collect()
    }
}
