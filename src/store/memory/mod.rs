//! State in memory, for tests: dropped with its last handle. It satisfies the same contract as the file store, except
//! for crashes; one suite checks both.

mod approvals;
mod files;
mod ledgers;
mod notes;
mod records;
mod search;
mod tasks;
mod threads;

pub use approvals::InMemoryApprovals;
pub use files::{InMemoryFiles, InMemoryOutputs};
pub use ledgers::{InMemoryAudit, InMemoryUsage};
pub use notes::InMemoryNotes;
pub use records::{InMemoryAccess, InMemoryDocument, InMemoryGrants, InMemoryMemory, InMemoryStore};
pub use search::InMemorySearch;
pub use tasks::InMemoryTasks;
pub use threads::InMemoryThreads;
