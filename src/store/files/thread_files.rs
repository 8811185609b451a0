//! The daemon's thread store: the port over the writer thread and the reader.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::{Semaphore, oneshot};

use super::disk::{Disk, SystemDisk, refused};
use super::layout::Layout;
use super::lock::{Lock, OpenError};
use super::reader::Reader;
use super::recover::recover;
use super::stats::Stats;
use super::writer::{Bounds, RawCommit};
use super::writer_thread::{self, BackgroundScan, WriterCommand};
use crate::domain::{MessageId, ThreadId};
use crate::ports::{
    BoxFuture, Commit, StoreError, StoreTotals, ThreadPage, ThreadQuery, ThreadRecord, ThreadStore,
};
use crate::uimessage::UiMessage;

/// Most concurrent reads; each uses a blocking thread.
const MAX_READS: usize = 8;

/// The threads of one project, on its disk.
#[derive(Debug)]
pub struct ThreadFiles {
    layout: Layout,
    reader: Arc<Reader>,
    reads: Arc<Semaphore>,
    commands: Option<Sender<WriterCommand>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    stats: Arc<Stats>,
    unfinished: Vec<ThreadId>,
    /// The scan for further ones, and its results.
    scan: Option<BackgroundScan>,
    found: Mutex<Option<oneshot::Receiver<Vec<ThreadId>>>>,
    summaries: Arc<Mutex<SummaryWork>>,
}

/// The background work on the list of threads.
#[derive(Debug, Default)]
struct SummaryWork {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SummaryWork {
    /// Makes the remaining summaries, unless a thread is already doing that.
    fn start(&mut self, reader: &Arc<Reader>) {
        let busy = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        if busy || self.stop.load(Ordering::Relaxed) {
            return;
        }
        let (reader, stop) = (Arc::clone(reader), Arc::clone(&self.stop));
        let work = move || {
            while !stop.load(Ordering::Relaxed) && reader.has_backlog() {
                reader.shorten_backlog();
            }
        };
        match std::thread::Builder::new().name("store-list".to_owned()).spawn(work) {
            Ok(thread) => self.thread = Some(thread),
            Err(error) => tracing::warn!(%error, "no thread for the thread list"),
        }
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("thread list update panicked");
        }
    }
}

impl ThreadFiles {
    /// Takes the lock, replays the journal, and starts the writer thread. Missing directories are created. Blocks for a
    /// few milliseconds.
    pub fn open(ship_dir: &Path) -> Result<Self, OpenError> {
        Self::open_on(Arc::new(SystemDisk), ship_dir, Bounds::default())
    }

    pub(super) fn open_on(disk: Arc<dyn Disk>, ship_dir: &Path, bounds: Bounds) -> Result<Self, OpenError> {
        let layout = Layout::new(ship_dir);
        layout.create()?;
        let lock = Lock::acquire(&layout)?;
        let recovered = recover(disk.as_ref(), &layout)?;
        let unfinished = recovered.open.iter().cloned().collect();
        let needs_scan = recovered.scan;
        let stats = Arc::new(Stats::default());
        let (commands, writer) =
            writer_thread::start(disk, layout.clone(), Arc::clone(&stats), recovered, lock, bounds)?;
        let (pass_on, found) = oneshot::channel();
        let scan =
            if needs_scan { Some(BackgroundScan::start(&layout, commands.clone(), pass_on)?) } else { None };
        Ok(Self {
            reader: Arc::new(Reader::for_daemon(layout.clone())),
            layout,
            reads: Arc::new(Semaphore::new(MAX_READS)),
            commands: Some(commands),
            writer: Mutex::new(Some(writer)),
            stats,
            unfinished,
            scan,
            found: Mutex::new(needs_scan.then_some(found)),
            summaries: Arc::default(),
        })
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub fn stats(&self) -> Arc<Stats> {
        Arc::clone(&self.stats)
    }

    fn tell(&self, command: WriterCommand) -> Result<(), StoreError> {
        let commands = self.commands.as_ref().ok_or_else(StoreError::closed)?;
        commands.send(command).map_err(|_| StoreError::closed())
    }

    /// Runs a read on a blocking thread.
    fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Arc<Reader>) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        self.boxed_read(Box::new(question))
    }

    /// Takes a box, so that the code of the task exists once for each result, not once for each caller.
    fn boxed_read<T: Send + 'static>(
        &self,
        question: BoxedQuestion<T>,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let (reader, reads) = (Arc::clone(&self.reader), Arc::clone(&self.reads));
        Box::pin(async move {
            let permit = reads.acquire_owned().await.map_err(|_| StoreError::closed())?;
            let answer = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                question(&reader)
            });
            answer.await.map_err(|_| StoreError::closed())?
        })
    }
}

/// A read.
type BoxedQuestion<T> = Box<dyn FnOnce(&Arc<Reader>) -> Result<T, StoreError> + Send>;

impl Drop for ThreadFiles {
    /// Waits for the writer thread, so that the lock is free and no write follows when the store is gone.
    fn drop(&mut self) {
        self.scan = None;
        locked(&self.summaries).end();
        if let Some(commands) = self.commands.take() {
            // A writer that has ended accepts nothing.
            commands.send(WriterCommand::Abandon).unwrap_or_else(drop);
        }
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if writer.is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("store writer panicked");
        }
    }
}

impl ThreadStore for ThreadFiles {
    fn load(&self, thread: &ThreadId) -> BoxFuture<'_, Result<ThreadRecord, StoreError>> {
        let (thread, commands) = (thread.clone(), self.commands.clone());
        self.read(move |reader| {
            reader.load_with(&thread, || {
                let (answer, is_open) = oneshot::channel();
                let asked =
                    commands.as_ref().map(|to| to.send(WriterCommand::IsOpen(thread.clone(), answer)));
                // Without an answer the read is longer than needed, but correct.
                !matches!(asked, Some(Ok(()))) || is_open.blocking_recv().unwrap_or(true)
            })
        })
    }

    fn contains(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let (thread, id) = (thread.clone(), id.clone());
        self.read(move |reader| reader.contains(&thread, &id))
    }

    fn run_of(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        let (thread, id) = (thread.clone(), id.clone());
        self.read(move |reader| reader.run_of(&thread, &id))
    }

    fn page(
        &self,
        thread: &ThreadId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        let (thread, before) = (thread.clone(), before.cloned());
        self.read(move |reader| reader.page(&thread, before.as_ref(), limit))
    }

    /// Queued at the call, not at the first poll: the order is that of the calls, and a caller that stops waiting does
    /// not revoke the commit.
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<(), StoreError>> {
        let (ack, done) = oneshot::channel();
        let handed =
            draft(&self.layout, commit).and_then(|draft| self.tell(WriterCommand::Commit(draft, ack)));
        Box::pin(async move {
            handed?;
            done.await.map_err(|_| StoreError::closed())?
        })
    }

    fn delete(&self, thread: &ThreadId) -> BoxFuture<'_, Result<(), StoreError>> {
        let (ack, done) = oneshot::channel();
        let handed = self.tell(WriterCommand::Delete(thread.clone(), ack));
        Box::pin(async move {
            handed?;
            done.await.map_err(|_| StoreError::closed())?
        })
    }

    fn list(&self, query: ThreadQuery) -> BoxFuture<'_, Result<ThreadPage, StoreError>> {
        let (commands, work) = (self.commands.clone(), Arc::clone(&self.summaries));
        self.read(move |reader| {
            let page = reader.list_with(&query, || {
                let (answer, survey) = oneshot::channel();
                commands?.send(WriterCommand::Survey(answer)).ok()?;
                survey.blocking_recv().ok()
            });
            if reader.has_backlog() {
                locked(&work).start(reader);
            }
            page
        })
    }

    fn exists(&self, thread: &ThreadId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let thread = thread.clone();
        self.read(move |reader| Ok(reader.has(&thread)))
    }

    fn unfinished(&self) -> Vec<ThreadId> {
        self.unfinished.clone()
    }

    fn found_unfinished(&self) -> BoxFuture<'_, Vec<ThreadId>> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            match found {
                Some(found) => found.await.unwrap_or_default(),
                None => Vec::new(),
            }
        })
    }

    fn answers(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let (answer, heard) = oneshot::channel();
            self.tell(WriterCommand::Hello(answer)).is_ok() && heard.await.is_ok()
        })
    }

    /// Leaves a small journal and releases the lock.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let work = Arc::clone(&self.summaries);
            let ended = tokio::task::spawn_blocking(move || locked(&work).end());
            if ended.await.is_err() {
                tracing::error!("thread list update panicked");
            }
            let (ack, done) = oneshot::channel();
            if self.tell(WriterCommand::Close(ack)).is_ok() && done.await.is_err() {
                tracing::error!("store writer ended early");
            }
        })
    }

    fn totals(&self) -> StoreTotals {
        StoreTotals {
            commits: self.stats.commits(),
            failures: self.stats.failures(),
            syncs: self.stats.syncs(),
            sync_time: Duration::from_micros(self.stats.sync_micros_total()),
        }
    }
}

fn locked(work: &Mutex<SummaryWork>) -> std::sync::MutexGuard<'_, SummaryWork> {
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serializes the lines of a commit on the caller's thread, to relieve the writer thread.
fn draft(layout: &Layout, commit: Commit) -> Result<RawCommit, StoreError> {
    let raw = |lines: Result<Vec<Box<RawValue>>, serde_json::Error>| {
        lines.map_err(|error| refused(layout.thread(&commit.thread), error.into()))
    };
    let messages = raw(commit.messages.iter().map(to_raw_value).collect())?;
    let outbox = raw(commit.outbox.iter().map(to_raw_value).collect())?;
    let Commit { thread, durability, work, .. } = commit;
    Ok(Commit { thread, messages, outbox, durability, work })
}
