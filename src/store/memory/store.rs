//! The shared state behind the handles of one in-memory store.

use std::sync::Arc;

use super::{
    InMemoryAccess, InMemoryApprovals, InMemoryAudit, InMemoryDocument, InMemoryFiles, InMemoryGrants,
    InMemoryMemory, InMemoryNotes, InMemoryOutputs, InMemorySearch, InMemoryTasks, InMemoryThreads,
};
use crate::ports::Audit;
use crate::store::access_records::AccessRecords;
use crate::store::grants::GrantRecords;
use crate::store::state::State;

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
            }),
            notes: Arc::new(self.notes.clone()),
            tasks: Arc::new(self.tasks.clone()),
            files: Arc::new(self.files.clone()),
            audit,
            outputs: Arc::new(self.outputs.clone()),
        }
    }
}
