//! Persistent state: the implementations of the ports that outlive a restart, bundled as [`State`]. [`files`] is used
//! by the daemon: plain files under `.ship/`. [`memory`] is for tests. Rules that do not depend on the storage are
//! shared: numbering and expiry of grants, pairing codes and roles.
//!
//! Knows the ports, the message format and the file system; nothing of turns, models or platforms. No other module opens a
//! file under `.ship/`; `tests/it/architecture.rs` checks that, and lists the exceptions.

mod access_records;
mod document;
mod document_access;
pub mod files;
mod grants;
mod hybrid_search;
mod instructions_history;
pub mod memory;
mod memory_book;
mod rooms;
mod state;
#[cfg(test)]
mod tests;

pub use files::FileSearch;
pub use files::{
    AttachmentFiles, AuditLog, FileAccess, FileApprovals, FileBackup, FileGrants, FileMemory, FileNotes,
    Holder, InstructionsFile, Layout, Lock, LogFiles, OpenError, ReadInstructions, Reader, Stats, TAIL_BYTES,
    TAIL_MESSAGES, ThreadFiles, ToolOutputFiles, address, daemon_log, make_private, private_dir,
    probe_writable, replace_file, survive_file_size_limits,
};
pub use hybrid_search::{HybridSearch, RedactText};
pub use instructions_history::InstructionsHistory;
pub use rooms::{FolderFault, SharedRooms};
pub use state::State;
