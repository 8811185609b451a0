//! Keeps the search index behind the commits: threads that changed are indexed a moment later, off every turn's path.
//!
//! The index remembers how far each thread is indexed, so a note that is lost costs nothing but time in a later search.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::domain::ThreadId;
use crate::memory_release::release_unused_memory;
use crate::ports::{Indexed, MissingIndex, Search, SearchArea};

/// How long after a change it is indexed: a turn writes several times, and its own work comes first.
const SETTLE: Duration = Duration::from_millis(500);
/// After this time without a change or a search the memory that searches took is returned to the system.
const CALM: Duration = Duration::from_secs(2);
/// After this time without a change or a search the index is closed.
const REST: Duration = Duration::from_secs(60);
/// Notes that may wait.
const QUEUE: usize = 256;
/// Areas that may wait; further ones are caught up with when they are searched.
const MOST_AREAS: usize = 1024;
/// Areas that are indexed in one step.
const BATCH: usize = 16;

/// A note to the follower.
#[derive(Debug)]
enum FollowerMsg {
    Changed(ThreadId),
    /// These areas are to be indexed, also where there is no index yet.
    Wanted(Vec<SearchArea>),
}

/// Tells the follower what changed. Never waits.
#[derive(Clone, Debug)]
pub struct SearchFollowerHandle {
    notes: mpsc::Sender<FollowerMsg>,
}

impl SearchFollowerHandle {
    /// A thread has new lines.
    pub fn changed(&self, thread: &ThreadId) {
        self.tell(FollowerMsg::Changed(thread.clone()));
    }

    /// A later search of these areas should not have to wait.
    pub fn wanted(&self, areas: Vec<SearchArea>) {
        self.tell(FollowerMsg::Wanted(areas));
    }

    fn tell(&self, note: FollowerMsg) {
        if self.notes.try_send(note).is_err() {
            tracing::debug!("search follower note dropped");
        }
    }
}

/// The task that indexes.
#[derive(Debug)]
pub struct SearchFollower {
    search: Arc<dyn Search>,
    notes: mpsc::Receiver<FollowerMsg>,
    pending: BTreeSet<SearchArea>,
    missing: MissingIndex,
}

impl SearchFollower {
    pub fn new(search: Arc<dyn Search>) -> (Self, SearchFollowerHandle) {
        let (sender, notes) = mpsc::channel(QUEUE);
        let pending = BTreeSet::new();
        let follower = Self { search, notes, pending, missing: MissingIndex::Leave };
        (follower, SearchFollowerHandle { notes: sender })
    }

    /// Indexes until it is stopped.
    pub async fn run(mut self, stop: CancellationToken) {
        // What the start of the daemon took is returned as well.
        let (mut due, mut calm_at, mut rests_at) = (None, Some(Instant::now() + CALM), None);
        let search = self.search.clone();
        loop {
            let work_at: Option<Instant> = due;
            let release_at: Option<Instant> = calm_at;
            let rest_at: Option<Instant> = rests_at;
            tokio::select! {
                () = stop.cancelled() => return,
                note = self.notes.recv() => {
                    let Some(note) = note else { return };
                    self.take(note);
                    due.get_or_insert_with(|| Instant::now() + SETTLE);
                    (calm_at, rests_at) = (Some(Instant::now() + CALM), Some(Instant::now() + REST));
                }
                () = search.used() => {
                    (calm_at, rests_at) = (Some(Instant::now() + CALM), Some(Instant::now() + REST));
                }
                () = sleep_until(work_at), if work_at.is_some() => {
                    let goes_on = self.step().await;
                    due = goes_on.then(Instant::now);
                    (calm_at, rests_at) = (Some(Instant::now() + CALM), Some(Instant::now() + REST));
                }
                () = sleep_until(release_at), if release_at.is_some() && work_at.is_none() => {
                    calm_at = None;
                    if tokio::task::spawn_blocking(release_unused_memory).await.is_err() {
                        tracing::warn!("returning memory to the system failed");
                    }
                }
                () = sleep_until(rest_at), if rest_at.is_some() && work_at.is_none() => {
                    rests_at = None;
                    self.search.close().await;
                }
            }
        }
    }

    fn take(&mut self, note: FollowerMsg) {
        let areas = match note {
            FollowerMsg::Changed(thread) => vec![SearchArea::Thread(thread)],
            FollowerMsg::Wanted(areas) => {
                self.missing = MissingIndex::Make;
                areas
            }
        };
        let room = MOST_AREAS.saturating_sub(self.pending.len());
        self.pending.extend(areas.into_iter().take(room));
    }

    /// One bounded step. Says whether there is more to do.
    async fn step(&mut self) -> bool {
        let batch: Vec<SearchArea> = self.pending.iter().take(BATCH).cloned().collect();
        match self.search.follow(batch.clone(), self.missing).await {
            Ok(Indexed::Partly) => return true,
            Ok(Indexed::UpToDate) => self.missing = MissingIndex::Leave,
            // A later search tries again, and tells people where it fails.
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "search index not updated");
            }
        }
        for area in &batch {
            self.pending.remove(area);
        }
        !self.pending.is_empty()
    }
}

async fn sleep_until(at: Option<Instant>) {
    tokio::time::sleep_until(at.unwrap_or_else(Instant::now)).await;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use tokio::sync::Notify;
    use tokio::task::JoinSet;

    use super::*;
    use crate::domain::ScopeKey;
    use crate::ports::{
        BoxFuture, HistoryPage, HistoryRequest, IndexStatus, SearchPage, SearchRequest, StoreError,
    };

    /// Records what it was told; each call takes a while and needs two steps.
    #[derive(Debug, Default)]
    struct RecordingSearch {
        calls: Mutex<Vec<String>>,
        searched: Notify,
        fails: bool,
    }

    impl RecordingSearch {
        fn told(&self) -> Vec<String> {
            std::mem::take(&mut self.calls.lock().unwrap())
        }
    }

    impl Search for RecordingSearch {
        fn search(&self, _: SearchRequest) -> BoxFuture<'_, Result<SearchPage, StoreError>> {
            Box::pin(std::future::ready(Ok(SearchPage::default())))
        }

        fn history(&self, _: HistoryRequest) -> BoxFuture<'_, Result<HistoryPage, StoreError>> {
            Box::pin(std::future::ready(Ok(HistoryPage::default())))
        }

        fn threads_by(&self, _: String) -> BoxFuture<'_, Result<BTreeSet<ThreadId>, StoreError>> {
            Box::pin(std::future::ready(Ok(BTreeSet::new())))
        }

        fn threads_with(&self, _: String) -> BoxFuture<'_, Result<BTreeSet<ThreadId>, StoreError>> {
            Box::pin(std::future::ready(Ok(BTreeSet::new())))
        }

        fn follow(
            &self,
            areas: Vec<SearchArea>,
            index: MissingIndex,
        ) -> BoxFuture<'_, Result<Indexed, StoreError>> {
            let line = format!("{index:?} {}", areas.len());
            Box::pin(async move {
                tokio::time::sleep(Duration::from_secs(5)).await;
                let mut calls = self.calls.lock().unwrap();
                let again = calls.last() != Some(&line);
                calls.push(line);
                match (self.fails, again) {
                    (true, _) => Err(StoreError::closed()),
                    (false, true) => Ok(Indexed::Partly),
                    (false, false) => Ok(Indexed::UpToDate),
                }
            })
        }

        fn forget(&self, _: &ScopeKey, _: Option<i64>) -> BoxFuture<'_, Result<(), StoreError>> {
            Box::pin(std::future::ready(Ok(())))
        }

        fn forgotten(&self) -> BoxFuture<'_, Result<BTreeMap<ScopeKey, i64>, StoreError>> {
            Box::pin(std::future::ready(Ok(BTreeMap::new())))
        }

        fn used(&self) -> BoxFuture<'_, ()> {
            Box::pin(self.searched.notified())
        }

        fn close(&self) -> BoxFuture<'_, ()> {
            self.calls.lock().unwrap().push("close".to_owned());
            Box::pin(std::future::ready(()))
        }

        fn rebuild(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>> {
            self.status()
        }

        fn status(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>> {
            Box::pin(std::future::ready(Ok(IndexStatus::default())))
        }
    }

    fn thread(number: usize) -> ThreadId {
        format!("web:chat:{number}").parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn changes_are_indexed_together_a_moment_later_and_the_index_is_closed_when_nothing_happens() {
        let search = Arc::new(RecordingSearch::default());
        let (follower, handle) = SearchFollower::new(search.clone());
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(follower.run(stop.clone()));
        for number in [1, 2, 1, 2, 3] {
            handle.changed(&thread(number));
        }
        tokio::time::sleep(SETTLE + Duration::from_secs(11)).await;
        assert_eq!(search.told(), ["Leave 3", "Leave 3"]);
        handle.wanted(vec![SearchArea::Thread(thread(1))]);
        tokio::time::sleep(REST * 2).await;
        assert_eq!(search.told(), ["Make 1", "Make 1", "close"]);
        stop.cancel();
        tasks.join_next().await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_index_that_was_only_searched_is_closed_as_well() {
        let search = Arc::new(RecordingSearch::default());
        let (follower, _handle) = SearchFollower::new(search.clone());
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(follower.run(stop.clone()));
        for _ in 0..2 {
            search.searched.notify_one();
            tokio::time::sleep(REST / 2).await;
            assert!(search.told().is_empty());
        }
        tokio::time::sleep(REST).await;
        assert_eq!(search.told(), ["close"]);
        stop.cancel();
        tasks.join_next().await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_of_notes_neither_waits_nor_grows_without_bound() {
        let search = Arc::new(RecordingSearch { fails: true, ..RecordingSearch::default() });
        let (follower, handle) = SearchFollower::new(search.clone());
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(follower.run(stop.clone()));
        for number in 0..100_000 {
            handle.changed(&thread(number));
        }
        tokio::time::sleep(REST * 20).await;
        let told = search.told();
        assert!(told.len() <= MOST_AREAS / BATCH + 1, "{}", told.len());
        assert_eq!(
            told.last().map(String::as_str),
            Some("close"),
            "an index that fails is not tried for ever"
        );
        stop.cancel();
        tasks.join_next().await.unwrap().unwrap();
    }
}
