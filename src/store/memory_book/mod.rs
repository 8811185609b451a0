//! Core memory, notes and the ledger of their changes, over files that are on the disk or, for tests, in memory.
//!
//! ```text
//! memory/project.md, main.md, users/*.md, groups/*.md   core memory, one file per scope
//! memory/notes/<scope>/<yyyy-mm>.md                     notes
//! memory/ledger.jsonl                                   one line per change
//! ```
//!
//! A change is a ledger line, synced, and then a replaced file, both under a lock that other processes honour. Each line
//! names the version of the file before and after it. So a start finds a line without its change, and a change without a
//! line: the first is completed, the second was made by hand and is noted.

mod book;
mod changes;
mod completion;
mod erasure;
mod files;
mod hand_edits;
mod ledger;
mod notes;
mod planning;
#[cfg(test)]
mod tests;

pub(super) use book::MemoryBook;
pub(super) use files::{FileFacts, HeldFiles, MemoryFiles};
