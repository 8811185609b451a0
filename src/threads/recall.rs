//! Quiet recall: before a turn asks the model, what people said is searched for in notes and earlier messages. A search that
//! takes too long, or fails, is done without.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::actor::Actor;
use super::jobs::Done;
use crate::domain::{MessageId, Timestamp};
use crate::ports::{
    Durability, Freshness, Reviews, ScopedQuery, ScopedSearch, SearchHit, SearchIn, TextSource,
};
use crate::turn::RecallPlan;
use crate::uimessage::{MOST_RECALLED, RecalledText, fit_recalled};

/// How long a turn waits for the search.
const DEADLINE: Duration = Duration::from_millis(150);
/// How many results are looked at; some are in the prompt anyway.
const LOOKED_AT: usize = 20;
/// How much of the rare words of the query a text must have to be recalled: a share, and a weight, so that texts with
/// nothing but everyday words are not.
const LEAST_SHARE: f64 = 0.4;
const LEAST_WEIGHT: f64 = 4.0;
/// Longest text that is recalled, in characters.
const TEXT_CHARS: usize = 1_200;

impl Actor {
    /// The search of the run in flight.
    pub(super) fn scoped_search(&self) -> ScopedSearch {
        ScopedSearch {
            search: self.runtime.search.clone(),
            memory: self.runtime.memory.clone(),
            thread: self.id.clone(),
            scope: self.conversation.memory_scope(),
            reach: self.runtime.settings().recall.reach,
        }
    }

    /// Starts the search before the first model call of a run. Says whether the call has to wait for it.
    pub(super) fn recall_first(&mut self) -> bool {
        let Some(plan) = self.conversation.to_recall().filter(|_| self.runtime.settings().recall.quiet)
        else {
            return false;
        };
        if self.recalled_for.as_ref() == Some(&plan.message) {
            return false;
        }
        self.recalled_for = Some(plan.message.clone());
        let scoped = self.scoped_search();
        let within = if plan.has_unshown { SearchIn::Both } else { SearchIn::Memory };
        // A later turn finds what the index lacks now.
        self.runtime.follower.wanted(scoped.areas(within));
        let metrics = self.runtime.metrics.clone();
        let on_panic = Done::Recalled(plan.message.clone(), Vec::new());
        let job = async move {
            let began = Instant::now();
            let found = timeout(DEADLINE, recalled(&scoped, within, &plan)).await.unwrap_or_else(|_| {
                tracing::info!("recall took too long");
                Vec::new()
            });
            metrics.recalls.count();
            metrics.recall_micros.add(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX));
            Done::Recalled(plan.message, found)
        };
        self.jobs.start_work(&self.span, job, on_panic);
        true
    }

    /// Takes in what was found, and asks the model.
    pub(super) async fn recalled(&mut self, message: &MessageId, texts: &[RecalledText]) {
        if !texts.is_empty()
            && let Some(line) = self.conversation.note_recalled(message, texts)
            && let Err(error) = self.commit(vec![line], Vec::new(), Durability::Written).await
        {
            return self.storage_failed(&error);
        }
        self.call_model().await;
    }
}

/// What is worth showing to the model, best first.
async fn recalled(scoped: &ScopedSearch, within: SearchIn, plan: &RecallPlan) -> Vec<RecalledText> {
    let query = ScopedQuery {
        words: plan.words.clone(),
        within,
        since: None,
        until: None,
        limit: LOOKED_AT,
        freshness: Freshness::AsIndexed,
    };
    let hits = match scoped.search(query).await {
        Ok(page) => page.hits,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "recall failed");
            return Vec::new();
        }
    };
    let shown = |hit: &SearchHit| {
        let here = hit.thread.as_ref() == Some(&scoped.thread);
        here && hit.found.id.parse::<MessageId>().is_ok_and(|id| plan.shown.contains(&id))
    };
    let hits: Vec<SearchHit> = hits.into_iter().filter(|hit| is_close(hit) && !shown(hit)).collect();
    if hits.is_empty() {
        return Vec::new();
    }
    let reviews = scoped.reviews().await;
    let mut texts: Vec<RecalledText> = Vec::new();
    for hit in hits.into_iter().filter(|hit| is_recallable(hit, &reviews)) {
        let text = recalled_text(hit, scoped);
        let said = text.text.trim();
        let known = plan.words.contains(said) || texts.iter().any(|other| other.text.trim() == said);
        if !known && texts.len() < MOST_RECALLED {
            texts.push(text);
        }
    }
    fit_recalled(texts)
}

/// Whether a text has enough of what was said.
fn is_close(hit: &SearchHit) -> bool {
    hit.coverage.share >= LEAST_SHARE && hit.coverage.weight >= LEAST_WEIGHT
}

/// Core memory is in the prompt already; notes that nobody has confirmed are only found by a search of the model's own.
fn is_recallable(hit: &SearchHit, reviews: &Reviews) -> bool {
    hit.source != TextSource::Core && reviews.covers(hit)
}

fn recalled_text(hit: SearchHit, scoped: &ScopedSearch) -> RecalledText {
    let SearchHit { found, source, thread, .. } = hit;
    RecalledText {
        source: source.as_str().to_owned(),
        thread: thread.filter(|thread| *thread != scoped.thread),
        at: Timestamp::from_millis(found.at),
        from: if found.by_agent { "you".to_owned() } else { found.author },
        text: found.text.chars().take(TEXT_CHARS).collect(),
        id: found.id,
    }
}
