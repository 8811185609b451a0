//! The ports of all persistent state: what a second store has to implement.

use std::path::Path;
use std::sync::Arc;

use super::files::{
    AttachmentFiles, AuditLog, FileAccess, FileApprovals, FileGrants, FileMemory, FileNotes, FileSearch,
    FileTasks, OpenError, Reader, ThreadFiles, ToolOutputFiles, UsageLedgerFiles,
};
use crate::ports::{
    AccessStore, ApprovalStore, Audit, FileStore, Grants, KeyValueStore, Memory, Search, TaskFiles,
    ThreadStore, ToolOutputs, UsageLedger, VectorIndex,
};

/// The ports of one project's state. Clones share it.
#[derive(Clone, Debug)]
pub struct State {
    /// Messages, deliveries and receipts.
    pub threads: Arc<dyn ThreadStore>,
    pub approvals: Arc<dyn ApprovalStore>,
    pub grants: Arc<dyn Grants>,
    pub access: Arc<dyn AccessStore>,
    /// Core memory, notes and their ledger.
    pub memory: Arc<dyn Memory>,
    /// Finds messages, notes and core memory again.
    pub search: Arc<dyn Search>,
    /// Vectors beside the index; a store may have none.
    pub vectors: Option<Arc<dyn VectorIndex>>,
    /// The key-value stores of adapters; each has the nested store of its platform.
    pub notes: Arc<dyn KeyValueStore>,
    pub tasks: Arc<dyn TaskFiles>,
    pub files: Arc<dyn FileStore>,
    pub audit: Arc<dyn Audit>,
    /// The full output of commands, for people.
    pub outputs: Arc<dyn ToolOutputs>,
    /// What calls used and cost.
    pub usage: Arc<dyn UsageLedger>,
}

impl State {
    /// The state in the files of this `.ship` directory, for the project's daemon: takes its lock, replays the journal,
    /// and creates missing folders. Blocks for a few milliseconds.
    pub fn files(ship_dir: &Path) -> Result<Self, OpenError> {
        Ok(Self::over(ship_dir, Arc::new(ThreadFiles::open(ship_dir)?)))
    }

    /// The state in the files of this `.ship` directory beside a daemon, or without one: threads are read-only. Opens
    /// nothing.
    pub fn files_beside_daemon(ship_dir: &Path) -> Self {
        Self::over(ship_dir, Arc::new(Reader::read_only(ship_dir)))
    }

    fn over(ship_dir: &Path, threads: Arc<dyn ThreadStore>) -> Self {
        let audit: Arc<dyn Audit> = Arc::new(AuditLog::new(ship_dir));
        let search = Arc::new(FileSearch::new(ship_dir));
        Self {
            threads,
            approvals: Arc::new(FileApprovals::new(ship_dir)),
            grants: Arc::new(FileGrants::new(ship_dir, audit.clone())),
            access: Arc::new(FileAccess::new(ship_dir, audit.clone())),
            memory: Arc::new(FileMemory::new(ship_dir)),
            search: search.clone(),
            vectors: Some(search),
            notes: Arc::new(FileNotes::of_all(ship_dir)),
            tasks: Arc::new(FileTasks::new(ship_dir)),
            files: Arc::new(AttachmentFiles::new(ship_dir)),
            audit,
            outputs: Arc::new(ToolOutputFiles::new(ship_dir)),
            usage: Arc::new(UsageLedgerFiles::new(ship_dir)),
        }
    }
}
