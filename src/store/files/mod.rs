//! State in plain files under `.ship/`.
//!
//! ```text
//! threads/<thread>.jsonl        the source of truth: one UIMessage per line, append-only
//! state/outbox/<thread>.jsonl   deliveries and their receipts
//! state/journal/<n>.jsonl       every commit, written here first
//! state/index/<thread>.idx      the offsets of a thread file's lines (a cache)
//! state/catalog.jsonl           the list of threads (a cache)
//! approvals/<id>.json           each approval and its state
//! state/approval-ids            from approval numbers to ids (a cache)
//! state/search.sqlite           full-text index of threads, core memory and notes (a cache)
//! memory/, tasks/*.md           memory and tasks; people may edit them too
//! logs/audit-<date>.jsonl       who allowed what, and with which outcome
//! logs/usage-<month>.jsonl      what calls used and cost
//! run/lock                      held by the one daemon of the project
//! ```
//!
//! **Writing.** One thread, the writer thread, does all of it. It takes the queued commits, writes a line for each to
//! the journal, syncs once if any of them requires it, writes the lines to the thread and outbox files, and only then
//! confirms them. A start replays the journal. So:
//!
//! - A confirmed commit is never lost: with [`Durability::Synced`](crate::ports::Durability::Synced) not by a power
//!   loss, with `Written` not by the end of the process.
//! - After the process ends at any instruction, a commit is there completely or not at all, and if it is there, so is
//!   every earlier one. The same holds for a `Synced` commit after a power loss; of `Written` ones the newest may then
//!   be missing, completely or in part.
//! - A refused commit leaves nothing behind, and the next one may succeed: a full disk is a temporary state.
//! - A read that begins after a commit was confirmed sees it.
//! - Commits of one caller are written in the order of the calls, also when the caller does not wait for them.
//!
//! **Reading** goes through the index: a page costs the same in a long thread as in a short one. Only a search for an
//! old message scans the index, at 24 bytes a line. Complete lines that cannot be parsed are skipped and logged, never
//! rewritten; a partial last line is removed before the next one is written.
//!
//! Knows the ports, the message format and the file system; nothing of turns, models or platforms.

pub mod address;
mod approval_files;
mod approval_numbers;
mod archive;
mod atomic;
mod attachment_files;
mod audit;
mod backup;
mod catalog;
mod daemon_log;
mod data_files;
mod disk;
mod head;
mod history;
mod index;
mod index_record;
mod instructions;
mod journal;
mod kept_outputs;
mod layout;
mod lines;
mod lock;
mod log_reader;
mod lost_journal;
mod memory_files;
mod notes;
mod outbox;
mod reader;
mod recover;
mod search;
mod shared_file;
mod stats;
mod summary;
mod tar;
mod task_files;
#[cfg(test)]
mod tests;
mod thread_files;
mod tool_outputs;
mod usage_ledger;
mod writer;
mod writer_thread;

pub use approval_files::FileApprovals;
pub(in crate::store) use atomic::swap;
pub use atomic::{probe_writable, replace_file};
pub use attachment_files::AttachmentFiles;
pub use audit::AuditLog;
pub use backup::FileBackup;
pub use daemon_log::{daemon_log, make_private};
pub use disk::survive_file_size_limits;
pub use history::{TAIL_BYTES, TAIL_MESSAGES};
pub use instructions::{InstructionsFile, ReadInstructions};
pub(in crate::store) use layout::private_file;
pub use layout::{Layout, private_dir};
pub use lock::{Holder, Lock, OpenError};
pub use log_reader::LogFiles;
pub use memory_files::FileMemory;
pub use notes::FileNotes;
pub use reader::Reader;
pub use search::FileSearch;
pub use shared_file::{FileAccess, FileGrants, SharedFile};
pub use stats::Stats;
pub(in crate::store) use summary::title_of;
pub use task_files::FileTasks;
pub use thread_files::ThreadFiles;
pub use tool_outputs::ToolOutputFiles;
pub use usage_ledger::UsageLedgerFiles;
