//! The writer thread: one thread that does all the writing. Queued commits are written together, so that many threads
//! share one sync.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::archive::JournalRemover;
use super::disk::{Disk, refused};
use super::layout::Layout;
use super::lock::Lock;
use super::lost_journal;
use super::recover::Recovered;
use super::stats::Stats;
use super::writer::{Bounds, ChangeReport, SerializedCommit, Writer};
use crate::domain::ThreadId;
use crate::ports::StoreError;

/// Most commits written together.
const MAX_BATCH: usize = 256;

/// A command to the writer thread.
#[derive(Debug)]
pub(super) enum WriterCommand {
    /// Write a commit, and confirm it with the requested durability.
    Commit(SerializedCommit, oneshot::Sender<Result<(), StoreError>>),
    Survey(oneshot::Sender<ChangeReport>),
    /// Report whether a thread has work left.
    IsOpen(ThreadId, oneshot::Sender<bool>),
    /// Add the unfinished threads that a scan found, and pass them on.
    Found(BTreeSet<ThreadId>, oneshot::Sender<Vec<ThreadId>>),
    /// Report that the thread is alive.
    Hello(oneshot::Sender<()>),
    /// Finish, and report when everything is written.
    Close(oneshot::Sender<()>),
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

/// Starts the writer thread. It ends, and releases the lock, on `Close` or when all senders are gone.
pub(super) fn start(
    disk: Arc<dyn Disk>,
    layout: Layout,
    stats: Arc<Stats>,
    recovered: Recovered,
    lock: Lock,
    bounds: Bounds,
) -> Result<(Sender<WriterCommand>, JoinHandle<()>), StoreError> {
    let (retired, to_retire) = mpsc::channel();
    let retirement = JournalRemover { disk: Arc::clone(&disk), layout: layout.clone() };
    for old in recovered.retired {
        if recovered.gap {
            retirement.give_up(&old)?;
        } else {
            // The receiver is in this function, so it exists.
            retired.send(old).map_err(|_| StoreError::closed())?;
        }
    }
    let retirement = spawn(&layout, "store-archive", move || retirement.run(&to_retire))?;

    let mut writer = Writer::new(disk, layout.clone(), stats, recovered.journal, retired, bounds);
    writer.open = recovered.open;
    writer.scanning = recovered.scan;
    writer.touched = recovered.touched;
    let (commands, inbox) = mpsc::channel();
    let scribe = WriterThread { writer, retirement, lock };
    let handle = spawn(&layout, "store-scribe", move || scribe.run(&inbox))?;
    Ok((commands, handle))
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
    retirement: JoinHandle<()>,
    lock: Lock,
}

impl WriterThread {
    fn run(mut self, inbox: &Receiver<WriterCommand>) {
        self.writer.make_names_sure();
        let mut done = None;
        while let Ok(command) = inbox.recv() {
            let mut batch = Vec::new();
            let mut next = Some(command);
            while let Some(command) = next {
                match command {
                    WriterCommand::Commit(draft, ack) => batch.push((draft, ack)),
                    WriterCommand::Survey(answer) => answer.send(self.writer.survey()).unwrap_or_else(drop),
                    WriterCommand::IsOpen(thread, answer) => {
                        answer.send(self.writer.may_be_open(&thread)).unwrap_or_else(drop);
                    }
                    WriterCommand::Found(found, pass_on) => self.end_scan(found, pass_on),
                    WriterCommand::Hello(answer) => answer.send(()).unwrap_or_else(drop),
                    WriterCommand::Close(ack) => done = Some(ack),
                }
                let more = batch.len() < MAX_BATCH && done.is_none();
                next = if more { inbox.try_recv().ok() } else { None };
            }
            self.write(batch);
            if done.is_some() {
                break;
            }
            self.writer.tidy();
        }
        self.end(done);
    }

    /// Writes the commits together; if that fails, each by itself, so that one that cannot be written does not fail the
    /// others.
    fn write(&mut self, batch: Vec<(SerializedCommit, oneshot::Sender<Result<(), StoreError>>)>) {
        let drafts: Vec<&SerializedCommit> = batch.iter().map(|(draft, _)| draft).collect();
        let together = drafts.len() > 1 && self.writer.write(&drafts).is_ok();
        for (draft, ack) in batch {
            let written = if together { Ok(()) } else { self.writer.write_alone(&draft) };
            if let Err(error) = &written {
                self.writer.stats.count_failure();
                tracing::error!(thread = %draft.thread, %error, cause = %Cause(error), "commit failed");
            }
            // The caller may be gone; the write stays.
            ack.send(written).unwrap_or_else(drop);
        }
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
        if self.retirement.join().is_err() {
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
