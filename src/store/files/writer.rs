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
use super::journal::{Append, Journal, Record, join};
use super::layout::{FileKey, Layout, Stream};
use super::lines::length;
use super::outbox::Outbox;
use super::stats::Stats;
use crate::domain::ThreadId;
use crate::ports::{Commit, Durability, StoreError, StoreErrorKind, Work};

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
pub(super) type RawCommit = Commit<Box<RawValue>, Box<RawValue>>;

/// Changes since the last query.
#[derive(Debug)]
pub(super) struct ChangeReport {
    /// Threads whose files changed; `None` where too many did, or before the first query.
    pub(super) changed: Option<BTreeSet<ThreadId>>,
    pub(super) open: BTreeSet<ThreadId>,
}

/// The writes of a batch.
#[derive(Debug, Default)]
pub(super) struct BatchPlan {
    journal: Vec<u8>,
    tails: BTreeMap<FileKey, Tail>,
    /// Whether the journal must be synced before the data files are written.
    pub(super) sync: bool,
    /// The length of the journal before.
    before: u64,
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
    pub(super) closed: Sender<ClosedJournal>,
    /// Whether the journal may no longer be appended to.
    suspect: bool,
    bounds: Bounds,
    changed: Option<BTreeSet<ThreadId>>,
    /// Outboxes that may be worth rewriting.
    grown: Vec<FileKey>,
    rollbacks: Vec<Rollback>,
}

impl Writer {
    pub(super) fn new(
        disk: Arc<dyn Disk>,
        layout: Layout,
        stats: Arc<Stats>,
        journal: Journal,
        closed: Sender<ClosedJournal>,
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
            closed,
            suspect: false,
            bounds,
            changed: None,
            grown: Vec::new(),
            rollbacks: Vec::new(),
        }
    }

    /// Syncs the names of new files and directories before a commit waits for it.
    pub(super) fn make_names_sure(&mut self) {
        if let Err(error) = self.journal.sync_name(self.disk.as_ref()) {
            tracing::warn!(%error, "directory sync failed");
        }
    }

    /// Writes commits together. On an error none of them is there.
    pub(super) fn write(&mut self, drafts: &[&RawCommit]) -> Result<(), StoreError> {
        let plan = self.begin(drafts)?;
        let synced = if plan.sync { self.journal.sync(self.disk.as_ref(), &self.stats) } else { Ok(()) };
        self.end(drafts, plan, synced)
    }

    /// Begins to write commits together: they are in the journal, which is not synced. [`Self::end`] must follow.
    pub(super) fn begin(&mut self, drafts: &[&RawCommit]) -> Result<BatchPlan, StoreError> {
        self.roll_back()?;
        if self.suspect {
            self.rotate()?;
        }
        let plan = self.plan(drafts)?;
        match self.journal.append(self.disk.as_ref(), &plan.journal) {
            Ok(()) => Ok(plan),
            Err(error) => {
                self.take_back(&plan);
                Err(error)
            }
        }
    }

    /// Adds a commit to a batch whose journal is being synced. It is in the journal at once, which is enough to survive the
    /// end of the process. On an error it is not there.
    pub(super) fn follow(&mut self, plan: &mut BatchPlan, draft: &RawCommit) -> Result<(), StoreError> {
        let key = FileKey { thread: draft.thread.clone(), stream: Stream::Outbox };
        let (from, at) = match plan.tails.get(&key) {
            Some(tail) => (tail.from, tail.from.saturating_add(length(&tail.bytes))),
            None => {
                let end = self.files.end(&key)?;
                (end, end)
            }
        };
        let outbox = Some(Append { at, lines: Cow::Borrowed(draft.outbox.as_slice()) });
        let open = draft.work == Work::Open;
        let record = Record::Commit { thread: draft.thread.clone(), open, messages: None, outbox };
        let line = record.encode().map_err(|source| refused(self.journal.path(), source))?;
        let before = self.journal.length();
        if let Err(error) = self.journal.append(self.disk.as_ref(), &line) {
            self.rollbacks.push(Rollback::Journal(before));
            return Err(error);
        }
        let tail = plan.tails.entry(key).or_insert_with(|| Tail { from, bytes: Vec::new() });
        tail.bytes.extend_from_slice(&join(&draft.outbox));
        Ok(())
    }

    /// Whether nothing has to be undone first.
    pub(super) fn is_sound(&self) -> bool {
        self.rollbacks.is_empty()
    }

    /// Ends a batch, with the result of the sync that it needs. On an error none of its commits is there.
    pub(super) fn end(
        &mut self,
        drafts: &[&RawCommit],
        plan: BatchPlan,
        synced: Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        // After a failed sync it is unknown which bytes are on the disk, and a second sync may wrongly succeed.
        self.suspect |= synced.is_err();
        let written = synced
            .and_then(|()| plan.tails.iter().try_for_each(|(key, tail)| self.files.append(key, &tail.bytes)));
        match written {
            Ok(()) => {
                self.remember(drafts, plan);
                Ok(())
            }
            Err(error) => {
                self.take_back(&plan);
                Err(error)
            }
        }
    }

    /// Writes one commit. On a full disk, replacing the journal may free space.
    pub(super) fn write_alone(&mut self, draft: &RawCommit) -> Result<(), StoreError> {
        self.write(&[draft]).or_else(|error| self.write_again(error, draft))
    }

    /// Writes a commit again that failed for a lack of space, if replacing the journal may free some.
    pub(super) fn write_again(&mut self, error: StoreError, draft: &RawCommit) -> Result<(), StoreError> {
        let may_free = self.rollbacks.is_empty() && self.journal.holds_room();
        if error.kind() != StoreErrorKind::Full || !may_free {
            return Err(error);
        }
        self.rotate()?;
        self.write(&[draft])
    }

    /// Deletes a thread. It is in the journal first, so that a later start completes a deletion that was cut off.
    pub(super) fn delete(&mut self, thread: &ThreadId) -> Result<(), StoreError> {
        self.roll_back()?;
        if self.suspect {
            self.rotate()?;
        }
        let record = Record::Delete { thread: thread.clone() };
        let line = record.encode().map_err(|source| refused(self.journal.path(), source))?;
        let before = self.journal.length();
        let noted = self.journal.append(self.disk.as_ref(), &line).and_then(|()| self.sync_journal());
        if let Err(error) = noted {
            self.take_back(&BatchPlan { before, ..BatchPlan::default() });
            return Err(error);
        }
        self.files.delete(thread)?;
        self.open.remove(thread);
        self.touched.retain(|key| key.thread != *thread);
        self.grown.retain(|key| key.thread != *thread);
        if let Some(changed) = &mut self.changed {
            changed.insert(thread.clone());
        }
        Ok(())
    }

    /// The writes of a batch.
    fn plan(&mut self, drafts: &[&RawCommit]) -> Result<BatchPlan, StoreError> {
        // The data files are written last, because none of them may contain what the journal could still lose.
        let mut plan = BatchPlan { before: self.journal.length(), ..BatchPlan::default() };
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
        draft: &'a RawCommit,
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

    fn sync_journal(&mut self) -> Result<(), StoreError> {
        let synced = self.journal.sync(self.disk.as_ref(), &self.stats);
        // After a failed sync it is unknown which bytes are on the disk, and a second sync may wrongly succeed.
        self.suspect = synced.is_err();
        synced
    }

    fn remember(&mut self, drafts: &[&RawCommit], plan: BatchPlan) {
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
    fn take_back(&mut self, plan: &BatchPlan) {
        self.rollbacks =
            plan.tails.iter().map(|(key, tail)| Rollback::Data(key.clone(), tail.from)).collect();
        self.rollbacks.push(Rollback::Journal(plan.before));
        if let Err(error) = self.roll_back() {
            tracing::error!(%error, "rollback failed; writes are suspended");
        }
    }

    fn roll_back(&mut self) -> Result<(), StoreError> {
        while let Some(rollback) = self.rollbacks.first() {
            match rollback {
                Rollback::Data(key, length) => self.files.cut(key, *length)?,
                Rollback::Journal(length) => self.journal.cut(self.disk.as_ref(), *length)?,
            }
            self.rollbacks.remove(0);
        }
        Ok(())
    }

    /// Begins a new journal and passes the old one on for removal.
    pub(super) fn rotate(&mut self) -> Result<(), StoreError> {
        let seq = self.journal.seq().saturating_add(1);
        let next = Journal::create(self.disk.as_ref(), &self.layout, seq, &self.open)?;
        let old = std::mem::replace(&mut self.journal, next);
        let closed = ClosedJournal {
            journal: old.path().to_owned(),
            successor: self.journal.path().to_owned(),
            touched: std::mem::take(&mut self.touched),
        };
        self.suspect = false;
        if self.closed.send(closed).is_err() {
            tracing::warn!(journal = %old.path().display(), "old journal stays until the next start");
        }
        Ok(())
    }

    /// Maintenance that no commit waits for.
    pub(super) fn tidy(&mut self) {
        while let (true, Some(key)) = (self.rollbacks.is_empty(), self.grown.pop()) {
            if let Err(error) = self.shrink_outbox(&key) {
                tracing::warn!(thread = %key.thread, %error, "outbox rewrite failed");
            }
        }
        if self.rollbacks.is_empty()
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
                self.take_back(&BatchPlan { before, ..BatchPlan::default() });
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
        self.roll_back()?;
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
        self.roll_back()?;
        if self.journal.has_commits() { self.rotate() } else { Ok(()) }
    }
}
