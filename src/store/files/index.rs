//! A thread file with its index: the offset of each line and the message it belongs to, without reading the file.
//!
//! The index is a cache. It may be missing, outdated, or damaged: lines it does not cover are read from the thread
//! file, and an index that does not match is rebuilt. Two different ids of one hash (one pair in 2^64) would be treated
//! as one message in lists; `contains` reads the line itself.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::disk::refused;
use super::head::{Head, HeadParser, ParseDepth};
use super::index_record::{ByHash, LineRecord, RECORD_BYTES, RecordKind, id_hash, run_hash};
use super::layout::{Layout, private_file};
use super::lines::{JsonlReader, fnv, length, to_u64};
use crate::domain::ThreadId;
use crate::ports::StoreError;
use crate::uimessage::{Role, UiMessage};

/// An index this far behind is updated on the disk; a smaller gap is read again.
pub(super) const LAG_BYTES: u64 = 64 * 1024;
/// Records read at once: about 64 KiB.
const CHUNK: u64 = 2730;
const MAGIC: [u8; 8] = *b"shipidx1";

/// What may be done to the index on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    UpToDate,
    /// Use it, write nothing.
    AsItIs,
    /// Do not use it.
    Ignored,
}

/// Why a query through the index failed.
#[derive(Debug)]
pub(super) enum IndexFault {
    /// The index does not match the file.
    Damaged,
    /// The file cannot be read.
    Store(StoreError),
}

/// A thread file at one moment.
#[derive(Debug)]
pub(super) struct ThreadFileView {
    path: PathBuf,
    data: File,
    thread: ThreadId,
    /// The index on the disk, and how many of its records are valid.
    kept: Option<(File, u64)>,
    /// Records of the lines after those.
    fresh: Vec<LineRecord>,
    /// Whether the kinds of the fresh records are known.
    resolved: bool,
}

impl ThreadFileView {
    /// Opens a thread's file; `None` where there is none.
    pub(super) fn open(
        layout: &Layout,
        thread: &ThreadId,
        keep: Keep,
        care: ParseDepth,
    ) -> Result<Option<Self>, IndexFault> {
        let path = layout.thread(thread);
        let at = layout.index(thread);
        // The index first: should lines be removed in between, this index is removed with them.
        let index = match keep {
            Keep::Ignored => None,
            Keep::AsItIs => File::open(&at).ok(),
            Keep::UpToDate => private_file().read(true).write(true).open(&at).ok(),
        };
        let data = match File::open(&path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(IndexFault::Store(refused(path, source))),
        };
        let thread = thread.clone();
        let mut view = Self { path, data, thread, kept: None, fresh: Vec::new(), resolved: false };
        view.catch_up(index, care).map_err(|source| view.fault(source))?;
        if keep == Keep::UpToDate && view.lag() >= LAG_BYTES {
            view.resolve()?;
            if let Err(error) = view.keep(&at) {
                tracing::warn!(index = %at.display(), %error, "index update failed");
            }
        }
        Ok(Some(view))
    }

    /// Loads the valid part of the index and reads the lines after it.
    fn catch_up(&mut self, index: Option<File>, care: ParseDepth) -> io::Result<()> {
        let mut from = 0;
        if let Some(index) = index
            && let Some((count, end)) = self.check(&index)?
        {
            self.kept = Some((index, count));
            from = end;
        }
        let mut looker = HeadParser::new(care, &self.thread);
        let mut lines = JsonlReader::from(self.data.try_clone()?, from)?;
        while let Some((offset, line)) = lines.next_line()? {
            let record = describe(&mut looker, offset, line);
            if record.kind == RecordKind::Void && line != b"\n" {
                tracing::warn!(path = %self.path.display(), offset, "unreadable line skipped");
            }
            self.fresh.push(record);
        }
        Ok(())
    }

    /// How many records are valid and where the last of their lines ends, if they belong to this file.
    fn check(&self, index: &File) -> io::Result<Option<(u64, u64)>> {
        let size = index.metadata()?.len();
        let Some(count) = (size / to_u64(RECORD_BYTES)).checked_sub(1) else { return Ok(None) };
        let mut found = [0; RECORD_BYTES];
        index.read_exact_at(&mut found, 0)?;
        if found != self.header()? {
            return Ok(None);
        }
        if count == 0 {
            return Ok(Some((0, 0)));
        }
        index.read_exact_at(&mut found, place(count.saturating_sub(1)))?;
        let Some(last) = LineRecord::from_bytes(&found) else { return Ok(None) };
        if last.end() > self.data.metadata()?.len() {
            return Ok(None);
        }
        let line = self.bytes(&last)?;
        let mut looker = HeadParser::new(ParseDepth::Whole, &self.thread);
        let fits = line.ends_with(b"\n") && describe(&mut looker, last.offset, &line).id == last.id;
        Ok(fits.then(|| (count, last.end())))
    }

    fn header(&self) -> io::Result<[u8; RECORD_BYTES]> {
        let mut header = [0; RECORD_BYTES];
        let name = fnv(self.thread.as_str().as_bytes()).to_le_bytes();
        let inode = self.data.metadata()?.ino().to_le_bytes();
        for (slot, byte) in header.iter_mut().zip(MAGIC.into_iter().chain(name).chain(inode)) {
            *slot = byte;
        }
        Ok(header)
    }

    fn lag(&self) -> u64 {
        let ends = (self.fresh.first(), self.fresh.last());
        if let (Some(first), Some(last)) = ends { last.end().saturating_sub(first.offset) } else { 0 }
    }

    /// Appends the fresh records to the valid ones. An invalid index is replaced rather than overwritten, because
    /// another reader may have it open.
    fn keep(&self, at: &Path) -> io::Result<()> {
        let bytes: Vec<u8> = self.fresh.iter().flat_map(|record| record.to_bytes()).collect();
        if let Some((index, count)) = &self.kept {
            return index.write_all_at(&bytes, place(*count));
        }
        match std::fs::remove_file(at) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let index = private_file().write(true).create_new(true).open(at)?;
        index.write_all_at(&bytes, place(0))?;
        index.write_all_at(&self.header()?, 0)
    }

    /// Determines which fresh lines are the first of their message.
    pub(super) fn resolve(&mut self) -> Result<(), IndexFault> {
        if self.resolved {
            return Ok(());
        }
        let readable = self.fresh.iter().filter(|record| record.kind != RecordKind::Void);
        let mut speakers: ByHash<Option<Role>> = readable.map(|record| (record.id, None)).collect();
        let known = if speakers.is_empty() { 0 } else { self.kept_count() };
        self.visit(0, known, |_, record| {
            if record.kind == RecordKind::First
                && let Some(speaker) = speakers.get_mut(&record.id)
            {
                *speaker = Some(record.role);
            }
            ControlFlow::Continue(())
        })?;
        for record in self.fresh.iter_mut().filter(|record| record.kind != RecordKind::Void) {
            let speaker = speakers.entry(record.id).or_default();
            record.kind = match speaker {
                None => RecordKind::First,
                Some(role) if *role == record.role => RecordKind::Later,
                Some(_) => RecordKind::Void,
            };
            speaker.get_or_insert(record.role);
        }
        self.resolved = true;
        Ok(())
    }

    fn kept_count(&self) -> u64 {
        self.kept.as_ref().map_or(0, |(_, count)| *count)
    }

    /// The number of lines.
    pub(super) fn count(&self) -> u64 {
        self.kept_count().saturating_add(to_u64(self.fresh.len()))
    }

    /// The end offset of the last line.
    pub(super) fn covered(&self) -> Result<u64, IndexFault> {
        let mut end = 0;
        self.visit_back(self.count(), |_, record| {
            end = record.end();
            ControlFlow::Break(())
        })?;
        Ok(end)
    }

    /// Visits the records of the lines `from..to`, first to last.
    pub(super) fn visit(
        &self,
        from: u64,
        to: u64,
        mut visit: impl FnMut(u64, LineRecord) -> ControlFlow<()>,
    ) -> Result<(), IndexFault> {
        let kept = self.kept_count();
        let mut buffer = Vec::new();
        let mut at = from;
        while at < to.min(kept) {
            self.read_kept(&mut buffer, at, to.min(kept).min(at.saturating_add(CHUNK)))?;
            for bytes in buffer.chunks_exact(RECORD_BYTES) {
                let record = LineRecord::from_bytes(bytes).ok_or(IndexFault::Damaged)?;
                if visit(at, record).is_break() {
                    return Ok(());
                }
                at = at.saturating_add(1);
            }
        }
        for record in self.fresh_between(at, to) {
            if visit(at, *record).is_break() {
                return Ok(());
            }
            at = at.saturating_add(1);
        }
        Ok(())
    }

    /// Visits the records of the lines before `to`, last to first.
    pub(super) fn visit_back(
        &self,
        to: u64,
        mut visit: impl FnMut(u64, LineRecord) -> ControlFlow<()>,
    ) -> Result<(), IndexFault> {
        let kept = self.kept_count();
        let mut at = to;
        for record in self.fresh_between(kept, to).iter().rev() {
            at = at.saturating_sub(1);
            if visit(at, *record).is_break() {
                return Ok(());
            }
        }
        let mut buffer = Vec::new();
        while at > 0 {
            self.read_kept(&mut buffer, at.saturating_sub(CHUNK), at)?;
            for bytes in buffer.chunks_exact(RECORD_BYTES).rev() {
                let record = LineRecord::from_bytes(bytes).ok_or(IndexFault::Damaged)?;
                at = at.saturating_sub(1);
                if visit(at, record).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The fresh records of the lines `from..to`.
    fn fresh_between(&self, from: u64, to: u64) -> &[LineRecord] {
        let place = |line: u64| usize::try_from(line.saturating_sub(self.kept_count())).unwrap_or(usize::MAX);
        self.fresh.get(place(from)..place(to).min(self.fresh.len())).unwrap_or_default()
    }

    /// The stored records of the lines `from..to`, as bytes.
    fn read_kept(&self, buffer: &mut Vec<u8>, from: u64, to: u64) -> Result<(), IndexFault> {
        let Some((index, _)) = &self.kept else { return Err(IndexFault::Damaged) };
        let count = usize::try_from(to.saturating_sub(from)).unwrap_or(0);
        buffer.resize(count.saturating_mul(RECORD_BYTES), 0);
        index.read_exact_at(buffer, place(from)).map_err(|_| IndexFault::Damaged)
    }

    pub(super) fn message(&self, record: &LineRecord) -> Result<UiMessage, IndexFault> {
        let line = self.bytes(record).map_err(|source| self.fault(source))?;
        let message: UiMessage = serde_json::from_slice(&line).map_err(|_| IndexFault::Damaged)?;
        if id_hash(&message.id) == record.id { Ok(message) } else { Err(IndexFault::Damaged) }
    }

    /// A line without its parts.
    pub(super) fn head(&self, record: &LineRecord) -> Result<Head, IndexFault> {
        let line = self.bytes(record).map_err(|source| self.fault(source))?;
        HeadParser::new(ParseDepth::Whole, &self.thread).look(&line).ok_or(IndexFault::Damaged)
    }

    fn bytes(&self, record: &LineRecord) -> io::Result<Vec<u8>> {
        let mut line = vec![0; usize::try_from(record.length).unwrap_or(0)];
        self.data.read_exact_at(&mut line, record.offset)?;
        Ok(line)
    }

    /// A line that is not at its offset means a damaged index, not an IO error.
    fn fault(&self, source: io::Error) -> IndexFault {
        match source.kind() {
            io::ErrorKind::UnexpectedEof => IndexFault::Damaged,
            _ => IndexFault::Store(refused(&self.path, source)),
        }
    }
}

/// The offset of a record: the header takes the space of one.
fn place(record: u64) -> u64 {
    record.saturating_add(1).saturating_mul(to_u64(RECORD_BYTES))
}

/// The record of a line; whether it is the first of its message is set later.
fn describe(looker: &mut HeadParser, offset: u64, line: &[u8]) -> LineRecord {
    let length = u32::try_from(length(line)).unwrap_or(u32::MAX);
    match looker.look(line) {
        Some(head) => {
            let (id, run) = (id_hash(&head.id), run_hash(&head.run));
            let checkpoint = head.checkpoint && head.role == Role::Assistant;
            LineRecord { id, offset, length, run, role: head.role, kind: RecordKind::Later, checkpoint }
        }
        None => LineRecord {
            id: fnv(line),
            offset,
            length,
            run: 0,
            role: Role::System,
            kind: RecordKind::Void,
            checkpoint: false,
        },
    }
}
