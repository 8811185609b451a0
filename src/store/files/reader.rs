//! Reads threads with blocking functions. The daemon calls them on blocking threads; the command line uses them
//! directly, beside a running daemon, and then nothing is written, not even an index.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::future::ready;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::catalog::{Catalog, CatalogPage, hash_of};
use super::disk::refused;
use super::head::ParseDepth;
use super::history;
use super::index::{IndexFault, Keep, ThreadFileView};
use super::journal::{Contents, live_journals, open_threads};
use super::layout::{FileKey, Layout, Stream};
use super::lines::fnv;
use super::outbox::Outbox;
use super::summary::{SummaryRecord, summarize};
use super::writer::ChangeReport;
use crate::domain::{MessageId, ThreadId, ThreadState};
use crate::ports::{
    BoxFuture, Commit, ListPosition, StoreError, ThreadPage, ThreadQuery, ThreadRecord, ThreadStore,
    ThreadSummary,
};
use crate::uimessage::UiMessage;

/// One reader at a time updates an index; the locks are spread over this many stripes.
const STRIPES: usize = 16;

/// Most summaries that are made while a caller waits for the list; the others are made in the background.
const AT_ONCE: usize = 256;
/// How many are made in the background between two checks for a stop.
const BACKGROUND_BATCH: usize = 64;

/// Reads the threads under one `.ship` directory.
#[derive(Debug)]
pub struct Reader {
    layout: Layout,
    keep: Keep,
    stripes: [Mutex<()>; STRIPES],
    catalog: Mutex<Catalog>,
}

impl Reader {
    /// Reads without a lock and without writing anything, whether a daemon runs or not. Commits that a crashed daemon
    /// left only in its journal are not visible before the next start.
    pub fn read_only(ship_dir: &Path) -> Self {
        Self::new(Layout::new(ship_dir), Keep::AsItIs)
    }

    /// Reads for the daemon that has the lock, and keeps indexes and catalog up to date.
    pub(super) fn for_daemon(layout: Layout) -> Self {
        Self::new(layout, Keep::UpToDate)
    }

    fn new(layout: Layout, keep: Keep) -> Self {
        Self { layout, keep, stripes: Default::default(), catalog: Mutex::default() }
    }

    /// The newest messages of a thread, back to the beginning of unfinished work, and its outbox; an unknown thread is
    /// empty.
    pub fn load(&self, thread: &ThreadId) -> Result<ThreadRecord, StoreError> {
        self.load_with(thread, || self.unfinished().is_ok_and(|open| open.contains(thread)))
    }

    /// As `load`, with the writer's knowledge of unfinished work.
    pub(super) fn load_with(
        &self,
        thread: &ThreadId,
        is_open: impl Fn() -> bool,
    ) -> Result<ThreadRecord, StoreError> {
        let newest = |view: &mut ThreadFileView| history::newest(view, &is_open);
        let history::Newest { checkpoints, messages: tail, more: has_more } =
            self.ask(thread, newest)?.unwrap_or_default();
        let outbox = FileKey { thread: thread.clone(), stream: Stream::Outbox };
        let outbox = Outbox::read(&self.layout.data(&outbox))?;
        let cut_off = outbox.cut_off.into_iter().map(|(id, _)| id).collect();
        let (undelivered, dead) = (outbox.undelivered, outbox.dead.len());
        Ok(ThreadRecord { checkpoints, tail, has_more, undelivered, cut_off, dead })
    }

    /// Whether the thread has a message of this id, of any age.
    pub fn contains(&self, thread: &ThreadId, id: &MessageId) -> Result<bool, StoreError> {
        Ok(self.ask(thread, |view| history::contains(view, id))?.unwrap_or_default())
    }

    pub fn run_of(&self, thread: &ThreadId, id: &MessageId) -> Result<Vec<UiMessage>, StoreError> {
        Ok(self.ask(thread, |view| history::run_of(view, id))?.unwrap_or_default())
    }

    /// Up to `limit` messages, oldest first, that end before `before` or at the newest.
    pub fn page(
        &self,
        thread: &ThreadId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> Result<Vec<UiMessage>, StoreError> {
        Ok(self.ask(thread, |view| history::page(view, before, limit))?.unwrap_or_default())
    }

    pub fn has(&self, thread: &ThreadId) -> bool {
        self.layout.thread(thread).is_file()
    }

    /// Every thread, newest first.
    pub fn list(&self) -> Result<Vec<ThreadSummary>, StoreError> {
        Ok(self.list_read_only(&ThreadQuery::newest(usize::MAX))?.threads)
    }

    fn list_read_only(&self, query: &ThreadQuery) -> Result<ThreadPage, StoreError> {
        let open = self.unfinished()?;
        self.list_with(query, || Some(ChangeReport { changed: None, open }))
    }

    /// As `list`, with the writer's knowledge. The writer is queried while the catalog is locked: a later caller then
    /// finds the result in the catalog.
    pub(super) fn list_with(
        &self,
        query: &ThreadQuery,
        survey: impl FnOnce() -> Option<ChangeReport>,
    ) -> Result<ThreadPage, StoreError> {
        let mut catalog = held(&self.catalog);
        let (changed, open) = match survey() {
            Some(survey) => (survey.changed, survey.open),
            None => (None, BTreeSet::new()),
        };
        match changed {
            Some(changed) if catalog.is_loaded() => {
                let changed: Vec<ThreadId> = changed.into_iter().collect();
                catalog.mark_stale(changed.iter().cloned());
                self.renew(&mut catalog, &changed);
            }
            _ => catalog.load(&self.layout).map_err(|source| refused(self.layout.catalog(), source))?,
        }
        if catalog.stale() <= AT_ONCE || self.keep != Keep::UpToDate {
            let stale = catalog.some_stale(usize::MAX);
            self.renew(&mut catalog, &stale);
        }
        let chosen = catalog.choose(query);
        let unknown = catalog.stale_among(&chosen);
        self.renew(&mut catalog, &unknown);
        Ok(self.page_of(&mut catalog, &chosen, &open))
    }

    /// The summaries of the selected threads with content.
    fn page_of(&self, catalog: &mut Catalog, chosen: &CatalogPage, open: &BTreeSet<ThreadId>) -> ThreadPage {
        let mut page = ThreadPage::default();
        for (at, hash) in &chosen.threads {
            let entry = match catalog.entry(&self.layout, *hash) {
                Ok(entry) => entry,
                Err(error) => {
                    tracing::warn!(%error, "thread list damaged, read again");
                    catalog.unload();
                    return page;
                }
            };
            let Some(SummaryRecord { mut summary, .. }) = entry else { continue };
            let is_open = open.contains(&summary.thread_id);
            summary.state = if is_open { ThreadState::Running } else { ThreadState::Idle };
            page.next = chosen.more.then(|| ListPosition::Time(*at, Some(summary.thread_id.clone())));
            if summary.message_count > 0 {
                page.threads.push(summary);
            }
        }
        // A thread without a summary was selected by the time of its file.
        page.threads.sort_by_key(|summary| (Reverse(summary.updated_at), hash_of(&summary.thread_id)));
        page
    }

    /// Makes new summaries of these threads.
    fn renew(&self, catalog: &mut Catalog, threads: &[ThreadId]) {
        if threads.is_empty() {
            return;
        }
        let older = |thread: &ThreadId| catalog.entry(&self.layout, hash_of(thread)).ok().flatten();
        let fresh = self.summaries(threads, older);
        catalog.put(&self.layout, self.keep == Keep::UpToDate, threads, fresh);
    }

    fn summaries(
        &self,
        threads: &[ThreadId],
        older: impl Fn(&ThreadId) -> Option<SummaryRecord>,
    ) -> Vec<SummaryRecord> {
        let mut fresh = Vec::with_capacity(threads.len());
        for thread in threads {
            let older = older(thread);
            match self.ask(thread, |view| summarize(view, thread, older.as_ref())) {
                Ok(entry) => fresh.extend(entry),
                Err(error) => tracing::warn!(%thread, %error, "thread not listed"),
            }
        }
        fresh
    }

    /// Whether further summaries are to be made in the background.
    pub(super) fn has_backlog(&self) -> bool {
        held(&self.catalog).stale() > 0
    }

    /// Makes some of the remaining summaries. The list can be read meanwhile.
    pub(super) fn shorten_backlog(&self) {
        let (threads, older): (Vec<ThreadId>, Vec<Option<SummaryRecord>>) = {
            let catalog = held(&self.catalog);
            let threads = catalog.some_stale(BACKGROUND_BATCH);
            let older =
                threads.iter().map(|thread| catalog.entry(&self.layout, hash_of(thread)).ok().flatten());
            let older = older.collect();
            (threads, older)
        };
        let known = |thread: &ThreadId| {
            let at = threads.iter().position(|other| other == thread)?;
            older.get(at)?.clone()
        };
        let fresh = self.summaries(&threads, known);
        held(&self.catalog).put(&self.layout, self.keep == Keep::UpToDate, &threads, fresh);
    }

    /// Threads with work left, according to the journals.
    fn unfinished(&self) -> Result<BTreeSet<ThreadId>, StoreError> {
        let journals = self.layout.journals();
        let seqs = match live_journals(&self.layout) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            seqs => seqs.map_err(|source| refused(journals, source))?,
        };
        // A daemon may be removing one at this moment: its successor has the same facts.
        let contents: Vec<_> =
            seqs.iter().filter_map(|seq| Contents::read(&self.layout.journal(*seq)).ok()).collect();
        Ok(open_threads(&contents))
    }

    /// Queries a thread's file. A damaged index is removed, and the query repeated.
    fn ask<T>(
        &self,
        thread: &ThreadId,
        question: impl Fn(&mut ThreadFileView) -> Result<T, IndexFault>,
    ) -> Result<Option<T>, StoreError> {
        let once = |keep, care| -> Result<Option<T>, IndexFault> {
            let view = {
                let _turn = self.stripe(thread).map(held);
                ThreadFileView::open(&self.layout, thread, keep, care)?
            };
            view.map(|mut view| question(&mut view)).transpose()
        };
        let path = self.layout.index(thread);
        let answer = match once(self.keep, ParseDepth::Glance) {
            Err(IndexFault::Damaged) => {
                tracing::warn!(index = %path.display(), "rebuilding a damaged index");
                once(self.make_way(&path), ParseDepth::Whole)
            }
            answer => answer,
        };
        answer.map_err(|fault| match fault {
            IndexFault::Store(error) => error,
            IndexFault::Damaged => refused(self.layout.thread(thread), io::ErrorKind::InvalidData.into()),
        })
    }

    /// Removes a damaged index where that is allowed, and returns how to continue.
    fn make_way(&self, index: &Path) -> Keep {
        match self.keep {
            Keep::UpToDate if std::fs::remove_file(index).is_ok() => Keep::UpToDate,
            Keep::UpToDate | Keep::AsItIs | Keep::Ignored => Keep::Ignored,
        }
    }

    fn stripe(&self, thread: &ThreadId) -> Option<&Mutex<()>> {
        let [hash, ..] = fnv(thread.as_str().as_bytes()).to_le_bytes();
        self.stripes.get(usize::from(hash) % STRIPES)
    }
}

/// For commands beside a daemon: read-only, and on the caller's thread, which has no other work.
impl ThreadStore for Reader {
    fn load(&self, thread: &ThreadId) -> BoxFuture<'_, Result<ThreadRecord, StoreError>> {
        Box::pin(ready(self.load(thread)))
    }

    fn contains(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(ready(self.contains(thread, id)))
    }

    fn run_of(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        Box::pin(ready(self.run_of(thread, id)))
    }

    fn page(
        &self,
        thread: &ThreadId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        Box::pin(ready(self.page(thread, before, limit)))
    }

    fn commit(&self, _: Commit) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(Err(StoreError::closed())))
    }

    fn list(&self, query: ThreadQuery) -> BoxFuture<'_, Result<ThreadPage, StoreError>> {
        Box::pin(ready(self.list_read_only(&query)))
    }

    fn exists(&self, thread: &ThreadId) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(ready(Ok(self.has(thread))))
    }

    fn unfinished(&self) -> Vec<ThreadId> {
        self.unfinished().map(|open| open.into_iter().collect()).unwrap_or_default()
    }
}

/// Locks, ignoring poison: these locks guard a cache that validates itself, so a panic elsewhere is no reason to stop
/// reading.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
