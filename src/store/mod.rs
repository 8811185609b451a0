//! What the daemon keeps: the implementations of the ports that outlive a restart. [`files`] is the one that runs: plain
//! files under `.ship/`.
//!
//! Knows the ports, the message format and the file system; nothing of turns, models or platforms.

pub mod files;

pub use files::{
    AuditLog, FileApprovals, FileMemory, FileNotes, FileShelf, Holder, InstructionsFile, Layout, Lock,
    OpenError, ReadInstructions, Reader, Redaction, Stats, TAIL_BYTES, TAIL_MESSAGES, ThreadFiles,
    audit_files, private_dir, replace_file, survive_file_size_limits,
};
