//! Grants, access records and memory without files, and the state that the handles of one in-memory store share.

use std::sync::{Arc, Mutex, PoisonError};

use super::search::ForgottenScopes;
use super::{
    InMemoryApprovals, InMemoryAudit, InMemoryFiles, InMemoryNotes, InMemoryOutputs, InMemorySearch,
    InMemoryTasks, InMemoryThreads, InMemoryUsage,
};
use crate::domain::{MemoryItem, ScopeKey, items_of};
use crate::ports::{Audit, StoreError, SystemClock};
use crate::store::access_records::AccessRecords;
use crate::store::document::{Document, Modified};
use crate::store::document_access::DocumentAccess;
use crate::store::grants::{DocumentGrants, GrantRecords};
use crate::store::memory_book::{HeldFiles, MemoryBook, MemoryFiles};
use crate::store::state::State;

/// A document in memory. Clones share it.
#[derive(Debug, Default)]
pub struct InMemoryDocument<T> {
    content: Arc<Mutex<Arc<T>>>,
}

pub type InMemoryGrants = DocumentGrants<InMemoryDocument<GrantRecords>>;
/// The access list in memory.
pub type InMemoryAccess = DocumentAccess<InMemoryDocument<AccessRecords>>;

impl InMemoryGrants {
    pub fn new(audit: Arc<dyn Audit>) -> Self {
        Self::over(InMemoryDocument::default(), audit)
    }
}

impl InMemoryAccess {
    pub fn new(audit: Arc<dyn Audit>) -> Self {
        Self::over(InMemoryDocument::default(), audit)
    }
}

impl<T> Clone for InMemoryDocument<T> {
    fn clone(&self) -> Self {
        Self { content: self.content.clone() }
    }
}

impl<T: Clone + Send + Sync + std::fmt::Debug> Document<T> for InMemoryDocument<T> {
    async fn read(&self) -> Result<Arc<T>, StoreError> {
        Ok(self.content.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    async fn change<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut T) -> (R, Modified) + Send + 'static,
    ) -> Result<R, StoreError> {
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = T::clone(&content);
        let (result, touched) = work(&mut changed);
        if touched == Modified::Yes {
            *content = Arc::new(changed);
        }
        Ok(result)
    }
}

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

/// State in memory: each `open` is another daemon on the same state.
#[derive(Debug, Default)]
pub struct InMemoryStore {
    threads: InMemoryThreads,
    approvals: InMemoryApprovals,
    grants: InMemoryDocument<GrantRecords>,
    access: InMemoryDocument<AccessRecords>,
    memory: InMemoryMemory,
    notes: InMemoryNotes,
    tasks: InMemoryTasks,
    files: InMemoryFiles,
    audit: InMemoryAudit,
    outputs: InMemoryOutputs,
    forgotten: ForgottenScopes,
    usage: InMemoryUsage,
}

impl InMemoryStore {
    /// The state for the next daemon.
    pub fn open(&self) -> State {
        let audit: Arc<dyn Audit> = Arc::new(self.audit.clone());
        State {
            threads: Arc::new(self.threads.reopened()),
            approvals: Arc::new(self.approvals.reopened()),
            grants: Arc::new(InMemoryGrants::over(self.grants.clone(), audit.clone())),
            access: Arc::new(InMemoryAccess::over(self.access.clone(), audit.clone())),
            memory: Arc::new(self.memory.clone()),
            search: Arc::new(InMemorySearch {
                memory: self.memory.clone(),
                threads: self.threads.reopened(),
                forgotten: self.forgotten.clone(),
            }),
            vectors: None,
            notes: Arc::new(self.notes.clone()),
            tasks: Arc::new(self.tasks.clone()),
            files: Arc::new(self.files.clone()),
            audit,
            outputs: Arc::new(self.outputs.clone()),
            usage: Arc::new(self.usage.clone()),
        }
    }
}
