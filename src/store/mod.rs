//! What the daemon keeps: the implementations of the ports that outlive a restart. [`files`] is the one that runs: plain
//! files under `.ship/`.
//!
//! Knows the ports, the message format and the file system; nothing of turns, models or platforms.

mod access;
mod access_records;
mod document;
pub mod files;
mod grants;
pub mod memory;
mod pairing_code;
mod state;

pub use files::{
    AuditLog, FileAccess, FileApprovals, FileGrants, FileMemory, FileNotes, FileShelf, Holder,
    InstructionsFile, Layout, Lock, OpenError, ReadInstructions, Reader, Stats, TAIL_BYTES, TAIL_MESSAGES,
    ThreadFiles, private_dir, replace_file, survive_file_size_limits,
};
pub use state::State;
