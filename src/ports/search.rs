//! Search over what was said and what is remembered. The index behind it is derived: it can be deleted at any time.

use std::collections::{BTreeMap, BTreeSet};

use super::{BoxFuture, StoreError};
use crate::domain::{MessageId, ScopeKey, ThreadId};

/// Where to search. Nothing outside is looked at, ranked or counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SearchArea {
    /// Core memory and notes of a scope.
    Memory(ScopeKey),
    /// What was said in a thread.
    Thread(ThreadId),
    /// What was said in every thread while this scope was written down with its messages.
    History(ScopeKey),
}

/// Whether a search waits until the index has what was written before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    #[default]
    CatchUp,
    /// Only what is indexed already, and nothing where the index is missing or in use.
    AsIndexed,
}

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
    pub freshness: Freshness,
}

/// Which messages of a thread to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRequest {
    pub thread: ThreadId,
    /// Only messages with all of these words.
    pub keyword: Option<String>,
    /// Only what was said at this time or later, in milliseconds.
    pub since: Option<i64>,
    /// Only what was said before this time, in milliseconds.
    pub until: Option<i64>,
    pub place: HistoryPlace,
    pub limit: usize,
}

/// Where a list of messages ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryPlace {
    Newest,
    Before(MessageId),
    /// Has this message in its middle.
    Around(MessageId),
}

/// Messages of a thread, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryPage {
    pub messages: Vec<FoundText>,
    /// Whether there are older ones that match.
    pub has_more: bool,
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
    /// The name of its author; empty where it was not recorded.
    pub author: String,
    pub text: String,
    /// Whether the agent itself said it.
    pub by_agent: bool,
}

/// How much of a query a text covers by its own words, weighed by their rarity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coverage {
    /// From 0 to 1.
    pub share: f64,
    /// The sum of the weights; a word that one text in a hundred has weighs about 4.6.
    pub weight: f64,
}

/// A result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    pub found: FoundText,
    pub source: TextSource,
    /// The thread it was said in.
    pub thread: Option<ThreadId>,
    pub score: f64,
    /// How much of the query its own words cover.
    pub coverage: Coverage,
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

/// What following does where no search has made an index yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingIndex {
    Make,
    /// Does nothing: a project without search has no index.
    Leave,
}

/// Whether indexing has to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexed {
    UpToDate,
    /// One step was done, and more is to do.
    Partly,
}

/// Search over messages, notes and core memory.
pub trait Search: Send + Sync + std::fmt::Debug {
    /// The best results inside the areas of the request.
    fn search(&self, request: SearchRequest) -> BoxFuture<'_, Result<SearchPage, StoreError>>;

    /// Messages of a thread in the order of the file. Messages written before the call are found.
    fn history(&self, request: HistoryRequest) -> BoxFuture<'_, Result<HistoryPage, StoreError>>;

    /// The threads in which a message has all of these words. Messages written before the call are found.
    fn threads_with(&self, words: String) -> BoxFuture<'_, Result<BTreeSet<ThreadId>, StoreError>>;

    /// The threads in which a person of this name said something. Messages written before the call are found.
    fn threads_by(&self, author: String) -> BoxFuture<'_, Result<BTreeSet<ThreadId>, StoreError>>;

    /// The newest message that has all of these words, of each of these threads that has one. Only what is indexed.
    fn newest_with(
        &self,
        words: String,
        threads: Vec<ThreadId>,
    ) -> BoxFuture<'_, Result<Vec<(ThreadId, FoundText)>, StoreError>> {
        Box::pin(async move {
            let mut found = Vec::new();
            for thread in threads {
                let keyword = Some(words.clone());
                let place = HistoryPlace::Newest;
                let asked = thread.clone();
                let request =
                    HistoryRequest { thread: asked, keyword, since: None, until: None, place, limit: 1 };
                let newest = self.history(request).await?.messages.pop();
                found.extend(newest.map(|text| (thread, text)));
            }
            Ok(found)
        })
    }

    /// Indexes a bounded part of what these areas and, in a new index, all others lack.
    fn follow(
        &self,
        areas: Vec<SearchArea>,
        index: MissingIndex,
    ) -> BoxFuture<'_, Result<Indexed, StoreError>>;

    /// Removes from the index what memory of a scope has no more and, up to a time in milliseconds, what was said in the
    /// direct chats of that scope. Neither is found again, also by an index that is made anew.
    fn forget(&self, scope: &ScopeKey, said_through: Option<i64>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Until when, in milliseconds, what was said under each scope is not to be found.
    fn forgotten(&self) -> BoxFuture<'_, Result<BTreeMap<ScopeKey, i64>, StoreError>>;

    /// Resolves after a search, so that the memory that it took can be released later; never where a search takes none.
    fn used(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// Closes the index until it is needed again.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Makes the index anew from the files.
    fn rebuild(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>>;

    fn status(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>>;
}
