//! The list of threads, cached so that it is not rebuilt from the thread files each time. Each entry has the length of
//! its thread file; an outdated one is rebuilt.
//!
//! Memory holds a slot of fixed size for each thread. The summaries stay in the file and are read a page at a time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use super::atomic;
use super::index_record::{ByHash, Hashes};
use super::layout::{Layout, private_file};
use super::lines::{JsonlReader, fnv, length};
use super::summary::SummaryRecord;
use crate::domain::{Platform, ThreadId, Timestamp};
use crate::ports::{ListPosition, ThreadFilter, ThreadQuery};

/// The file is rewritten when it has more lines than twice the threads plus this.
const SPARE_LINES: usize = 256;

/// The key of a thread's slot.
pub(super) fn hash_of(thread: &ThreadId) -> u64 {
    fnv(thread.as_str().as_bytes())
}

/// The order of the list: newest first.
type ListOrder = (Reverse<Timestamp>, u64);

/// The part of a thread's entry that is in memory.
#[derive(Clone, Copy, Debug, Default)]
struct CatalogSlot {
    /// The time of the last message; the file's own time until a summary is made.
    updated_at: Timestamp,
    /// The length of the thread file that the summary was made from.
    length: u64,
    /// The offset and length of the summary's line in the catalog file; 0 where there is none.
    offset: u64,
    line: u32,
    platform: u16,
    /// Whether the thread has no message, and so is not listed.
    empty: bool,
    /// Whether there is a thread file.
    present: bool,
}

/// A part of the list.
#[derive(Debug)]
pub(super) struct CatalogPage {
    pub(super) threads: Vec<(Timestamp, u64)>,
    /// Whether there are further threads after them.
    pub(super) more: bool,
}

/// Every thread; loaded on first use.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    slots: Option<ByHash<CatalogSlot>>,
    platforms: Vec<Platform>,
    /// Summaries that are not in the file, because it may not or could not be written.
    unwritten: BTreeMap<u64, SummaryRecord>,
    /// Threads whose summary is missing or out of date.
    stale: BTreeMap<u64, ThreadId>,
    /// The number of lines of the file, and the end of its last complete line.
    lines: usize,
    end: u64,
}

impl Catalog {
    pub(super) fn is_loaded(&self) -> bool {
        self.slots.is_some()
    }

    /// Drops what was read: the next query reads the file again.
    pub(super) fn unload(&mut self) {
        *self = Self::default();
    }

    /// Reads the file and compares it with the thread files.
    pub(super) fn load(&mut self, layout: &Layout) -> io::Result<()> {
        self.unload();
        let mut slots = ByHash::default();
        match File::open(layout.catalog()) {
            Ok(file) => self.read_lines(file, &mut slots)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        visit_thread_files(layout, |thread, metadata| {
            let hash = hash_of(&thread);
            let platform = self.platform(&thread);
            let slot = slots.entry(hash).or_insert_with(|| CatalogSlot {
                updated_at: modified(&metadata),
                platform,
                ..CatalogSlot::default()
            });
            slot.present = true;
            if slot.line == 0 || slot.length != metadata.len() {
                self.stale.insert(hash, thread);
            }
            true
        })?;
        slots.retain(|_, slot| slot.present);
        self.slots = Some(slots);
        Ok(())
    }

    fn read_lines(&mut self, file: File, slots: &mut ByHash<CatalogSlot>) -> io::Result<()> {
        let mut lines = JsonlReader::from(file, 0)?;
        while let Some((offset, line)) = lines.next_line()? {
            self.lines = self.lines.saturating_add(1);
            self.end = offset.saturating_add(length(line));
            if let Ok(entry) = serde_json::from_slice::<SummaryRecord>(line) {
                let slot = CatalogSlot { offset, line: line_length(line), ..self.slot_of(&entry) };
                slots.insert(hash_of(&entry.summary.thread_id), slot);
            }
        }
        Ok(())
    }

    fn slot_of(&mut self, entry: &SummaryRecord) -> CatalogSlot {
        CatalogSlot {
            updated_at: entry.summary.updated_at,
            length: entry.length,
            platform: self.platform(&entry.summary.thread_id),
            empty: entry.summary.message_count == 0,
            ..CatalogSlot::default()
        }
    }

    fn platform(&mut self, thread: &ThreadId) -> u16 {
        let known = self.platforms.iter().position(|platform| platform == thread.platform());
        let at = known.unwrap_or_else(|| {
            self.platforms.push(thread.platform().clone());
            self.platforms.len().saturating_sub(1)
        });
        u16::try_from(at).unwrap_or(u16::MAX)
    }

    /// Marks threads whose files have changed.
    pub(super) fn mark_stale(&mut self, threads: impl IntoIterator<Item = ThreadId>) {
        self.stale.extend(threads.into_iter().map(|thread| (hash_of(&thread), thread)));
    }

    /// How many threads have no valid summary.
    pub(super) fn stale(&self) -> usize {
        self.stale.len()
    }

    /// Some threads without a valid summary.
    pub(super) fn some_stale(&self, limit: usize) -> Vec<ThreadId> {
        self.stale.values().take(limit).cloned().collect()
    }

    /// Those of these threads without a valid summary.
    pub(super) fn stale_among(&self, chosen: &CatalogPage) -> Vec<ThreadId> {
        chosen.threads.iter().filter_map(|(_, hash)| self.stale.get(hash).cloned()).collect()
    }

    /// The summary of a thread, from memory or from the file.
    pub(super) fn entry(&self, layout: &Layout, hash: u64) -> io::Result<Option<SummaryRecord>> {
        if let Some(entry) = self.unwritten.get(&hash) {
            return Ok(Some(entry.clone()));
        }
        let Some(slot) = self.slots.as_ref().and_then(|slots| slots.get(&hash)) else { return Ok(None) };
        if slot.line == 0 {
            return Ok(None);
        }
        let mut line = vec![0; usize::try_from(slot.line).unwrap_or(0)];
        File::open(layout.catalog())?.read_exact_at(&mut line, slot.offset)?;
        let entry: SummaryRecord = serde_json::from_slice(&line)?;
        Ok((hash_of(&entry.summary.thread_id) == hash).then_some(entry))
    }

    /// Adds summaries and, where allowed, appends them to the file. The examined threads are no longer stale, also
    /// those without a summary.
    pub(super) fn put(
        &mut self,
        layout: &Layout,
        write: bool,
        looked_at: &[ThreadId],
        mut fresh: Vec<SummaryRecord>,
    ) {
        for thread in looked_at {
            self.stale.remove(&hash_of(thread));
            if !layout.thread(thread).exists() {
                self.forget(hash_of(thread));
            }
        }
        let Some(slots) = &self.slots else { return };
        // A summary that was made in the background may be older than the current one.
        fresh.retain(|entry| {
            slots.get(&hash_of(&entry.summary.thread_id)).is_none_or(|slot| slot.length <= entry.length)
        });
        if fresh.is_empty() {
            return;
        }
        let written = if write { self.append(layout, &fresh) } else { Ok(false) };
        if let Err(error) = &written {
            tracing::warn!(%error, "thread list not written");
        }
        if !written.unwrap_or_default() {
            self.remember(fresh);
        }
    }

    /// A deleted thread is listed no more. Its line in the file counts for nothing without a thread file.
    fn forget(&mut self, hash: u64) {
        self.unwritten.remove(&hash);
        if let Some(slots) = &mut self.slots {
            slots.remove(&hash);
        }
    }

    /// Keeps summaries in memory only.
    fn remember(&mut self, fresh: Vec<SummaryRecord>) {
        for entry in fresh {
            let hash = hash_of(&entry.summary.thread_id);
            let slot = CatalogSlot { present: true, ..self.slot_of(&entry) };
            self.slots.get_or_insert_default().insert(hash, slot);
            self.unwritten.insert(hash, entry);
        }
    }

    /// Appends summaries; rewrites the file where most lines are outdated.
    fn append(&mut self, layout: &Layout, fresh: &[SummaryRecord]) -> io::Result<bool> {
        let mut file = private_file().append(true).create(true).open(layout.catalog())?;
        let mut offset = file.metadata()?.len();
        let mut bytes = Vec::new();
        // A partial line after a crash must not become the beginning of another.
        if offset > self.end {
            bytes.push(b'\n');
            offset = offset.saturating_add(1);
        }
        let mut slots = Vec::with_capacity(fresh.len());
        for entry in fresh {
            let line = to_line(entry)?;
            let slot = CatalogSlot { offset, line: line_length(&line), present: true, ..self.slot_of(entry) };
            slots.push((hash_of(&entry.summary.thread_id), slot));
            offset = offset.saturating_add(length(&line));
            bytes.extend_from_slice(&line);
        }
        file.write_all(&bytes)?;
        self.end = offset;
        self.lines = self.lines.saturating_add(fresh.len());
        let known = self.slots.get_or_insert_default();
        for (hash, slot) in slots {
            known.insert(hash, slot);
            self.unwritten.remove(&hash);
        }
        if self.lines > known.len().saturating_mul(2).saturating_add(SPARE_LINES) {
            self.rewrite(layout)?;
        }
        Ok(true)
    }

    /// Rewrites the file with one line for each thread.
    fn rewrite(&mut self, layout: &Layout) -> io::Result<()> {
        let old = std::fs::read(layout.catalog())?;
        let slots = self.slots.get_or_insert_default();
        let mut bytes = Vec::new();
        let mut moved = Vec::with_capacity(slots.len());
        for (hash, slot) in slots.iter().filter(|(_, slot)| slot.line > 0) {
            let from = usize::try_from(slot.offset).unwrap_or(usize::MAX);
            let to = from.saturating_add(usize::try_from(slot.line).unwrap_or(0));
            moved.push((*hash, length(&bytes)));
            bytes.extend_from_slice(old.get(from..to).unwrap_or_default());
        }
        atomic::swap(&layout.catalog(), &bytes, 0o600)?;
        for (hash, offset) in &moved {
            if let Some(slot) = slots.get_mut(hash) {
                slot.offset = *offset;
            }
        }
        self.lines = moved.len();
        self.end = length(&bytes);
        Ok(())
    }

    /// Selects a page of the list.
    pub(super) fn choose(&self, query: &ThreadQuery) -> CatalogPage {
        let none = CatalogPage { threads: Vec::new(), more: false };
        let Some(slots) = &self.slots else { return none };
        let platform = query.platform.as_ref();
        let wanted = platform.map(|platform| self.platforms.iter().position(|known| known == platform));
        let behind = match &query.before {
            None => None,
            Some(ListPosition::Time(at, thread)) => {
                Some((Reverse(*at), thread.as_ref().map_or(u64::MAX, hash_of)))
            }
            Some(ListPosition::Thread(thread)) => match slots.get(&hash_of(thread)) {
                Some(slot) => Some((Reverse(slot.updated_at), hash_of(thread))),
                None => return none,
            },
        };
        let hashes = |threads: &std::collections::BTreeSet<ThreadId>| threads.iter().map(hash_of).collect();
        let (only, except): (Option<Hashes>, Hashes) = match &query.filter {
            ThreadFilter::All => (None, Hashes::default()),
            ThreadFilter::Only(threads) => (Some(hashes(threads)), Hashes::default()),
            ThreadFilter::Except(threads) => (None, hashes(threads)),
        };
        let listed = |hash: &u64, slot: &CatalogSlot| {
            !slot.empty
                && wanted.is_none_or(|wanted| wanted == Some(usize::from(slot.platform)))
                && query.is_of_time(slot.updated_at)
                && only.as_ref().is_none_or(|only| only.contains(hash))
                && !except.contains(hash)
                && behind.is_none_or(|behind| (Reverse(slot.updated_at), *hash) > behind)
        };
        let listed = slots.iter().filter(|(hash, slot)| listed(hash, slot));
        let mut order: Vec<ListOrder> =
            listed.map(|(hash, slot)| (Reverse(slot.updated_at), *hash)).collect();
        let more = order.len() > query.limit;
        if more {
            order.select_nth_unstable(query.limit);
            order.truncate(query.limit);
        }
        order.sort_unstable();
        CatalogPage { threads: order.into_iter().map(|(Reverse(at), hash)| (at, hash)).collect(), more }
    }
}

fn to_line(entry: &SummaryRecord) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    Ok(line)
}

fn line_length(line: &[u8]) -> u32 {
    u32::try_from(line.len()).unwrap_or(0)
}

/// When a file was last written.
fn modified(metadata: &Metadata) -> Timestamp {
    let since = metadata.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let millis = since.and_then(|since| i64::try_from(since.as_millis()).ok());
    millis.map(Timestamp::from_millis).unwrap_or_default()
}

/// Visits every thread file, unordered, until `visit` returns false.
pub(super) fn visit_thread_files(
    layout: &Layout,
    mut visit: impl FnMut(ThreadId, Metadata) -> bool,
) -> io::Result<()> {
    let dir = match std::fs::read_dir(layout.threads()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        dir => dir?,
    };
    for entry in dir {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        if let Some(Ok(thread)) = name.map(ThreadId::from_file_name)
            && !visit(thread, entry.metadata()?)
        {
            break;
        }
    }
    Ok(())
}
