//! The start after any end of the process: writes what the journals have and the data files lack.
//!
//! The cost depends on the journals alone, never on how many thread files there are or how long they are; only
//! where there is no journal at all are the ends of the thread files looked at, and of many files in the background.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::archive::ClosedJournal;
use super::atomic;
use super::data_files::{delete_files, forget_index};
use super::disk::{Disk, refused};
use super::journal::{Append, Contents, Journal, Record, live_journals, open_threads};
use super::layout::{FileKey, Layout, Stream};
use super::lines::{last_end, length, to_u64};
use super::lost_journal::quick_scan;
use crate::domain::ThreadId;
use crate::ports::StoreError;

/// The result of recovery.
#[derive(Debug)]
pub(super) struct Recovered {
    /// The journal to continue.
    pub(super) journal: Journal,
    pub(super) open: BTreeSet<ThreadId>,
    /// The files with content from the journal.
    pub(super) touched: BTreeSet<FileKey>,
    /// Older journals, oldest first.
    pub(super) retired: Vec<ClosedJournal>,
    /// Whether a file was shorter than the journals expect. Replaying them again would write lines twice: they must be
    /// removed before anything else happens.
    pub(super) gap: bool,
    /// Whether further threads with work left are to be looked for among the thread files.
    pub(super) scan: bool,
}

pub(super) fn recover(disk: &dyn Disk, layout: &Layout) -> Result<Recovered, StoreError> {
    let journals = layout.journals();
    let seqs = live_journals(layout).map_err(|source| refused(&journals, source))?;
    let mut contents: Vec<(u64, Contents)> = Vec::new();
    for seq in seqs {
        let path = layout.journal(seq);
        let read = Contents::read(&path).map_err(|source| refused(&path, source))?;
        if read.torn > 0 {
            tracing::warn!(journal = %path.display(), bytes = read.torn, "partial journal write removed");
        }
        contents.push((seq, read));
    }

    let mut open = open_threads(contents.iter().map(|(_, contents)| contents));
    let mut scan = layout.scan_marker().exists();
    if contents.is_empty() {
        let found = quick_scan(layout).map_err(|source| refused(layout.threads(), source))?;
        open.extend(found.open);
        if found.more && !scan {
            // Before the first journal: a start that finds one relies on it.
            let marker = layout.scan_marker();
            atomic::swap(&marker, b"", 0o600).map_err(|source| refused(marker, source))?;
            scan = true;
        }
    }
    let mut images: BTreeMap<FileKey, Image> = BTreeMap::new();
    let mut deleted = BTreeSet::new();
    for record in contents.iter().flat_map(|(_, contents)| &contents.records) {
        if let Record::Delete { thread } = record {
            images.retain(|key, _| key.thread != *thread);
            deleted.insert(thread.clone());
        }
        for (key, append) in appends(record) {
            images.entry(key).or_default().put(append.at, &append.bytes());
        }
    }
    // What was written after a deletion is whole in the images, from the first byte on.
    for thread in &deleted {
        delete_files(disk, layout, thread)?;
    }
    let mut gap = false;
    for (key, image) in &images {
        let path = layout.data(key);
        gap |= image.bring_about(disk, layout, key).map_err(|source| refused(path, source))?;
    }

    let (mut journal, touched) = match contents.pop() {
        // A journal without commits may be the remains of a failed attempt, from before its predecessor ended.
        Some((seq, last)) if last.base == last.kept && !(contents.is_empty() && last.base > 0) => {
            (Journal::create(disk, layout, seq, &open)?, BTreeSet::new())
        }
        Some((seq, last)) if last.base > 0 && !gap => {
            (Journal::resume(disk, layout, seq, &last)?, touched(&last))
        }
        // Its beginning is lost, or its offsets no longer fit: it is not continued.
        Some((seq, last)) => {
            contents.push((seq, last));
            (Journal::create(disk, layout, seq.saturating_add(1), &open)?, BTreeSet::new())
        }
        None => (Journal::create(disk, layout, 1, &open)?, BTreeSet::new()),
    };
    journal.sync_names_up_to_project(layout);
    let successor = journal.path().to_owned();
    let archive = |(seq, contents): &(u64, Contents)| ClosedJournal {
        journal: layout.journal(*seq),
        successor: successor.clone(),
        touched: self::touched(contents),
    };
    let retired = contents.iter().map(archive).collect();
    Ok(Recovered { journal, open, touched, retired, gap, scan })
}

fn touched(contents: &Contents) -> BTreeSet<FileKey> {
    contents.records.iter().flat_map(appends).map(|(key, _)| key).collect()
}

/// The writes of a record.
fn appends<'a>(record: &'a Record<'static>) -> Vec<(FileKey, &'a Append<'static>)> {
    let (thread, messages, outbox) = match record {
        Record::Checkpoint { .. } | Record::Delete { .. } => return Vec::new(),
        Record::Commit { thread, messages, outbox, .. } => (thread, messages.as_ref(), outbox.as_ref()),
        Record::Rewrite { thread, outbox } => (thread, None, Some(outbox)),
    };
    let key = |stream| FileKey { thread: thread.clone(), stream };
    let messages = messages.map(|append| (key(Stream::Thread), append));
    let outbox = outbox.map(|append| (key(Stream::Outbox), append));
    messages.into_iter().chain(outbox).collect()
}

/// What the journals expect a file to contain, from some offset on.
#[derive(Debug, Default, PartialEq)]
struct Image {
    pieces: Vec<ImagePiece>,
}

#[derive(Debug, PartialEq)]
struct ImagePiece {
    at: u64,
    bytes: Vec<u8>,
}

impl ImagePiece {
    fn end(&self) -> u64 {
        self.at.saturating_add(length(&self.bytes))
    }
}

impl Image {
    /// Sets the bytes at an offset; everything from there on is replaced.
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
        self.pieces.push(ImagePiece { at, bytes: bytes.to_vec() });
    }

    /// Writes the expected content; returns whether the file was too short.
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
                tracing::warn!(path = %path.display(), expected = piece.at, found = present, "file does not match the journal");
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

    /// A thread file may contain lines that are in no journal, because people edit it. An outbox may not.
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

/// Whether a line of the file begins at the piece's offset.
fn fits(file: &File, piece: &ImagePiece, present: u64) -> io::Result<bool> {
    let Some(before) = piece.at.checked_sub(1) else { return Ok(true) };
    if present < piece.at {
        return Ok(false);
    }
    let mut last = [0];
    file.read_exact_at(&mut last, before)?;
    Ok(last == *b"\n")
}

/// Writes the missing part of a piece; returns whether other bytes were replaced.
fn place(disk: &dyn Disk, file: &File, piece: &ImagePiece, present: u64) -> io::Result<bool> {
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
fn common(file: &File, piece: &ImagePiece, present: u64) -> io::Result<usize> {
    let there = usize::try_from(present.saturating_sub(piece.at)).unwrap_or(usize::MAX);
    let mut found = vec![0; piece.bytes.len().min(there)];
    file.read_exact_at(&mut found, piece.at)?;
    let same = found.iter().zip(&piece.bytes).take_while(|(found, meant)| found == meant);
    Ok(same.count())
}
