//! State in memory, for tests: gone with its last handle. It keeps the same contract as the file store, durability aside; one
//! suite checks both.

mod audit;
mod document;

pub use audit::MemoryAudit;
pub use document::{MemoryAccess, MemoryDocument, MemoryGrants};
