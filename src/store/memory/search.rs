//! Search in memory: ranks every text of the areas, without an index.

use crate::domain::{ScopeKey, ThreadId};
use crate::ports::{
    BoxFuture, FoundText, IndexStatus, Search, SearchArea, SearchHit, SearchPage, SearchRequest, StoreError,
    TextSource, ThreadStore as _,
};
use crate::search::{Frequencies, Passage, Query, rank};
use crate::store::memory::{InMemoryMemory, InMemoryThreads};
use crate::uimessage::Role;

/// How much of a thread is looked at.
const MOST_MESSAGES: usize = 10_000;
/// Texts of different areas are no neighbours.
const AREA: i64 = 1 << 24;

/// Search over notes and threads.
#[derive(Debug, Default)]
pub struct InMemorySearch {
    pub(super) memory: InMemoryMemory,
    pub(super) threads: InMemoryThreads,
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
            })
            .collect()
    }

    async fn messages(&self, thread: &ThreadId) -> Result<Vec<FoundText>, StoreError> {
        let messages = self.threads.page(thread, None, MOST_MESSAGES).await?;
        let said =
            messages.into_iter().filter(|message| !message.metadata.command && message.role != Role::System);
        Ok(said
            .map(|message| FoundText {
                id: message.id.as_str().to_owned(),
                at: message.metadata.timestamp.as_millis(),
                author: message.metadata.author_name.clone().unwrap_or_default(),
                text: message.text(),
            })
            .collect())
    }

    async fn find(&self, request: SearchRequest) -> Result<SearchPage, StoreError> {
        let mut texts: Vec<(i64, SearchArea, FoundText)> = Vec::new();
        for (number, area) in (1_i64..).zip(&request.areas) {
            let found = match area {
                SearchArea::Memory(scope) => self.notes(scope),
                SearchArea::Thread(thread) => self.messages(thread).await?,
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
                    SearchArea::Memory(_) => (TextSource::Notes, None),
                    SearchArea::Thread(thread) => (TextSource::History, Some(thread.clone())),
                };
                let score = ranked.score;
                Some(SearchHit { found: found.clone(), source, thread, score, before: None, after: None })
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

    fn follow(&self, _: &ThreadId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn rebuild(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>> {
        self.status()
    }

    fn status(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>> {
        Box::pin(std::future::ready(Ok(IndexStatus::default())))
    }
}
