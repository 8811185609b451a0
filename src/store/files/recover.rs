//! The start after any end: what the journals tell is brought into the data files where it is missing there.
//!
//! The cost depends on the journals alone, never on how many thread files there are or how long they are; only
//! where there is no journal at all are the ends of the thread files looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::archive::Retired;
use super::data_files::forget_index;
use super::disk::{Disk, refused};
use super::journal::{Contents, Journal, live_journals, open_threads};
use super::layout::{FileKey, Layout, Stream};
use super::lines::{last_end, length, to_u64};
use super::lost_journal::unfinished_by_files;
use super::record::{Append, Record};
use crate::domain::ThreadId;
use crate::ports::StoreError;

/// What a start begins with.
#[derive(Debug)]
pub(super) struct Recovered {
    /// The journal to go on with.
    pub(super) journal: Journal,
    /// Threads with work left.
    pub(super) open: BTreeSet<ThreadId>,
    /// The files that the journal tells of.
    pub(super) touched: BTreeSet<FileKey>,
    /// Older journals, oldest first.
    pub(super) retired: Vec<Retired>,
    /// Whether a file was shorter than the journals remember. To replay them again would put lines there twice:
    /// they must go before anything else happens.
    pub(super) gap: bool,
}

pub(super) fn recover(disk: &dyn Disk, layout: &Layout) -> Result<Recovered, StoreError> {
    let journals = layout.journals();
    let seqs = live_journals(layout).map_err(|source| refused(&journals, source))?;
    let mut contents: Vec<(u64, Contents)> = Vec::new();
    for seq in seqs {
        let path = layout.journal(seq);
        let read = Contents::read(&path).map_err(|source| refused(&path, source))?;
        if read.torn > 0 {
            tracing::warn!(journal = %path.display(), bytes = read.torn, "what a crash left of an unfinished write is cut off");
        }
        contents.push((seq, read));
    }

    let open = if contents.is_empty() {
        unfinished_by_files(layout).map_err(|source| refused(layout.threads(), source))?
    } else {
        open_threads(contents.iter().map(|(_, contents)| contents))
    };
    let mut images: BTreeMap<FileKey, Image> = BTreeMap::new();
    for (_, contents) in &contents {
        for (key, append) in contents.records.iter().flat_map(appends) {
            images.entry(key).or_default().put(append.at, &append.bytes());
        }
    }
    let mut gap = false;
    for (key, image) in &images {
        let path = layout.data(key);
        gap |= image.bring_about(disk, layout, key).map_err(|source| refused(path, source))?;
    }

    let (mut journal, touched) = match contents.pop() {
        // One that tells of nothing may have been begun in vain, before the one before it ended.
        Some((seq, last)) if last.base == last.kept && !(contents.is_empty() && last.base > 0) => {
            (Journal::create(disk, layout, seq, &open)?, BTreeSet::new())
        }
        Some((seq, last)) if last.base > 0 && !gap => {
            (Journal::resume(disk, layout, seq, &last)?, touched(&last))
        }
        // It has lost its beginning, or its offsets no longer fit: it is done with.
        Some((seq, last)) => {
            contents.push((seq, last));
            (Journal::create(disk, layout, seq.saturating_add(1), &open)?, BTreeSet::new())
        }
        None => (Journal::create(disk, layout, 1, &open)?, BTreeSet::new()),
    };
    journal.sync_names_up_to_project(layout);
    let successor = journal.path().to_owned();
    let archive = |(seq, contents): &(u64, Contents)| Retired {
        journal: layout.journal(*seq),
        successor: successor.clone(),
        touched: self::touched(contents),
    };
    let retired = contents.iter().map(archive).collect();
    Ok(Recovered { journal, open, touched, retired, gap })
}

fn touched(contents: &Contents) -> BTreeSet<FileKey> {
    contents.records.iter().flat_map(appends).map(|(key, _)| key).collect()
}

/// What a record puts where.
fn appends<'a>(record: &'a Record<'static>) -> Vec<(FileKey, &'a Append<'static>)> {
    let (thread, messages, outbox) = match record {
        Record::Checkpoint { .. } => return Vec::new(),
        Record::Commit { thread, messages, outbox, .. } => (thread, messages.as_ref(), outbox.as_ref()),
        Record::Rewrite { thread, outbox } => (thread, None, Some(outbox)),
    };
    let key = |stream| FileKey { thread: thread.clone(), stream };
    let messages = messages.map(|append| (key(Stream::Thread), append));
    let outbox = outbox.map(|append| (key(Stream::Outbox), append));
    messages.into_iter().chain(outbox).collect()
}

/// What the journals say a file must hold, from some offset on.
#[derive(Debug, Default, PartialEq)]
struct Image {
    pieces: Vec<Piece>,
}

#[derive(Debug, PartialEq)]
struct Piece {
    at: u64,
    bytes: Vec<u8>,
}

impl Piece {
    fn end(&self) -> u64 {
        self.at.saturating_add(length(&self.bytes))
    }
}

impl Image {
    /// Puts bytes at an offset; whatever was there or behind gives way.
    fn put(&mut self, at: u64, bytes: &[u8]) {
        self.pieces.retain(|piece| piece.at < at);
        if let Some(last) = self.pieces.last_mut() {
            let keep = usize::try_from(at.saturating_sub(last.at)).unwrap_or(usize::MAX);
            last.bytes.truncate(keep);
            if last.end() == at {
                last.bytes.extend_from_slice(bytes);
                return;
            }
        }
        self.pieces.push(Piece { at, bytes: bytes.to_vec() });
    }

    /// Brings the file to what it must hold; tells whether it was shorter than it could be.
    fn bring_about(&self, disk: &dyn Disk, layout: &Layout, key: &FileKey) -> io::Result<bool> {
        let path = layout.data(key);
        let file = disk.open(&path)?;
        let (mut gap, mut end) = (false, 0);
        for piece in &self.pieces {
            let present = file.metadata()?.len();
            if fits(&file, piece, present)? {
                if place(disk, &file, piece, present)? {
                    forget_index(disk, layout, key);
                }
                end = piece.end();
            } else {
                tracing::warn!(path = %path.display(), expected = piece.at, found = present, "a file is not as it was left");
                let whole = last_end(&file, present)?;
                if whole < present {
                    disk.cut(&file, whole)?;
                }
                disk.append(&file, &piece.bytes)?;
                end = whole.saturating_add(length(&piece.bytes));
                gap = true;
            }
        }
        self.settle_surplus(disk, &file, key, end)?;
        Ok(gap)
    }

    /// A thread file may hold lines that no journal tells of: people write by hand. An outbox may not.
    fn settle_surplus(&self, disk: &dyn Disk, file: &File, key: &FileKey, end: u64) -> io::Result<()> {
        let present = file.metadata()?.len();
        let keep = match key.stream {
            Stream::Outbox => end,
            Stream::Thread => last_end(file, present)?,
        };
        if keep > end {
            tracing::warn!(thread = %key.thread, at = end, bytes = keep.saturating_sub(end), "lines that the journal does not know are kept");
        }
        if keep < present {
            disk.cut(file, keep)?;
        }
        Ok(())
    }
}

/// Whether a line of the file begins where the piece does.
fn fits(file: &File, piece: &Piece, present: u64) -> io::Result<bool> {
    let Some(before) = piece.at.checked_sub(1) else { return Ok(true) };
    if present < piece.at {
        return Ok(false);
    }
    let mut last = [0];
    file.read_exact_at(&mut last, before)?;
    Ok(last == *b"\n")
}

/// Writes what is missing of a piece; tells whether other bytes had to give way.
fn place(disk: &dyn Disk, file: &File, piece: &Piece, present: u64) -> io::Result<bool> {
    let same = common(file, piece, present)?;
    let missing = piece.bytes.get(same..).unwrap_or_default();
    if missing.is_empty() {
        return Ok(false);
    }
    let sound = piece.at.saturating_add(to_u64(same));
    let other = present > sound;
    if other {
        disk.cut(file, sound)?;
    }
    disk.append(file, missing)?;
    Ok(other)
}

/// How many bytes of the piece the file has already.
fn common(file: &File, piece: &Piece, present: u64) -> io::Result<usize> {
    let there = usize::try_from(present.saturating_sub(piece.at)).unwrap_or(usize::MAX);
    let mut found = vec![0; piece.bytes.len().min(there)];
    file.read_exact_at(&mut found, piece.at)?;
    let same = found.iter().zip(&piece.bytes).take_while(|(found, meant)| found == meant);
    Ok(same.count())
}
