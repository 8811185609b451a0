//! The search port over the index file: opened when it is first needed, replaced when it is gone or damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use rusqlite::Connection;
use tokio::sync::Notify;

use super::super::layout::Layout;
use super::database::{Database, DatabaseError, Opened};
use super::filling::{Filling, areas_with_files, filling, set_filling};
use super::finding::{find, find_nearest, rows_of};
use super::forgotten::Forgotten;
use super::listing::{list, newest_with, threads_by, threads_with};
use super::memory_texts::{is_memory_current, update_memory};
use super::thread_texts::{update_all_threads, update_history, update_thread};
use super::vectors::{lacking, put};
use super::writing::StepBudget;
use crate::domain::{ScopeKey, ThreadId};
use crate::ports::{
    BoxFuture, FoundText, Freshness, HistoryPage, HistoryRequest, IndexStatus, Indexed, MissingIndex, Search,
    SearchArea, SearchPage, SearchRequest, StoreError, Unembedded, VectorIndex,
};

/// Search over the files of one project. Clones share the open index.
#[derive(Clone, Debug)]
pub struct FileSearch {
    layout: Layout,
    database: Arc<Mutex<Option<Database>>>,
    searched: Arc<Notify>,
}

impl FileSearch {
    /// Search under this `.ship` directory. Touches nothing.
    pub fn new(ship_dir: impl Into<PathBuf>) -> Self {
        Self { layout: Layout::new(ship_dir), database: Arc::default(), searched: Arc::default() }
    }

    fn path(&self) -> PathBuf {
        self.layout.state().join("search.sqlite")
    }

    fn held(&self) -> MutexGuard<'_, Option<Database>> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn exists(&self) -> bool {
        self.path().exists()
    }

    /// Does something with the index.
    fn with<T>(&self, work: impl Fn(&Connection) -> Result<T, DatabaseError>) -> Result<T, StoreError> {
        self.with_held(&mut self.held(), work)
    }

    /// Does something with the index. A file that turns out damaged, or was deleted meanwhile, is replaced once, and the
    /// work is done again on the new one.
    fn with_held<T>(
        &self,
        held: &mut Option<Database>,
        work: impl Fn(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        let path = self.path();
        let first = current(held, &path).and_then(&work);
        let done = match first {
            Err(error) if error.is_damage() => {
                tracing::warn!(index = %path.display(), %error, "search index damaged, made anew");
                *held = None;
                Database::replace(&path).and_then(|(database, _)| work(&held.insert(database).connection))
            }
            done => done,
        };
        if done.is_err() {
            *held = None;
        }
        done.map_err(|error| failed(&path, error))
    }

    /// Brings an area up to date, as far as the budget goes.
    fn update(
        &self,
        connection: &Connection,
        area: &SearchArea,
        budget: &mut StepBudget,
    ) -> Result<(), DatabaseError> {
        match area {
            SearchArea::Memory(scope) => update_memory(connection, &self.layout, scope, budget),
            SearchArea::Thread(thread) => update_thread(connection, &self.layout, thread, budget),
            SearchArea::History(scope) => update_history(connection, &self.layout, scope, budget),
        }
    }

    /// One step towards an index that has everything of these areas.
    fn step(&self, connection: &Connection, areas: &[SearchArea]) -> Result<Indexed, DatabaseError> {
        Forgotten::read(&self.layout)?.apply(connection)?;
        let mut budget = StepBudget::step();
        for area in areas {
            self.update(connection, area, &mut budget)?;
            if budget.is_spent() {
                return Ok(Indexed::Partly);
            }
        }
        Ok(Indexed::UpToDate)
    }

    /// Does something with an index that has everything of these areas. The index is free between the steps towards it; work
    /// that nobody waits for any more is given up there.
    fn with_all_of<T>(
        &self,
        areas: &[SearchArea],
        caller: &Caller,
        work: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        loop {
            let done = self.with(|connection| match self.step(connection, areas)? {
                Indexed::Partly => Ok(None),
                Indexed::UpToDate => Ok(Some(work(connection)?)),
            })?;
            match done {
                Some(done) => return Ok(done),
                None if caller.is_gone() => return Err(StoreError::closed()),
                None => {}
            }
        }
    }

    /// Does something with an index that has the messages of every thread.
    fn with_all_threads<T>(
        &self,
        caller: &Caller,
        work: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        loop {
            let done = self.with(|connection| {
                Forgotten::read(&self.layout)?.apply(connection)?;
                let mut budget = StepBudget::step();
                update_all_threads(connection, &self.layout, &mut budget)?;
                if budget.is_spent() { Ok(None) } else { Ok(Some(work(connection)?)) }
            })?;
            match done {
                Some(done) => return Ok(done),
                None if caller.is_gone() => return Err(StoreError::closed()),
                None => {}
            }
        }
    }

    fn found(&self, request: &SearchRequest, caller: &Caller) -> Result<SearchPage, StoreError> {
        if request.freshness == Freshness::CatchUp {
            return self.with_all_of(&request.areas, caller, |connection| find(connection, request));
        }
        let mut held = match self.database.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(held)) => held.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(SearchPage::default()),
        };
        if !self.exists() {
            return Ok(SearchPage::default());
        }
        self.with_held(&mut held, |connection| {
            // What was forgotten or corrected since is not found in its old words.
            Forgotten::read(&self.layout)?.apply(connection)?;
            let mut current = request.clone();
            let mut areas = Vec::new();
            for area in current.areas.drain(..) {
                let stale = match &area {
                    SearchArea::Memory(scope) => !is_memory_current(connection, &self.layout, scope)?,
                    SearchArea::Thread(_) | SearchArea::History(_) => false,
                };
                areas.extend((!stale).then_some(area));
            }
            current.areas = areas;
            Ok(find(connection, &current)?)
        })
    }

    fn listed(&self, request: &HistoryRequest, caller: &Caller) -> Result<HistoryPage, StoreError> {
        let area = SearchArea::Thread(request.thread.clone());
        self.with_all_of(&[area], caller, |connection| list(connection, request))
    }

    /// One step of following: first the areas that changed, then, in a new index, all that have files.
    fn follow_step(&self, areas: &[SearchArea], index: MissingIndex) -> Result<Indexed, StoreError> {
        let mut held = self.held();
        let may_make = index == MissingIndex::Make && areas.iter().any(|area| self.has_texts(area));
        if held.is_none() && !self.exists() && !may_make {
            return Ok(Indexed::UpToDate);
        }
        self.with_held(&mut held, |connection| match self.step(connection, areas)? {
            Indexed::Partly => Ok(Indexed::Partly),
            Indexed::UpToDate => self.fill_step(connection),
        })
    }

    /// Whether an area has something that only a search finds. Core memory alone needs no index: it is in each prompt.
    fn has_texts(&self, area: &SearchArea) -> bool {
        match area {
            SearchArea::Memory(scope) => self.layout.root().join(scope.notes_folder()).exists(),
            SearchArea::Thread(thread) => self.layout.thread(thread).exists(),
            SearchArea::History(_) => false,
        }
    }

    fn fill_step(&self, connection: &Connection) -> Result<Indexed, DatabaseError> {
        let Filling::Through(mut through) = filling(connection)? else { return Ok(Indexed::UpToDate) };
        let areas = areas_with_files(&self.layout);
        let mut budget = StepBudget::step();
        for (key, area) in &areas {
            if *key <= through {
                continue;
            }
            self.update(connection, area, &mut budget)?;
            if budget.is_spent() {
                set_filling(connection, &Filling::Through(through))?;
                return Ok(Indexed::Partly);
            }
            through.clone_from(key);
        }
        set_filling(connection, &Filling::Whole)?;
        Ok(Indexed::UpToDate)
    }

    /// Writes down what is forgotten, and removes it from the index where there is one.
    fn forget(&self, scope: &ScopeKey, said_through: Option<i64>) -> Result<(), StoreError> {
        let path = self.path();
        if let Some(through) = said_through {
            Forgotten::add(&self.layout, scope, through).map_err(|error| failed(&path, error.into()))?;
        }
        while self.follow_step(&[SearchArea::Memory(scope.clone())], MissingIndex::Leave)? == Indexed::Partly
        {
        }
        Ok(())
    }

    fn rebuilt(&self, caller: &Caller) -> Result<IndexStatus, StoreError> {
        let path = self.path();
        {
            let mut held = self.held();
            *held = None;
            let (database, _) = Database::replace(&path).map_err(|error| failed(&path, error))?;
            *held = Some(database);
        }
        while self.follow_step(&[], MissingIndex::Leave)? == Indexed::Partly {
            if caller.is_gone() {
                return Err(StoreError::closed());
            }
        }
        self.counted()
    }

    fn counted(&self) -> Result<IndexStatus, StoreError> {
        let path = self.path();
        self.with(|connection| {
            let count =
                |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
            Ok(IndexStatus {
                texts: count("SELECT count(*) FROM doc")?,
                files: count("SELECT count(*) FROM file")?,
                bytes: std::fs::metadata(&path)?.len(),
            })
        })
    }

    /// Searches off the runtime's threads.
    fn reading<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self, &Caller) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let done = self.off_runtime(work);
        Box::pin(async move {
            let done = done.await;
            self.searched.notify_one();
            done
        })
    }

    /// Runs work on the index off the runtime's threads. It learns when the future was dropped.
    fn off_runtime<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self, &Caller) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        self.boxed_off_runtime(Box::new(work))
    }

    /// Takes a box, so that the code of the task exists once for each result, not once for each caller.
    fn boxed_off_runtime<T: Send + 'static>(
        &self,
        work: BoxedWork<T>,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let own = self.clone();
        Box::pin(async move {
            let waiting = Arc::new(());
            let caller = Caller(Arc::downgrade(&waiting));
            let done = tokio::task::spawn_blocking(move || work(&own, &caller)).await;
            drop(waiting);
            done.map_err(|_| StoreError::closed())?
        })
    }
}

/// Work on the index.
type BoxedWork<T> = Box<dyn FnOnce(&FileSearch, &Caller) -> Result<T, StoreError> + Send>;

/// The future that waits for work on the index.
#[derive(Debug)]
struct Caller(Weak<()>);

impl Caller {
    fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}

/// The open index, opened anew where the file is another one by now.
fn current<'a>(held: &'a mut Option<Database>, path: &Path) -> Result<&'a Connection, DatabaseError> {
    if held.as_ref().is_some_and(|database| !database.is_current()) {
        *held = None;
    }
    if held.is_none() {
        let (database, opened) = Database::open(path)?;
        if opened == Opened::Replaced {
            tracing::warn!(index = %path.display(), "search index was not usable, made anew");
        }
        *held = Some(database);
    }
    match held {
        Some(database) => Ok(&database.connection),
        None => Err(DatabaseError::Version),
    }
}

impl Search for FileSearch {
    fn search(&self, request: SearchRequest) -> BoxFuture<'_, Result<SearchPage, StoreError>> {
        self.reading(move |own, caller| own.found(&request, caller))
    }

    fn history(&self, request: HistoryRequest) -> BoxFuture<'_, Result<HistoryPage, StoreError>> {
        self.reading(move |own, caller| own.listed(&request, caller))
    }

    fn threads_with(&self, words: String) -> BoxFuture<'_, Result<BTreeSet<ThreadId>, StoreError>> {
        self.reading(move |own, caller| {
            own.with_all_threads(caller, |connection| threads_with(connection, &words))
        })
    }

    fn threads_by(&self, author: String) -> BoxFuture<'_, Result<BTreeSet<ThreadId>, StoreError>> {
        self.reading(move |own, caller| {
            own.with_all_threads(caller, |connection| threads_by(connection, &author))
        })
    }

    fn newest_with(
        &self,
        words: String,
        threads: Vec<ThreadId>,
    ) -> BoxFuture<'_, Result<Vec<(ThreadId, FoundText)>, StoreError>> {
        self.reading(move |own, _| own.with(|connection| Ok(newest_with(connection, &words, &threads)?)))
    }

    fn follow(
        &self,
        areas: Vec<SearchArea>,
        index: MissingIndex,
    ) -> BoxFuture<'_, Result<Indexed, StoreError>> {
        self.off_runtime(move |own, _| own.follow_step(&areas, index))
    }

    fn forget(&self, scope: &ScopeKey, said_through: Option<i64>) -> BoxFuture<'_, Result<(), StoreError>> {
        let scope = scope.clone();
        self.off_runtime(move |own, _| own.forget(&scope, said_through))
    }

    fn forgotten(&self) -> BoxFuture<'_, Result<BTreeMap<ScopeKey, i64>, StoreError>> {
        self.off_runtime(|own, _| {
            let read = Forgotten::read(&own.layout).map_err(|error| failed(&own.path(), error.into()))?;
            Ok(read.into_times())
        })
    }

    fn used(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.searched.notified())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        let closed = self.off_runtime(|own, _| {
            *own.held() = None;
            Ok(())
        });
        Box::pin(async move { closed.await.unwrap_or_default() })
    }

    fn rebuild(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>> {
        self.off_runtime(Self::rebuilt)
    }

    fn status(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>> {
        self.off_runtime(|own, _| own.counted())
    }
}

impl VectorIndex for FileSearch {
    fn lacking(
        &self,
        areas: Vec<SearchArea>,
        model: &str,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Unembedded>, StoreError>> {
        let model = model.to_owned();
        self.off_runtime(move |own, _| {
            if !own.exists() {
                return Ok(Vec::new());
            }
            own.with(|connection| Ok(lacking(connection, &rows_of(connection, &areas)?, &model, limit)?))
        })
    }

    fn put(&self, model: &str, vectors: Vec<(i64, Vec<f32>)>) -> BoxFuture<'_, Result<(), StoreError>> {
        let model = model.to_owned();
        self.off_runtime(move |own, _| own.with(|connection| put(connection, &model, &vectors)))
    }

    fn nearest(
        &self,
        request: SearchRequest,
        model: &str,
        vector: Vec<f32>,
    ) -> BoxFuture<'_, Result<SearchPage, StoreError>> {
        let model = model.to_owned();
        self.off_runtime(move |own, _| {
            own.with(|connection| Ok(find_nearest(connection, &request, &model, &vector)?))
        })
    }
}

fn failed(path: &Path, error: DatabaseError) -> StoreError {
    let source = match error {
        DatabaseError::Io(source) => source,
        other => std::io::Error::other(other),
    };
    super::super::disk::refused(path, source)
}
