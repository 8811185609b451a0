//! State in plain files under `.ship/`.
//!
//! ```text
//! threads/<thread>.jsonl        the truth: one UIMessage per line, only ever appended to
//! state/outbox/<thread>.jsonl   deliveries and their receipts
//! state/journal/<n>.jsonl       every commit, before it is anywhere else
//! state/index/<thread>.idx      where the lines of a thread file stand (a cache)
//! state/catalog.jsonl           the list of threads (a cache)
//! approvals/<id>.json           each question to a person, and what became of it
//! state/approval-ids            which approval a number stands for (a cache)
//! state/search.sqlite           full-text index of threads, core memory and notes (a cache)
//! memory/, tasks/*.md           what is remembered, and tasks; people may write them too
//! logs/audit-<date>.jsonl       who was allowed what, and what came of it
//! run/lock                      held by the one daemon of the project
//! ```
//!
//! **Writing.** One thread, the writer thread, does all of it. It takes the commits that wait, writes a line for each to
//! the journal, waits once for the disk if any of them asked for it, writes the lines to the thread and outbox
//! files, and only then answers. A start replays the journal. So:
//!
//! - An answered commit is never lost: with [`Durability::Synced`](crate::ports::Durability::Synced) not by a
//!   loss of power, with `Written` not by the death of the process.
//! - After the death of the process at any instruction, a commit is there whole or not at all, and if it is
//!   there, so is every earlier one. The same holds for a `Synced` commit after a loss of power; of `Written`
//!   ones the newest may then be missing, in whole or in part.
//! - A commit that was refused left nothing behind, and the next one may succeed: a full disk is a state, not
//!   an end.
//! - A read that begins after a commit was answered sees it.
//! - Commits of one caller are written in the order of the calls, also when nobody waits for them.
//!
//! **Reading** goes through the index: a page costs the same at the end of a long thread as of a short one. Only whether
//! an old message is known, and where it begins, is looked for along the index, at 24 bytes a line. Whole lines that
//! cannot be read are skipped and reported, never rewritten; a torn last line is cut before the next is written.
//!
//! Knows the ports, the message format and the file system; nothing of turns, models or platforms.

pub mod address;
mod approval_numbers;
mod approvals;
mod archive;
mod atomic;
mod attachment_files;
mod audit;
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
mod lost_journal;
mod memory;
mod memory_items;
mod memory_notes;
mod notes;
mod outbox;
mod reader;
mod record;
mod recover;
mod search;
mod shared_file;
mod stats;
#[cfg(test)]
mod tests;
mod thread_files;
mod tool_outputs;
mod waiting;
mod writer;
mod writer_thread;

pub use approvals::FileApprovals;
pub use atomic::{probe_writable, replace_file};
pub use attachment_files::AttachmentFiles;
pub use audit::AuditLog;
pub(in crate::store) use catalog::title_of;
pub use daemon_log::{daemon_log, make_private};
pub use disk::survive_file_size_limits;
pub use history::{TAIL_BYTES, TAIL_MESSAGES};
pub use instructions::{InstructionsFile, ReadInstructions};
pub use layout::{Layout, private_dir};
pub use lock::{Holder, Lock, OpenError};
pub use memory::FileMemory;
pub use notes::FileNotes;
pub use reader::Reader;
pub use search::FileSearch;
pub use shared_file::{FileAccess, FileGrants, SharedFile};
pub use stats::Stats;
pub use thread_files::ThreadFiles;
pub use tool_outputs::ToolOutputFiles;
