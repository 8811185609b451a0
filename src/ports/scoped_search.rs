//! Search inside what one turn may read: the only way from a turn to the index.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{
    Freshness, HistoryPage, HistoryPlace, HistoryRequest, Memory, Search, SearchArea, SearchHit, SearchPage,
    SearchRequest, StoreError, TextSource,
};
use crate::domain::{HistoryReach, MemoryScope, ThreadId};
use crate::uimessage::UiMessage;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchIn {
    Memory,
    History,
    #[default]
    Both,
}

/// A search of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedQuery {
    /// In the words of a person.
    pub words: String,
    pub within: SearchIn,
    /// Only what was said at this time or later, in milliseconds.
    pub since: Option<i64>,
    /// Only what was said before this time, in milliseconds.
    pub until: Option<i64>,
    pub limit: usize,
    pub freshness: Freshness,
}

/// Which messages of the turn's thread to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedHistory {
    pub keyword: Option<String>,
    pub since: Option<i64>,
    pub until: Option<i64>,
    pub place: HistoryPlace,
    pub limit: usize,
}

/// Search for one turn.
#[derive(Clone, Debug)]
pub struct ScopedSearch {
    pub search: Arc<dyn Search>,
    pub memory: Arc<dyn Memory>,
    pub thread: ThreadId,
    pub scope: MemoryScope,
    pub reach: HistoryReach,
}

impl ScopedSearch {
    /// What the turn may search: core memory and notes of its scopes, this thread, and, where the operator wants it, the
    /// other direct threads of the person.
    pub fn areas(&self, within: SearchIn) -> Vec<SearchArea> {
        let mut areas = Vec::new();
        if within != SearchIn::History {
            areas.extend(self.scope.read().iter().cloned().map(SearchArea::Memory));
        }
        if within != SearchIn::Memory {
            areas.push(SearchArea::Thread(self.thread.clone()));
            let person = self.scope.read().iter().find(|key| key.is_of_one_person());
            areas.extend(
                person
                    .filter(|_| self.reach == HistoryReach::Scope)
                    .map(|person| SearchArea::History(person.clone())),
            );
        }
        areas
    }

    pub async fn search(&self, query: ScopedQuery) -> Result<SearchPage, StoreError> {
        let ScopedQuery { words, within, since, until, limit, freshness } = query;
        let areas = self.areas(within);
        self.search.search(SearchRequest { query: words, areas, since, until, limit, freshness }).await
    }

    /// Messages of the turn's thread.
    pub async fn history(&self, history: ScopedHistory) -> Result<HistoryPage, StoreError> {
        let ScopedHistory { keyword, since, until, place, limit } = history;
        let thread = self.thread.clone();
        self.search.history(HistoryRequest { thread, keyword, since, until, place, limit }).await
    }

    /// The messages of the turn's thread that were not forgotten. Oldest first; a message without a
    /// scope, such as an answer, belongs to the one before it.
    pub async fn without_forgotten(&self, messages: Vec<UiMessage>) -> Result<Vec<UiMessage>, StoreError> {
        let forgotten = self.search.forgotten().await?;
        if forgotten.is_empty() {
            return Ok(messages);
        }
        let mut scope = self.scope.write().cloned();
        let is_kept = |message: &UiMessage| {
            if let Some(stored) = message.memory_scope().filter(|_| !message.metadata.checkpoint) {
                scope = stored.write().cloned();
            }
            let through = scope.as_ref().and_then(|scope| forgotten.get(scope));
            through.is_none_or(|through| message.metadata.timestamp.as_millis() > *through)
        };
        let mut messages = messages;
        messages.retain(is_kept);
        Ok(messages)
    }

    /// The items that no person has confirmed, of all scopes that may be read. Where memory cannot be read, none is
    /// confirmed.
    pub async fn reviews(&self) -> Reviews {
        let mut unreviewed = BTreeSet::new();
        for scope in self.scope.read() {
            match self.memory.unreviewed(scope).await {
                Ok(ids) => unreviewed.extend(ids),
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, %scope, "ledger unavailable");
                    return Reviews { unreviewed: None };
                }
            }
        }
        Reviews { unreviewed: Some(unreviewed) }
    }
}

/// Which items people have confirmed.
#[derive(Clone, Debug)]
pub struct Reviews {
    unreviewed: Option<BTreeSet<String>>,
}

impl Reviews {
    /// Whether a person said it, wrote it or agreed to it.
    pub fn covers(&self, hit: &SearchHit) -> bool {
        let confirmed = || self.unreviewed.as_ref().is_some_and(|ids| !ids.contains(&hit.found.id));
        hit.source == TextSource::History || confirmed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ChatKind, DmScope, ScopeSettings};
    use crate::store::FileMemory;
    use crate::store::FileSearch;

    fn areas(author: &str, chat: ChatKind, thread: &str, reach: HistoryReach) -> Vec<SearchArea> {
        let thread: ThreadId = thread.parse().unwrap();
        let settings = ScopeSettings { dm_scope: DmScope::PerChannelPeer, ..ScopeSettings::default() };
        let scoped = ScopedSearch {
            search: Arc::new(FileSearch::new("/nonexistent")),
            memory: Arc::new(FileMemory::new("/nonexistent")),
            scope: MemoryScope::resolve(&author.parse().unwrap(), chat, &thread, &settings),
            thread,
            reach,
        };
        scoped.areas(SearchIn::Both)
    }

    #[test]
    fn a_turn_searches_its_own_scopes_and_thread_only() {
        let told = |author, chat, thread, reach| {
            let all: Vec<String> =
                areas(author, chat, thread, reach).iter().map(|area| format!("{area:?}")).collect();
            all.join(" ")
        };
        use HistoryReach::{Scope, Thread};
        assert_eq!(
            told("web:user:7", ChatKind::Direct, "web:chat:7", Thread),
            "Memory(project) Memory(web:user:7) Thread(web:chat:7)"
        );
        assert_eq!(
            told("web:user:7", ChatKind::Direct, "web:chat:7", Scope),
            "Memory(project) Memory(web:user:7) Thread(web:chat:7) History(web:user:7)"
        );
        assert_eq!(
            told("web:user:7", ChatKind::Group, "web:chat:-1:topic:4", Scope),
            "Memory(project) Memory(group:web:chat:-1) Thread(web:chat:-1:topic:4)",
            "a group's turn reads no other thread, whatever the setting"
        );
        assert_eq!(
            told("api:user:x", ChatKind::Program, "api:chat:x", Scope),
            "Memory(project) Thread(api:chat:x)"
        );
    }
}
