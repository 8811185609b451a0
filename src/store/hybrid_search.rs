//! Search by words and by meaning: two lists, merged by rank. Words alone where the embedding model is down, and for what a
//! turn may not wait for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{ScopeKey, ThreadId};
use crate::ports::{
    BoxFuture, Embedder, FoundText, Freshness, HistoryPage, HistoryRequest, IndexStatus, Indexed,
    MOST_EMBEDDED, MissingIndex, Search, SearchArea, SearchPage, SearchRequest, StoreError, VectorIndex,
};

/// How many results of each list are merged.
const MERGED: usize = 50;
/// The score of the first result.
const BEST_SCORE: f64 = 10.0;
/// After a failed call the model is not asked for this long.
const PAUSE: Duration = Duration::from_secs(60);

/// Removes secrets from what is sent to the model.
pub type RedactText = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Search by words and by meaning.
pub struct HybridSearch {
    words: Arc<dyn Search>,
    vectors: Arc<dyn VectorIndex>,
    embedder: Arc<dyn Embedder>,
    redact: RedactText,
    /// Until when the model is not asked, because it failed.
    paused: Mutex<Option<Instant>>,
}

impl std::fmt::Debug for HybridSearch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HybridSearch").field("embedder", &self.embedder).finish_non_exhaustive()
    }
}

impl HybridSearch {
    pub fn new(
        words: Arc<dyn Search>,
        vectors: Arc<dyn VectorIndex>,
        embedder: Arc<dyn Embedder>,
        redact: RedactText,
    ) -> Self {
        Self { words, vectors, embedder, redact, paused: Mutex::new(None) }
    }

    /// Vectors of texts; nothing where the model fails or has just failed. The failure is logged once.
    async fn embed(&self, texts: Vec<String>) -> Option<Vec<Vec<f32>>> {
        let paused = *self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        if paused.is_some_and(|until| Instant::now() < until) {
            return None;
        }
        let texts = texts.iter().map(|text| (self.redact)(text)).collect();
        let result = self.embedder.embed(texts).await;
        let mut state = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(vectors) => {
                if state.take().is_some() {
                    tracing::info!(model = self.embedder.name(), "embeddings work again");
                }
                Some(vectors)
            }
            Err(error) => {
                if state.is_none() {
                    tracing::warn!(model = self.embedder.name(), kind = ?error.kind, detail = %error.detail, "embeddings failed, searching by words alone");
                }
                *state = Some(Instant::now() + PAUSE);
                None
            }
        }
    }

    async fn found(&self, request: SearchRequest) -> Result<SearchPage, StoreError> {
        if request.freshness == Freshness::AsIndexed || request.query.trim().is_empty() {
            return self.words.search(request).await;
        }
        let deep = SearchRequest { limit: request.limit.max(MERGED), ..request.clone() };
        let by_words = self.words.search(deep.clone()).await?;
        let vector = self.embed(vec![request.query.clone()]).await.and_then(|mut all| all.pop());
        let by_meaning = match vector {
            None => SearchPage::default(),
            Some(vector) => {
                self.vectors.nearest(deep, self.embedder.name(), vector).await.unwrap_or_else(|error| {
                    tracing::warn!(error = &error as &dyn std::error::Error, "vectors not searched");
                    SearchPage::default()
                })
            }
        };
        Ok(merged(by_words, by_meaning, request.limit))
    }

    /// One batch of texts that lack a vector. Says whether there may be more.
    async fn embed_step(&self, areas: Vec<SearchArea>) -> Result<Indexed, StoreError> {
        let lacking = self.vectors.lacking(areas, self.embedder.name(), MOST_EMBEDDED).await?;
        if lacking.is_empty() {
            return Ok(Indexed::UpToDate);
        }
        let full = lacking.len() >= MOST_EMBEDDED;
        let (digests, texts): (Vec<i64>, Vec<String>) =
            lacking.into_iter().map(|one| (one.digest, one.text)).unzip();
        let Some(vectors) = self.embed(texts).await else { return Ok(Indexed::UpToDate) };
        self.vectors.put(self.embedder.name(), digests.into_iter().zip(vectors).collect()).await?;
        Ok(if full { Indexed::Partly } else { Indexed::UpToDate })
    }
}

/// Both lists by turns, each in its own order: a text that has the words is never pushed down by texts of one meaning.
fn merged(by_words: SearchPage, by_meaning: SearchPage, limit: usize) -> SearchPage {
    let has_more = by_words.has_more || by_words.hits.len() > limit;
    if by_meaning.hits.is_empty() {
        let hits = by_words.hits.into_iter().take(limit).collect();
        return SearchPage { hits, has_more };
    }
    let (mut words, mut meaning) = (by_words.hits.into_iter(), by_meaning.hits.into_iter());
    let (mut seen, mut hits) = (BTreeSet::new(), Vec::new());
    loop {
        let pair = [words.next(), meaning.next()];
        if pair.iter().all(Option::is_none) {
            break;
        }
        for hit in pair.into_iter().flatten() {
            let thread = hit.thread.as_ref().map(ToString::to_string);
            if seen.insert((thread, hit.found.id.clone(), hit.found.at)) {
                hits.push(hit);
            }
        }
    }
    let has_more = has_more || hits.len() > limit;
    // The scores of the two lists cannot be compared: the place in the common order takes their place.
    let hits = hits.into_iter().take(limit).enumerate().map(|(place, mut hit)| {
        hit.score = (BEST_SCORE / (place as f64 + 1.0) * 1_000.0).round() / 1_000.0;
        hit
    });
    SearchPage { hits: hits.collect(), has_more }
}

impl Search for HybridSearch {
    fn search(&self, request: SearchRequest) -> BoxFuture<'_, Result<SearchPage, StoreError>> {
        Box::pin(self.found(request))
    }

    fn history(&self, request: HistoryRequest) -> BoxFuture<'_, Result<HistoryPage, StoreError>> {
        self.words.history(request)
    }

    fn newest_with(
        &self,
        words: String,
        threads: Vec<ThreadId>,
    ) -> BoxFuture<'_, Result<Vec<(ThreadId, FoundText)>, StoreError>> {
        self.words.newest_with(words, threads)
    }

    fn threads_by(&self, author: String) -> BoxFuture<'_, Result<BTreeSet<ThreadId>, StoreError>> {
        self.words.threads_by(author)
    }

    fn threads_with(&self, words: String) -> BoxFuture<'_, Result<BTreeSet<ThreadId>, StoreError>> {
        self.words.threads_with(words)
    }

    fn follow(
        &self,
        areas: Vec<SearchArea>,
        index: MissingIndex,
    ) -> BoxFuture<'_, Result<Indexed, StoreError>> {
        Box::pin(async move {
            match self.words.follow(areas.clone(), index).await? {
                Indexed::Partly => Ok(Indexed::Partly),
                Indexed::UpToDate => self.embed_step(areas).await,
            }
        })
    }

    fn forget(&self, scope: &ScopeKey, said_through: Option<i64>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.words.forget(scope, said_through)
    }

    fn forgotten(&self) -> BoxFuture<'_, Result<BTreeMap<ScopeKey, i64>, StoreError>> {
        self.words.forgotten()
    }

    fn used(&self) -> BoxFuture<'_, ()> {
        self.words.used()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.words.close()
    }

    fn rebuild(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>> {
        self.words.rebuild()
    }

    fn status(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>> {
        self.words.status()
    }
}
