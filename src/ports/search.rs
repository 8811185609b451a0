//! Search over what was said and what is remembered. The index behind it is derived: it can be deleted at any time.

use super::{BoxFuture, StoreError};
use crate::domain::{ScopeKey, ThreadId};

/// Where to search. Nothing outside is looked at, ranked or counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SearchArea {
    /// Core memory and notes of a scope.
    Memory(ScopeKey),
    /// What was said in a thread.
    Thread(ThreadId),
}

/// What to search for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    /// In the words of a person.
    pub query: String,
    pub areas: Vec<SearchArea>,
    /// Only what was said at this time or later, in milliseconds.
    pub since: Option<i64>,
    /// Only what was said before this time, in milliseconds.
    pub until: Option<i64>,
    pub limit: usize,
}

/// What kind of text a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextSource {
    Core,
    Notes,
    History,
}

impl TextSource {
    /// As programs read it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Notes => "notes",
            Self::History => "history",
        }
    }
}

/// A message or a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundText {
    pub id: String,
    /// When it was said, in milliseconds.
    pub at: i64,
    /// The name of its author; empty where nobody wrote it down.
    pub author: String,
    pub text: String,
}

/// A result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    pub found: FoundText,
    pub source: TextSource,
    /// The thread it was said in.
    pub thread: Option<ThreadId>,
    pub score: f64,
    /// What stands before it in the same file.
    pub before: Option<FoundText>,
    /// What stands after it in the same file.
    pub after: Option<FoundText>,
}

/// The best results, best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchPage {
    pub hits: Vec<SearchHit>,
    pub has_more: bool,
}

/// What an index holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexStatus {
    /// Messages and notes that can be found.
    pub texts: u64,
    /// Files they come from.
    pub files: u64,
    /// Size of the index on the disk.
    pub bytes: u64,
}

/// Search over messages, notes and core memory.
pub trait Search: Send + Sync + std::fmt::Debug {
    /// The best results inside the areas of the request. Texts written before the call are found.
    fn search(&self, request: SearchRequest) -> BoxFuture<'_, Result<SearchPage, StoreError>>;

    /// Indexes what was added to a thread. A search in that thread does it as well.
    fn follow(&self, thread: &ThreadId) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Makes the index anew from the files.
    fn rebuild(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>>;

    fn status(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>>;
}
