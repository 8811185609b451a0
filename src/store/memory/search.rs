//! Search in memory: ranks every text of the areas, without an index.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::{MessageId, ScopeKey, ThreadId};
use crate::ports::{
    BoxFuture, Coverage, FoundText, HistoryPage, HistoryPlace, HistoryRequest, IndexStatus, Indexed,
    MissingIndex, Search, SearchArea, SearchHit, SearchPage, SearchRequest, StoreError, TextSource,
    ThreadQuery, ThreadStore as _,
};
use crate::search::{Frequencies, Passage, Query, Ranked, rank};
use crate::store::memory::{InMemoryMemory, InMemoryThreads};
use crate::uimessage::Role;

/// How much of a thread is looked at.
const MOST_MESSAGES: usize = 10_000;
/// Texts of different areas are no neighbours.
const AREA: i64 = 1 << 24;

/// Until when what was said under a scope is not found.
pub(super) type ForgottenScopes = Arc<Mutex<BTreeMap<ScopeKey, i64>>>;

/// Search over notes and threads.
#[derive(Debug, Default)]
pub struct InMemorySearch {
    pub(super) memory: InMemoryMemory,
    pub(super) threads: InMemoryThreads,
    pub(super) forgotten: ForgottenScopes,
}

impl InMemorySearch {
    fn notes(&self, scope: &ScopeKey) -> Vec<FoundText> {
        let notes = self.memory.notes_of(scope).into_iter();
        notes
            .map(|note| FoundText {
                id: note.handle(),
                at: note.at.unwrap_or_default(),
                author: note.author.unwrap_or_default(),
                text: note.text,
                by_agent: false,
            })
            .collect()
    }

    async fn messages(&self, thread: &ThreadId) -> Result<Vec<FoundText>, StoreError> {
        let mut messages = self.threads.page(thread, None, MOST_MESSAGES).await?;
        let forgotten = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut scope = None;
        messages.retain(|message| {
            if let Some(stored) = message.memory_scope().filter(|_| !message.metadata.checkpoint) {
                scope = stored.write().cloned();
            }
            let through = scope.as_ref().and_then(|scope| forgotten.get(scope));
            through.is_none_or(|through| message.metadata.timestamp.as_millis() > *through)
        });
        let said =
            messages.into_iter().filter(|message| !message.metadata.command && message.role != Role::System);
        Ok(said
            .map(|message| FoundText {
                id: message.id.as_str().to_owned(),
                at: message.metadata.timestamp.as_millis(),
                author: message.metadata.author_name.clone().unwrap_or_default(),
                text: message.text(),
                by_agent: message.role == Role::Assistant,
            })
            .collect())
    }

    async fn list(&self, request: HistoryRequest) -> Result<HistoryPage, StoreError> {
        let keyword = request.keyword.unwrap_or_default().to_lowercase();
        let all = self.messages(&request.thread).await?;
        let at_id = |id: &MessageId| all.iter().position(|text| text.id == id.as_str()).unwrap_or(0);
        let end = match &request.place {
            HistoryPlace::Newest => all.len(),
            HistoryPlace::Before(id) => at_id(id),
            HistoryPlace::Around(id) => at_id(id).saturating_add(request.limit.div_ceil(2)).min(all.len()),
        };
        let wanted = |text: &&FoundText| {
            text.text.to_lowercase().contains(&keyword)
                && request.since.is_none_or(|since| text.at >= since)
                && request.until.is_none_or(|until| text.at < until)
        };
        let mut messages: Vec<FoundText> = all.iter().take(end).filter(wanted).cloned().collect();
        let older = messages.len().saturating_sub(request.limit);
        messages.drain(..older);
        Ok(HistoryPage { messages, has_more: older > 0 })
    }

    async fn find(&self, request: SearchRequest) -> Result<SearchPage, StoreError> {
        let mut texts: Vec<(i64, SearchArea, FoundText)> = Vec::new();
        for (number, area) in (1_i64..).zip(&request.areas) {
            let found = match area {
                SearchArea::Memory(scope) => self.notes(scope),
                SearchArea::Thread(thread) => self.messages(thread).await?,
                SearchArea::History(_) => Vec::new(),
            };
            texts.extend(
                (number.saturating_mul(AREA)..).zip(found).map(|(key, text)| (key, area.clone(), text)),
            );
        }
        let query = Query::read(&request.query);
        let passage = |(key, _, text): &(i64, SearchArea, FoundText)| Passage {
            key: *key,
            at: text.at,
            author: text.author.clone(),
            text: text.text.clone(),
        };
        let passages: Vec<Passage> = texts.iter().map(passage).collect();
        let frequencies =
            Frequencies { passages: passages.len() as u64, with_term: vec![1; query.terms().len()] };
        let wanted = |at: i64| {
            request.since.is_none_or(|since| at >= since) && request.until.is_none_or(|until| at < until)
        };
        let hits: Vec<SearchHit> = rank(&query, &passages, &frequencies)
            .into_iter()
            .filter_map(|ranked| {
                let (_, area, found) = texts.get(ranked.index).filter(|(_, _, text)| wanted(text.at))?;
                let (source, thread) = match area {
                    SearchArea::Memory(_) | SearchArea::History(_) => (TextSource::Notes, None),
                    SearchArea::Thread(thread) => (TextSource::History, Some(thread.clone())),
                };
                let Ranked { score, own_share: share, own_weight: weight, .. } = ranked;
                let coverage = Coverage { share, weight };
                let found = found.clone();
                Some(SearchHit { found, source, thread, score, coverage, before: None, after: None })
            })
            .collect();
        let has_more = hits.len() > request.limit;
        Ok(SearchPage { hits: hits.into_iter().take(request.limit).collect(), has_more })
    }
}

impl Search for InMemorySearch {
    fn search(&self, request: SearchRequest) -> BoxFuture<'_, Result<SearchPage, StoreError>> {
        Box::pin(self.find(request))
    }

    fn history(&self, request: HistoryRequest) -> BoxFuture<'_, Result<HistoryPage, StoreError>> {
        Box::pin(self.list(request))
    }

    fn threads_by(&self, author: String) -> BoxFuture<'_, Result<BTreeSet<ThreadId>, StoreError>> {
        Box::pin(async move {
            let mut found = BTreeSet::new();
            for summary in self.threads.list(ThreadQuery::newest(usize::MAX)).await?.threads {
                let texts = self.messages(&summary.thread_id).await?;
                if texts.iter().any(|text| text.author.eq_ignore_ascii_case(&author)) {
                    found.insert(summary.thread_id);
                }
            }
            Ok(found)
        })
    }

    fn threads_with(&self, words: String) -> BoxFuture<'_, Result<BTreeSet<ThreadId>, StoreError>> {
        Box::pin(async move {
            let mut found = BTreeSet::new();
            for summary in self.threads.list(ThreadQuery::newest(usize::MAX)).await?.threads {
                let texts = self.messages(&summary.thread_id).await?;
                let has = |word: &str| texts.iter().any(|text| text.text.to_lowercase().contains(word));
                if words.to_lowercase().split_whitespace().all(has) {
                    found.insert(summary.thread_id);
                }
            }
            Ok(found)
        })
    }

    fn follow(&self, _: Vec<SearchArea>, _: MissingIndex) -> BoxFuture<'_, Result<Indexed, StoreError>> {
        Box::pin(std::future::ready(Ok(Indexed::UpToDate)))
    }

    fn forget(&self, scope: &ScopeKey, said_through: Option<i64>) -> BoxFuture<'_, Result<(), StoreError>> {
        if let Some(through) = said_through {
            let mut forgotten = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
            forgotten.insert(scope.clone(), through);
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn forgotten(&self) -> BoxFuture<'_, Result<BTreeMap<ScopeKey, i64>, StoreError>> {
        let forgotten = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(std::future::ready(Ok(forgotten)))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn rebuild(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>> {
        self.status()
    }

    fn status(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>> {
        Box::pin(std::future::ready(Ok(IndexStatus::default())))
    }
}
