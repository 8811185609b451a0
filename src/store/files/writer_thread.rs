//! The writer thread: one thread that does all the writing. Queued commits are written together, so that many threads
//! share one sync. While the journal is synced, receipts of deliveries go into it at once: a send that the platform has
//! answered is repeated after a crash until its receipt is written.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::oneshot;

use super::archive::JournalRemover;
use super::disk::{Disk, refused};
use super::layout::Layout;
use super::lock::Lock;
use super::lost_journal;
use super::recover::Recovered;
use super::stats::Stats;
use super::writer::{BatchPlan, Bounds, ChangeReport, RawCommit, Writer};
use crate::domain::ThreadId;
use crate::ports::{Durability, StoreError};

/// Most commits written together.
const MAX_BATCH: usize = 256;

/// A command to the writer thread.
#[derive(Debug)]
pub(super) enum WriterCommand {
    /// Write a commit, and confirm it with the requested durability.
    Commit(RawCommit, oneshot::Sender<Result<(), StoreError>>),
    /// Delete a thread with its history and its outbox.
    Delete(ThreadId, oneshot::Sender<Result<(), StoreError>>),
    Survey(oneshot::Sender<ChangeReport>),
    /// Report whether a thread has work left.
    IsOpen(ThreadId, oneshot::Sender<bool>),
    /// Add the unfinished threads that a scan found, and pass them on.
    Found(BTreeSet<ThreadId>, oneshot::Sender<Vec<ThreadId>>),
    /// Report that the thread is alive.
    Hello(oneshot::Sender<()>),
    /// Finish, and report when everything is written.
    Close(oneshot::Sender<()>),
    /// Finish as after a crash: the journal stays as it is.
    Abandon,
    /// The journal was synced.
    Synced(io::Result<()>),
}

/// A commit, and who waits for it.
type QueuedCommit = (RawCommit, oneshot::Sender<Result<(), StoreError>>);

impl WriterCommand {
    const fn writes(&self) -> bool {
        match self {
            Self::Commit(..) | Self::Delete(..) => true,
            Self::Survey(_)
            | Self::IsOpen(..)
            | Self::Found(..)
            | Self::Hello(_)
            | Self::Close(_)
            | Self::Abandon
            | Self::Synced(_) => false,
        }
    }
}

/// A background scan of every thread file. Dropping it stops the scan and waits for its end.
#[derive(Debug)]
pub(super) struct BackgroundScan {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundScan {
    /// Scans for unfinished threads and sends them to the writer, which passes them on to `found`.
    pub(super) fn start(
        layout: &Layout,
        commands: Sender<WriterCommand>,
        found: oneshot::Sender<Vec<ThreadId>>,
    ) -> Result<Self, StoreError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, scanned) = (Arc::clone(&stop), layout.clone());
        let thread = spawn(layout, "store-scan", move || {
            match lost_journal::scan(&scanned, || !stopped.load(Ordering::Relaxed)) {
                // A writer that has ended accepts nothing.
                Ok(Some(open)) => commands.send(WriterCommand::Found(open, found)).unwrap_or_else(drop),
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "thread files not scanned"),
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for BackgroundScan {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("thread file scan panicked");
        }
    }
}

/// Starts the writer thread. It ends, and releases the lock, on `Close` or `Abandon`.
pub(super) fn start(
    disk: Arc<dyn Disk>,
    layout: Layout,
    stats: Arc<Stats>,
    recovered: Recovered,
    lock: Lock,
    bounds: Bounds,
) -> Result<(Sender<WriterCommand>, JoinHandle<()>), StoreError> {
    let (closed, to_remove) = mpsc::channel();
    let removal = JournalRemover { disk: Arc::clone(&disk), layout: layout.clone() };
    for old in recovered.retired {
        if recovered.gap {
            removal.give_up(&old)?;
        } else {
            // The receiver is in this function, so it exists.
            closed.send(old).map_err(|_| StoreError::closed())?;
        }
    }
    let removal = spawn(&layout, "store-archive", move || removal.run(&to_remove))?;

    let mut writer = Writer::new(disk, layout.clone(), stats, recovered.journal, closed, bounds);
    writer.open = recovered.open;
    writer.scanning = recovered.scan;
    writer.touched = recovered.touched;
    let (commands, inbox) = mpsc::channel();
    let (to_sync, files) = mpsc::channel();
    let (disk, synced) = (Arc::clone(&writer.disk), commands.clone());
    let stats = Arc::clone(&writer.stats);
    let syncs = spawn(&layout, "store-sync", move || sync_files(disk.as_ref(), &stats, &files, &synced))?;
    let thread = WriterThread { writer, to_sync, syncs, backlog: VecDeque::new(), removal, lock };
    let handle = spawn(&layout, "store-writer", move || thread.run(&inbox))?;
    Ok((commands, handle))
}

/// Syncs files until there are no more, and reports each result to the writer.
fn sync_files(disk: &dyn Disk, stats: &Stats, files: &Receiver<Arc<File>>, writer: &Sender<WriterCommand>) {
    while let Ok(file) = files.recv() {
        let begun = Instant::now();
        let synced = disk.sync(&file);
        if synced.is_ok() {
            stats.count_sync(begun.elapsed());
        }
        if writer.send(WriterCommand::Synced(synced)).is_err() {
            return;
        }
    }
}

fn spawn(
    layout: &Layout,
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(body).map_err(|source| refused(layout.root(), source))
}

struct WriterThread {
    writer: Writer,
    /// Journals to be synced by `syncs`.
    to_sync: Sender<Arc<File>>,
    syncs: JoinHandle<()>,
    /// What arrived during a sync and has to wait for its end.
    backlog: VecDeque<WriterCommand>,
    removal: JoinHandle<()>,
    lock: Lock,
}

impl WriterThread {
    fn run(mut self, inbox: &Receiver<WriterCommand>) {
        self.writer.make_names_sure();
        let (mut done, mut ends) = (None, false);
        while let Some(command) = self.backlog.pop_front().or_else(|| inbox.recv().ok()) {
            let mut batch = Vec::new();
            let mut next = Some(command);
            while let Some(command) = next {
                match command {
                    WriterCommand::Commit(draft, ack) => batch.push((draft, ack)),
                    WriterCommand::Delete(thread, ack) => {
                        // Commits of the same batch came before it.
                        self.write(std::mem::take(&mut batch), inbox);
                        let deleted = self.writer.delete(&thread);
                        if let Err(error) = &deleted {
                            tracing::error!(%thread, %error, cause = %Cause(error), "deletion failed");
                        }
                        ack.send(deleted).unwrap_or_else(drop);
                    }
                    WriterCommand::Survey(answer) => answer.send(self.writer.survey()).unwrap_or_else(drop),
                    WriterCommand::IsOpen(thread, answer) => {
                        answer.send(self.writer.may_be_open(&thread)).unwrap_or_else(drop);
                    }
                    WriterCommand::Found(found, pass_on) => self.end_scan(found, pass_on),
                    WriterCommand::Hello(answer) => answer.send(()).unwrap_or_else(drop),
                    WriterCommand::Close(ack) => (done, ends) = (Some(ack), true),
                    WriterCommand::Abandon => ends = true,
                    // Each sync is awaited where it begins.
                    WriterCommand::Synced(_) => {}
                }
                let more = batch.len() < MAX_BATCH && !ends;
                next = if more { self.backlog.pop_front().or_else(|| inbox.try_recv().ok()) } else { None };
            }
            self.write(batch, inbox);
            if ends {
                break;
            }
            self.writer.tidy();
        }
        self.end(done);
    }

    /// Writes the commits together; if that fails, each by itself, so that one that cannot be written does not fail the
    /// others.
    fn write(&mut self, mut batch: Vec<QueuedCommit>, inbox: &Receiver<WriterCommand>) {
        if batch.is_empty() {
            return;
        }
        let mut together = self.write_together(&mut batch, inbox);
        let alone = batch.len() == 1;
        for (draft, ack) in batch {
            let written = match std::mem::replace(&mut together, Ok(())) {
                Ok(()) => Ok(()),
                Err(error) if alone => self.writer.write_again(error, &draft),
                Err(error) => {
                    together = Err(error);
                    self.writer.write_alone(&draft)
                }
            };
            if let Err(error) = &written {
                self.writer.stats.count_failure();
                tracing::error!(thread = %draft.thread, %error, cause = %Cause(error), "commit failed");
            }
            // The caller may be gone; the write stays.
            ack.send(written).unwrap_or_else(drop);
        }
    }

    /// Adds to the batch what may follow while the journal is synced.
    fn write_together(
        &mut self,
        batch: &mut Vec<QueuedCommit>,
        inbox: &Receiver<WriterCommand>,
    ) -> Result<(), StoreError> {
        let drafts: Vec<&RawCommit> = batch.iter().map(|(draft, _)| draft).collect();
        let mut plan = self.writer.begin(&drafts)?;
        let synced = if plan.sync { self.sync_journal(&mut plan, batch, inbox) } else { Ok(()) };
        let drafts: Vec<&RawCommit> = batch.iter().map(|(draft, _)| draft).collect();
        self.writer.end(&drafts, plan, synced)
    }

    /// Syncs the journal. Meanwhile outbox lines that need no sync are appended to it and join the batch.
    fn sync_journal(
        &mut self,
        plan: &mut BatchPlan,
        batch: &mut Vec<QueuedCommit>,
        inbox: &Receiver<WriterCommand>,
    ) -> Result<(), StoreError> {
        let disk = Arc::clone(&self.writer.disk);
        self.writer.journal.sync_name(disk.as_ref())?;
        self.to_sync.send(self.writer.journal.file()).map_err(|_| StoreError::closed())?;
        loop {
            match inbox.recv().map_err(|_| StoreError::closed())? {
                WriterCommand::Synced(synced) => {
                    return synced.map_err(|source| refused(self.writer.journal.path(), source));
                }
                WriterCommand::Commit(draft, ack) if self.may_follow(&draft) => {
                    match self.writer.follow(plan, &draft) {
                        Ok(()) => batch.push((draft, ack)),
                        Err(_) => self.backlog.push_back(WriterCommand::Commit(draft, ack)),
                    }
                }
                command => self.backlog.push_back(command),
            }
        }
    }

    /// Whether a commit has only outbox lines that need no sync, and overtakes no other commit.
    fn may_follow(&self, draft: &RawCommit) -> bool {
        draft.durability == Durability::Written
            && draft.messages.is_empty()
            && !draft.outbox.is_empty()
            && self.writer.is_sound()
            && !self.backlog.iter().any(WriterCommand::writes)
    }

    /// If the journal cannot be written, the marker stays and the next start scans again.
    fn end_scan(&mut self, found: BTreeSet<ThreadId>, pass_on: oneshot::Sender<Vec<ThreadId>>) {
        let threads: Vec<ThreadId> = found.iter().cloned().collect();
        match self.writer.end_scan(found) {
            Ok(()) => tracing::info!(unfinished = threads.len(), "thread files scanned"),
            Err(error) => tracing::warn!(%error, "scan result not written"),
        }
        pass_on.send(threads).unwrap_or_else(drop);
    }

    /// On `Close` the journal is replaced by a short one; otherwise it stays, as after a crash.
    fn end(mut self, done: Option<oneshot::Sender<()>>) {
        if done.is_some()
            && let Err(error) = self.writer.close()
        {
            tracing::warn!(%error, "journal not shortened");
        }
        drop(self.writer);
        // Ends the thread that syncs.
        drop(self.to_sync);
        if self.syncs.join().is_err() {
            tracing::error!("journal sync panicked");
        }
        if self.removal.join().is_err() {
            tracing::error!("journal removal panicked");
        }
        drop(self.lock);
        if let Some(done) = done {
            done.send(()).unwrap_or_else(drop);
        }
    }
}

/// The IO error behind an error, for the log.
struct Cause<'a>(&'a StoreError);

impl std::fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match std::error::Error::source(self.0) {
            Some(source) => write!(f, "{source}"),
            None => write!(f, "{}", self.0),
        }
    }
}
