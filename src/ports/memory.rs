//! The port of memory.

use std::collections::BTreeSet;

use super::{BoxFuture, StoreError};
use crate::domain::{
    ChangeRefusal, CoreFile, DistilMark, LedgerLine, MemoryChange, MemoryItem, NewestNotes, Provenance,
    ScopeKey, ShownNote, ThreadId, Timestamp,
};

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
    /// Those that were left out, because they were forgotten one by one.
    pub forgotten: usize,
}

/// A change that was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The line of the undo.
    pub line: LedgerLine,
    pub taken_back: LedgerLine,
}

/// Changes that are made together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryBatch {
    pub changes: Vec<MemoryChange>,
    /// How far a thread was read for them.
    pub mark: Option<DistilMark>,
}

/// Why memory was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error(transparent)]
    Refused(#[from] ChangeRefusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Which lines of the ledger to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerRequest {
    /// Only those of this scope.
    pub scope: Option<ScopeKey>,
    /// Only lines with a smaller number.
    pub before: Option<u64>,
    pub limit: usize,
}

/// Lines of the ledger, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerPage {
    pub lines: Vec<LedgerLine>,
    pub has_more: bool,
    /// How many lines of the ledger cannot be read, because a write was cut off.
    pub damaged: usize,
}

/// The notes of one month, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotesPage {
    /// The month, such as `2026-12`; absent where there are no notes.
    pub month: Option<String>,
    pub notes: Vec<MemoryItem>,
    /// The next older month that has notes, such as `2026-11`.
    pub earlier: Option<String>,
}

pub trait Memory: Send + Sync + std::fmt::Debug {
    /// The core memory of a scope; empty where there is none. A change that was cut off by a crash is completed first, and a
    /// file that was edited by hand is noted in the ledger.
    fn core(&self, scope: &ScopeKey) -> BoxFuture<'_, Result<CoreFile, StoreError>>;

    /// Makes changes: all of them or none. The ledger is written first, so that a crash in between loses nothing. Returns
    /// the ledger lines; a change that changes nothing has none.
    fn apply_all(&self, batch: MemoryBatch) -> BoxFuture<'_, Result<Vec<LedgerLine>, ChangeError>>;

    fn apply(&self, change: MemoryChange) -> BoxFuture<'_, Result<Option<LedgerLine>, ChangeError>> {
        let batch = MemoryBatch { changes: vec![change], mark: None };
        Box::pin(async move { Ok(self.apply_all(batch).await?.pop()) })
    }

    /// Takes back the newest change of a scope that may be undone and was not taken back yet.
    fn undo(&self, scope: &ScopeKey, provenance: Provenance) -> BoxFuture<'_, Result<Undone, ChangeError>>;

    /// The change that [`Self::undo`] would take back.
    fn newest_to_undo(&self, scope: &ScopeKey) -> BoxFuture<'_, Result<Option<LedgerLine>, StoreError>>;

    /// The number of the newest change that took something out of the core memory of these scopes; 0 where there is none.
    fn newest_removal(&self, scopes: &[ScopeKey]) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Removes core memory and notes of a scope, and their texts from the ledger. Returns how many items were removed.
    fn forget_all(
        &self,
        scope: &ScopeKey,
        provenance: Provenance,
    ) -> BoxFuture<'_, Result<usize, ChangeError>>;

    /// Lines of the ledger.
    fn ledger(&self, request: LedgerRequest) -> BoxFuture<'_, Result<LedgerPage, StoreError>>;

    /// How far a thread was read for things worth remembering.
    fn distilled(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<DistilMark>, StoreError>>;

    /// The ids of items that no person has confirmed.
    fn unreviewed(&self, scope: &ScopeKey) -> BoxFuture<'_, Result<BTreeSet<String>, StoreError>>;

    /// The notes of a month, or of the newest one.
    fn notes(&self, scope: &ScopeKey, month: Option<String>) -> BoxFuture<'_, Result<NotesPage, StoreError>>;

    /// At most so many notes, newest first.
    fn newest_notes(&self, scope: &ScopeKey, most: usize) -> BoxFuture<'_, Result<NewestNotes, StoreError>> {
        let scope = scope.clone();
        Box::pin(async move {
            let unreviewed = self.unreviewed(&scope).await?;
            let mut found = NewestNotes::default();
            let mut month = None;
            loop {
                let page = self.notes(&scope, month).await?;
                for item in page.notes.into_iter().rev() {
                    if found.notes.len() >= most {
                        found.has_more = true;
                        return Ok(found);
                    }
                    let reviewed = !unreviewed.contains(&item.handle());
                    found.notes.push(ShownNote { item, reviewed });
                }
                let Some(earlier) = page.earlier else { return Ok(found) };
                month = Some(earlier);
            }
        })
    }

    /// The scopes that have core memory or notes.
    fn scopes(&self) -> BoxFuture<'_, Result<Vec<ScopeKey>, StoreError>>;

    /// Adds notes behind those of the same month, in their order. All are written or none of a month. The ledger gets one
    /// line for each month, `via` "import", without the texts.
    fn add_notes(&self, scope: &ScopeKey, notes: Vec<Note>) -> BoxFuture<'_, Result<NotesAdded, StoreError>>;
}
