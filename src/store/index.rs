//! A thread file seen through its index: where each line stands and which message it belongs to, without
//! reading the file.
//!
//! The index is a cache. It may be missing, lag behind, or be damaged: what it does not cover is read from the
//! thread file, and what does not fit makes it start anew. Two different ids of one hash (one pair in 2^64) would
//! be taken for one message in lists; `contains` looks at the line itself.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::disk::refused;
use super::index_record::{IdMap, Kind, LineRecord, RECORD_BYTES, id_hash, run_hash};
use super::layout::{Layout, private_file};
use super::lines::{LineReader, fnv, length, to_u64};
use crate::domain::{MessageId, ThreadId};
use crate::ports::StoreError;
use crate::uimessage::{Metadata, Role, UiMessage};

/// An index this far behind is brought up to date on the disk; less is simply read again.
pub(super) const LAG_BYTES: u64 = 64 * 1024;
/// Records read at once: about 64 KiB.
const CHUNK: u64 = 2730;
const MAGIC: [u8; 8] = *b"shipidx1";

/// What may be done to the index on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Bring it up to date.
    UpToDate,
    /// Use it as it is, write nothing.
    AsItIs,
    /// Do not even look at it.
    Ignored,
}

/// Why a look through the index failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The index does not fit the file.
    Damaged,
    /// The file is out of reach.
    Store(StoreError),
}

/// A message without its parts. Parts of any shape are readable, so what has a head has a message.
#[derive(Debug, Deserialize)]
pub(super) struct Head {
    pub(super) id: MessageId,
    pub(super) role: Role,
    pub(super) metadata: Metadata,
    #[serde(rename = "parts")]
    _parts: Vec<IgnoredAny>,
}

/// A thread file at one moment.
#[derive(Debug)]
pub(super) struct View {
    path: PathBuf,
    data: File,
    /// The index on the disk, and how many of its records hold.
    kept: Option<(File, u64)>,
    /// Records of the lines behind those.
    fresh: Vec<LineRecord>,
    /// Whether the fresh ones know what they are to their messages.
    resolved: bool,
}

impl View {
    /// Looks at a thread's file; nothing where there is none.
    pub(super) fn open(layout: &Layout, thread: &ThreadId, keep: Keep) -> Result<Option<Self>, Fault> {
        let path = layout.thread(thread);
        let at = layout.index(thread);
        // The index first: should lines be taken back in between, this index is gone with them.
        let index = match keep {
            Keep::Ignored => None,
            Keep::AsItIs => File::open(&at).ok(),
            Keep::UpToDate => private_file().read(true).write(true).open(&at).ok(),
        };
        let data = match File::open(&path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Fault::Store(refused(path, source))),
        };
        let mut view = Self { path, data, kept: None, fresh: Vec::new(), resolved: false };
        view.catch_up(index, thread).map_err(|source| view.fault(source))?;
        if keep == Keep::UpToDate && view.lag() >= LAG_BYTES {
            view.resolve()?;
            if let Err(error) = view.keep(&at, thread) {
                tracing::warn!(index = %at.display(), %error, "the index could not be brought up to date");
            }
        }
        Ok(Some(view))
    }

    /// Takes what holds of the index and reads the lines behind it.
    fn catch_up(&mut self, index: Option<File>, thread: &ThreadId) -> io::Result<()> {
        let mut from = 0;
        if let Some(index) = index
            && let Some((count, end)) = self.check(&index, thread)?
        {
            self.kept = Some((index, count));
            from = end;
        }
        let mut lines = LineReader::from(self.data.try_clone()?, from)?;
        let mut unreadable = Vec::new();
        while let Some((offset, line)) = lines.next_line()? {
            let record = describe(offset, line);
            if record.kind == Kind::Void && line != b"\n" {
                unreadable.push(offset);
            }
            self.fresh.push(record);
        }
        // Told once: a file of another kind may have very many.
        if let Some(first) = unreadable.first() {
            let (path, lines) = (self.path.display(), unreadable.len());
            tracing::warn!(%path, lines, first, "unreadable lines skipped");
        }
        Ok(())
    }

    /// How many records hold and where the last of their lines ends, if they are of this very file.
    fn check(&self, index: &File, thread: &ThreadId) -> io::Result<Option<(u64, u64)>> {
        let size = index.metadata()?.len();
        let Some(count) = (size / to_u64(RECORD_BYTES)).checked_sub(1) else { return Ok(None) };
        let mut found = [0; RECORD_BYTES];
        index.read_exact_at(&mut found, 0)?;
        if found != self.header(thread)? {
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
        let fits = line.ends_with(b"\n") && describe(last.offset, &line).id == last.id;
        Ok(fits.then(|| (count, last.end())))
    }

    fn header(&self, thread: &ThreadId) -> io::Result<[u8; RECORD_BYTES]> {
        let mut header = [0; RECORD_BYTES];
        let name = fnv(thread.as_str().as_bytes()).to_le_bytes();
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

    /// Writes the fresh records behind the kept ones. An index that did not hold is replaced rather than
    /// overwritten, because somebody may be reading it.
    fn keep(&self, at: &Path, thread: &ThreadId) -> io::Result<()> {
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
        index.write_all_at(&self.header(thread)?, 0)
    }

    /// Finds out which fresh lines are the first of their message.
    pub(super) fn resolve(&mut self) -> Result<(), Fault> {
        if self.resolved {
            return Ok(());
        }
        let readable = self.fresh.iter().filter(|record| record.kind != Kind::Void);
        let mut speakers: IdMap<Option<Role>> = readable.map(|record| (record.id, None)).collect();
        let kept = if speakers.is_empty() { 0 } else { self.kept_count() };
        self.visit(0, kept, |_, record| {
            if record.kind == Kind::First
                && let Some(speaker) = speakers.get_mut(&record.id)
            {
                *speaker = Some(record.role);
            }
            ControlFlow::Continue(())
        })?;
        for record in self.fresh.iter_mut().filter(|record| record.kind != Kind::Void) {
            let speaker = speakers.entry(record.id).or_default();
            record.kind = match speaker {
                None => Kind::First,
                Some(role) if *role == record.role => Kind::Later,
                Some(_) => Kind::Void,
            };
            speaker.get_or_insert(record.role);
        }
        self.resolved = true;
        Ok(())
    }

    fn kept_count(&self) -> u64 {
        self.kept.as_ref().map_or(0, |(_, count)| *count)
    }

    /// How many lines there are.
    pub(super) fn count(&self) -> u64 {
        self.kept_count().saturating_add(to_u64(self.fresh.len()))
    }

    /// Where the last of them ends.
    pub(super) fn covered(&self) -> Result<u64, Fault> {
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
    ) -> Result<(), Fault> {
        let kept = self.kept_count();
        let mut at = from;
        while at < to.min(kept) {
            let bytes = self.kept_bytes(at, to.min(kept).min(at.saturating_add(CHUNK)))?;
            for record in bytes.chunks_exact(RECORD_BYTES) {
                let record = LineRecord::from_bytes(record).ok_or(Fault::Damaged)?;
                if visit(at, record).is_break() {
                    return Ok(());
                }
                at = at.saturating_add(1);
            }
        }
        for record in self.fresh_between(at, to) {
            if visit(at, *record).is_break() {
                break;
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
    ) -> Result<(), Fault> {
        let kept = self.kept_count();
        let mut at = to;
        for record in self.fresh_between(kept, to).iter().rev() {
            at = at.saturating_sub(1);
            if visit(at, *record).is_break() {
                return Ok(());
            }
        }
        while at > 0 {
            let bytes = self.kept_bytes(at.saturating_sub(CHUNK), at)?;
            for record in bytes.rchunks_exact(RECORD_BYTES) {
                let record = LineRecord::from_bytes(record).ok_or(Fault::Damaged)?;
                at = at.saturating_sub(1);
                if visit(at, record).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Records as they stand in the index.
    fn kept_bytes(&self, from: u64, to: u64) -> Result<Vec<u8>, Fault> {
        let Some((index, _)) = &self.kept else { return Err(Fault::Damaged) };
        let count = usize::try_from(to.saturating_sub(from)).unwrap_or(0);
        let mut bytes = vec![0; count.saturating_mul(RECORD_BYTES)];
        index.read_exact_at(&mut bytes, place(from)).map_err(|_| Fault::Damaged)?;
        Ok(bytes)
    }

    /// Those that are not in the index.
    fn fresh_between(&self, from: u64, to: u64) -> &[LineRecord] {
        let place = |at: u64| {
            let at = usize::try_from(at.saturating_sub(self.kept_count())).unwrap_or(usize::MAX);
            at.min(self.fresh.len())
        };
        self.fresh.get(place(from)..place(to)).unwrap_or_default()
    }

    /// A line, whole.
    pub(super) fn message(&self, record: &LineRecord) -> Result<UiMessage, Fault> {
        let line = self.bytes(record).map_err(|source| self.fault(source))?;
        let message: UiMessage = serde_json::from_slice(&line).map_err(|_| Fault::Damaged)?;
        if id_hash(&message.id) == record.id { Ok(message) } else { Err(Fault::Damaged) }
    }

    /// A line without its parts.
    pub(super) fn head(&self, record: &LineRecord) -> Result<Head, Fault> {
        let line = self.bytes(record).map_err(|source| self.fault(source))?;
        serde_json::from_slice(&line).map_err(|_| Fault::Damaged)
    }

    fn bytes(&self, record: &LineRecord) -> io::Result<Vec<u8>> {
        let mut line = vec![0; usize::try_from(record.length).unwrap_or(0)];
        self.data.read_exact_at(&mut line, record.offset)?;
        Ok(line)
    }

    /// A line that is not where it should be is the index's fault, not the system's.
    fn fault(&self, source: io::Error) -> Fault {
        match source.kind() {
            io::ErrorKind::UnexpectedEof => Fault::Damaged,
            _ => Fault::Store(refused(&self.path, source)),
        }
    }
}

/// Where a record stands: the header takes the place of one.
fn place(record: u64) -> u64 {
    record.saturating_add(1).saturating_mul(to_u64(RECORD_BYTES))
}

/// What a line says of itself; whether it is the first of its message it cannot know.
fn describe(offset: u64, line: &[u8]) -> LineRecord {
    let length = u32::try_from(length(line)).unwrap_or(u32::MAX);
    match serde_json::from_slice::<Head>(line) {
        Ok(head) => {
            let (id, run) = (id_hash(&head.id), run_hash(&head.metadata.correlation_id));
            LineRecord { id, offset, length, run, role: head.role, kind: Kind::Later }
        }
        Err(_) => LineRecord { id: fnv(line), offset, length, run: 0, role: Role::System, kind: Kind::Void },
    }
}
