//! Writes batches of commits: journal first, then the data files, all or nothing. Runs on the writer thread; knows no
//! channels or futures.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use serde_json::value::RawValue;

use super::archive::ClosedJournal;
use super::data_files::DataFiles;
use super::disk::{Disk, refused};
use super::journal::Journal;
use super::layout::{FileKey, Layout, Stream};
use super::lines::length;
use super::outbox::Outbox;
use super::record::{Append, Record, join};
use super::stats::Stats;
use crate::domain::ThreadId;
use crate::ports::{Durability, StoreError, StoreErrorKind, Work};

/// Above this number the changed threads are no longer tracked one by one.
const MAX_CHANGED: usize = 4096;

/// Sizes at which files are replaced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// A journal that grew by this much is replaced by a new one.
    pub(super) journal: u64,
    /// An outbox of this size is rewritten without settled deliveries.
    pub(super) outbox: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { journal: 4 * 1024 * 1024, outbox: 64 * 1024 }
    }
}

/// A commit with serialized lines.
#[derive(Debug)]
pub(super) struct SerializedCommit {
    pub(super) thread: ThreadId,
    pub(super) messages: Vec<Box<RawValue>>,
    pub(super) outbox: Vec<Box<RawValue>>,
    pub(super) durability: Durability,
    pub(super) work: Work,
}

/// Changes since the last query.
#[derive(Debug)]
pub(super) struct ChangeReport {
    /// Threads whose files changed; `None` where too many did, or before the first query.
    pub(super) changed: Option<BTreeSet<ThreadId>>,
    pub(super) open: BTreeSet<ThreadId>,
}

/// The writes of a batch.
#[derive(Debug, Default)]
struct BatchPlan {
    journal: Vec<u8>,
    tails: BTreeMap<FileKey, Tail>,
    sync: bool,
}

/// What is appended to one file.
#[derive(Debug)]
struct Tail {
    from: u64,
    bytes: Vec<u8>,
}

impl Tail {
    /// Tested instead of the size, so that an outbox that cannot shrink is not read again and again.
    fn passes_a_multiple_of(&self, bytes: u64) -> bool {
        self.from / bytes != self.from.saturating_add(length(&self.bytes)) / bytes
    }
}

/// A write that must be undone before anything else is written.
#[derive(Debug)]
enum Rollback {
    Data(FileKey, u64),
    Journal(u64),
}

#[derive(Debug)]
pub(super) struct Writer {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) layout: Layout,
    pub(super) stats: Arc<Stats>,
    pub(super) journal: Journal,
    pub(super) files: DataFiles,
    pub(super) open: BTreeSet<ThreadId>,
    /// Whether `open` may lack threads, because the scan for them has not ended.
    pub(super) scanning: bool,
    /// Files with content from the journal.
    pub(super) touched: BTreeSet<FileKey>,
    /// Receives old journals for removal.
    pub(super) retired: Sender<ClosedJournal>,
    /// Whether the journal may no longer be appended to.
    suspect: bool,
    bounds: Bounds,
    changed: Option<BTreeSet<ThreadId>>,
    /// Outboxes that may be worth rewriting.
    grown: Vec<FileKey>,
    debts: Vec<Rollback>,
}

impl Writer {
    pub(super) fn new(
        disk: Arc<dyn Disk>,
        layout: Layout,
        stats: Arc<Stats>,
        journal: Journal,
        retired: Sender<ClosedJournal>,
        bounds: Bounds,
    ) -> Self {
        let files = DataFiles::new(Arc::clone(&disk), layout.clone());
        Self {
            disk,
            layout,
            stats,
            journal,
            files,
            open: BTreeSet::new(),
            scanning: false,
            touched: BTreeSet::new(),
            retired,
            suspect: false,
            bounds,
            changed: None,
            grown: Vec::new(),
            debts: Vec::new(),
        }
    }

    /// Syncs the names of new files and directories before a commit waits for it.
    pub(super) fn make_names_sure(&mut self) {
        if let Err(error) = self.journal.sync_name(self.disk.as_ref()) {
            tracing::warn!(%error, "directory sync failed");
        }
    }

    /// Writes commits together. On an error none of them is there.
    pub(super) fn write(&mut self, drafts: &[&SerializedCommit]) -> Result<(), StoreError> {
        self.pay_debts()?;
        if self.suspect {
            self.rotate()?;
        }
        let plan = self.plan(drafts)?;
        let before = self.journal.length();
        match self.execute(&plan) {
            Ok(()) => {
                self.remember(drafts, plan);
                Ok(())
            }
            Err(error) => {
                self.take_back(&plan, before);
                Err(error)
            }
        }
    }

    /// Writes one commit. On a full disk, replacing the journal may free space.
    pub(super) fn write_alone(&mut self, draft: &SerializedCommit) -> Result<(), StoreError> {
        match self.write(&[draft]) {
            Err(error)
                if error.kind() == StoreErrorKind::Full
                    && self.debts.is_empty()
                    && self.journal.holds_room() =>
            {
                self.rotate()?;
                self.write(&[draft])
            }
            done => done,
        }
    }

    /// The writes of a batch.
    fn plan(&mut self, drafts: &[&SerializedCommit]) -> Result<BatchPlan, StoreError> {
        let mut plan = BatchPlan::default();
        for draft in drafts {
            let messages = self.extend(&mut plan, draft, Stream::Thread)?;
            let outbox = self.extend(&mut plan, draft, Stream::Outbox)?;
            let open = draft.work == Work::Open;
            let record = Record::Commit { thread: draft.thread.clone(), open, messages, outbox };
            let line = record.encode().map_err(|source| refused(self.journal.path(), source))?;
            plan.journal.extend_from_slice(&line);
            plan.sync |= draft.durability == Durability::Synced;
        }
        Ok(plan)
    }

    fn extend<'a>(
        &mut self,
        plan: &mut BatchPlan,
        draft: &'a SerializedCommit,
        stream: Stream,
    ) -> Result<Option<Append<'a>>, StoreError> {
        let lines = match stream {
            Stream::Thread => &draft.messages,
            Stream::Outbox => &draft.outbox,
        };
        if lines.is_empty() {
            return Ok(None);
        }
        let key = FileKey { thread: draft.thread.clone(), stream };
        if !plan.tails.contains_key(&key) {
            let from = self.files.end(&key)?;
            plan.tails.insert(key.clone(), Tail { from, bytes: Vec::new() });
        }
        let Some(tail) = plan.tails.get_mut(&key) else { return Ok(None) };
        let at = tail.from.saturating_add(length(&tail.bytes));
        tail.bytes.extend_from_slice(&join(lines));
        Ok(Some(Append { at, lines: Cow::Borrowed(lines) }))
    }

    /// Writes in this order, because no data file may contain what the journal could still lose.
    fn execute(&mut self, plan: &BatchPlan) -> Result<(), StoreError> {
        self.journal.append(self.disk.as_ref(), &plan.journal)?;
        if plan.sync {
            self.sync_journal()?;
        }
        for (key, tail) in &plan.tails {
            self.files.append(key, &tail.bytes)?;
        }
        Ok(())
    }

    fn sync_journal(&mut self) -> Result<(), StoreError> {
        let synced = self.journal.sync(self.disk.as_ref(), &self.stats);
        // After a failed sync it is unknown which bytes are on the disk, and a second sync may wrongly succeed.
        self.suspect = synced.is_err();
        synced
    }

    fn remember(&mut self, drafts: &[&SerializedCommit], plan: BatchPlan) {
        self.stats.count_batch(drafts.len());
        for draft in drafts {
            match draft.work {
                Work::Open => self.open.insert(draft.thread.clone()),
                Work::Settled => self.open.remove(&draft.thread),
            };
        }
        for (key, tail) in plan.tails {
            match (key.stream, &mut self.changed) {
                (Stream::Thread, Some(changed)) => {
                    changed.insert(key.thread.clone());
                }
                (Stream::Outbox, _) if tail.passes_a_multiple_of(self.bounds.outbox) => {
                    self.grown.push(key.clone())
                }
                _ => {}
            }
            self.touched.insert(key);
        }
        if self.changed.as_ref().is_some_and(|changed| changed.len() > MAX_CHANGED) {
            self.changed = None;
        }
    }

    /// Undoes data first, then the journal: if the process ends in between, the next start finds the commits complete
    /// in the journal, and not half of them in the files.
    fn take_back(&mut self, plan: &BatchPlan, journal_length: u64) {
        self.debts = plan.tails.iter().map(|(key, tail)| Rollback::Data(key.clone(), tail.from)).collect();
        self.debts.push(Rollback::Journal(journal_length));
        if let Err(error) = self.pay_debts() {
            tracing::error!(%error, "rollback failed; writes are suspended");
        }
    }

    fn pay_debts(&mut self) -> Result<(), StoreError> {
        while let Some(debt) = self.debts.first() {
            match debt {
                Rollback::Data(key, length) => self.files.cut(key, *length)?,
                Rollback::Journal(length) => self.journal.cut(self.disk.as_ref(), *length)?,
            }
            self.debts.remove(0);
        }
        Ok(())
    }

    /// Begins a new journal and passes the old one on for removal.
    pub(super) fn rotate(&mut self) -> Result<(), StoreError> {
        let seq = self.journal.seq().saturating_add(1);
        let next = Journal::create(self.disk.as_ref(), &self.layout, seq, &self.open)?;
        let old = std::mem::replace(&mut self.journal, next);
        let retired = ClosedJournal {
            journal: old.path().to_owned(),
            successor: self.journal.path().to_owned(),
            touched: std::mem::take(&mut self.touched),
        };
        self.suspect = false;
        if self.retired.send(retired).is_err() {
            tracing::warn!(journal = %old.path().display(), "old journal stays until the next start");
        }
        Ok(())
    }

    /// Maintenance that no commit waits for.
    pub(super) fn tidy(&mut self) {
        while let (true, Some(key)) = (self.debts.is_empty(), self.grown.pop()) {
            if let Err(error) = self.shrink_outbox(&key) {
                tracing::warn!(thread = %key.thread, %error, "outbox rewrite failed");
            }
        }
        if self.debts.is_empty()
            && self.journal.is_full(self.bounds.journal)
            && let Err(error) = self.rotate()
        {
            tracing::warn!(%error, "journal rotation failed; the old journal grows");
        }
    }

    fn shrink_outbox(&mut self, key: &FileKey) -> Result<(), StoreError> {
        let end = self.files.end(key)?;
        let path = self.layout.data(key);
        let lines = Outbox::read(&path)?.lines().map_err(|error| refused(&path, error.into()))?;
        let bytes = join(&lines);
        if length(&bytes) > end / 2 {
            return Ok(());
        }
        let outbox = Append { at: 0, lines: Cow::Owned(lines) };
        let record = Record::Rewrite { thread: key.thread.clone(), outbox };
        let line = record.encode().map_err(|source| refused(&path, source))?;
        let before = self.journal.length();
        let rewritten = self
            .journal
            .append(self.disk.as_ref(), &line)
            .and_then(|()| self.sync_journal())
            .and_then(|()| self.files.replace(key, &bytes));
        match rewritten {
            Ok(()) => self.touched.insert(key.clone()),
            Err(error) => {
                self.take_back(&BatchPlan::default(), before);
                return Err(error);
            }
        };
        Ok(())
    }

    /// Whether a thread may have work left.
    pub(super) fn may_be_open(&self, thread: &ThreadId) -> bool {
        self.scanning || self.open.contains(thread)
    }

    /// Adds the results of the scan. The marker is removed once a journal has them.
    pub(super) fn end_scan(&mut self, found: BTreeSet<ThreadId>) -> Result<(), StoreError> {
        self.open.extend(found);
        self.pay_debts()?;
        self.rotate()?;
        self.sync_journal()?;
        self.scanning = false;
        let marker = self.layout.scan_marker();
        self.disk.remove(&marker).map_err(|source| refused(marker, source))
    }

    /// The changes since the last query.
    pub(super) fn survey(&mut self) -> ChangeReport {
        ChangeReport { changed: self.changed.replace(BTreeSet::new()), open: self.open.clone() }
    }

    /// Leaves a journal with only the unfinished work.
    pub(super) fn close(&mut self) -> Result<(), StoreError> {
        self.pay_debts()?;
        if self.journal.has_commits() { self.rotate() } else { Ok(()) }
    }
}
