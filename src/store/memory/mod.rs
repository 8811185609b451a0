//! State in memory, for tests: dropped with its last handle. It satisfies the same contract as the file store, except
//! for crashes; one suite checks both.

mod approvals;
mod audit;
mod document;
mod files;
mod notes;
mod outputs;
mod remembered;
mod search;
mod store;
mod tasks;
mod threads;

pub use approvals::InMemoryApprovals;
pub use audit::InMemoryAudit;
pub use document::{InMemoryAccess, InMemoryDocument, InMemoryGrants};
pub use files::InMemoryFiles;
pub use notes::InMemoryNotes;
pub use outputs::InMemoryOutputs;
pub use remembered::InMemoryMemory;
pub use search::InMemorySearch;
pub use store::InMemoryStore;
pub use tasks::InMemoryTasks;
pub use threads::InMemoryThreads;
