//! The journal: every commit is written here first, as one line. One file is written; older ones stay until their
//! content is synced in the data files.
//!
//! A line is `["<checksum>",{…}]`: the checksum covers the bytes of the second element, so that a line that a power
//! loss left incomplete is never taken for a valid one.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::disk::{Disk, refused};
use super::layout::Layout;
use super::lines::{ended_lines, fnv, length};
use super::stats::Stats;
use crate::domain::ThreadId;
use crate::ports::StoreError;

/// Below this size a new journal frees too little space.
const SMALL_BYTES: u64 = 64 * 1024;

/// The journal that is written.
#[derive(Debug)]
pub(super) struct Journal {
    file: Arc<File>,
    path: PathBuf,
    seq: u64,
    length: u64,
    /// The end of the checkpoint and start of the commits.
    base: u64,
    /// Directories whose entries must be synced before the journal's own name is durable.
    unsynced: Vec<PathBuf>,
}

impl Journal {
    /// Begins a new one. The remains of an earlier attempt under its name are cut off.
    pub(super) fn create(
        disk: &dyn Disk,
        layout: &Layout,
        seq: u64,
        open: &BTreeSet<ThreadId>,
    ) -> Result<Self, StoreError> {
        let path = layout.journal(seq);
        let begin = || {
            let file = disk.open(&path)?;
            if file.metadata()?.len() > 0 {
                disk.cut(&file, 0)?;
            }
            let line = Record::Checkpoint { open: open.iter().cloned().collect() }.encode()?;
            disk.append(&file, &line)?;
            Ok((file, length(&line)))
        };
        match begin() {
            Ok((file, base)) => Ok(Self {
                file: Arc::new(file),
                path,
                seq,
                length: base,
                base,
                unsynced: vec![layout.journals()],
            }),
            Err(source) => {
                if let Err(error) = disk.remove(&path) {
                    tracing::debug!(path = %path.display(), %error, "unused journal not removed");
                }
                Err(refused(path, source))
            }
        }
    }

    /// Continues one whose first `kept` bytes are valid.
    pub(super) fn resume(
        disk: &dyn Disk,
        layout: &Layout,
        seq: u64,
        contents: &Contents,
    ) -> Result<Self, StoreError> {
        let path = layout.journal(seq);
        let resume = || {
            let file = disk.open(&path)?;
            if contents.torn > 0 {
                disk.cut(&file, contents.kept)?;
            }
            Ok(file)
        };
        let file = Arc::new(resume().map_err(|source| refused(&path, source))?);
        let unsynced = vec![layout.journals()];
        Ok(Self { file, path, seq, length: contents.kept, base: contents.base, unsynced })
    }

    /// Also syncs the directories above it: for the first journal of a process, which may just have created them.
    pub(super) fn sync_names_up_to_project(&mut self, layout: &Layout) {
        self.unsynced.extend([layout.state(), layout.root().to_owned()]);
        self.unsynced.extend(layout.root().parent().filter(|dir| dir.is_dir()).map(Path::to_owned));
    }

    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its file, to be synced by another thread.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn has_commits(&self) -> bool {
        self.length > self.base
    }

    /// Whether it is time for a new one. A long checkpoint raises the limit, so that it is not rewritten too often.
    pub(super) fn is_full(&self, bound: u64) -> bool {
        self.length.saturating_sub(self.base) >= bound.saturating_add(self.base)
    }

    /// Whether removing it would free space.
    pub(super) fn holds_room(&self) -> bool {
        self.length.saturating_sub(self.base) >= SMALL_BYTES
    }

    /// Appends lines. After an error the caller truncates it.
    pub(super) fn append(&mut self, disk: &dyn Disk, lines: &[u8]) -> Result<(), StoreError> {
        disk.append(&self.file, lines).map_err(|source| refused(&self.path, source))?;
        self.length = self.length.saturating_add(length(lines));
        Ok(())
    }

    /// Truncates it to an earlier length.
    pub(super) fn cut(&mut self, disk: &dyn Disk, length: u64) -> Result<(), StoreError> {
        disk.cut(&self.file, length).map_err(|source| refused(&self.path, source))?;
        self.length = length;
        Ok(())
    }

    /// Syncs its name to the disk.
    pub(super) fn sync_name(&mut self, disk: &dyn Disk) -> Result<(), StoreError> {
        while let Some(dir) = self.unsynced.last() {
            disk.sync_dir(dir).map_err(|source| refused(dir, source))?;
            self.unsynced.pop();
        }
        Ok(())
    }

    /// Syncs all of it to the disk.
    pub(super) fn sync(&mut self, disk: &dyn Disk, stats: &Stats) -> Result<(), StoreError> {
        self.sync_name(disk)?;
        let begun = Instant::now();
        disk.sync(&self.file).map_err(|source| refused(&self.path, source))?;
        stats.count_sync(begun.elapsed());
        Ok(())
    }
}

/// The content of a journal file.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Its valid lines, up to the first invalid one.
    pub(super) records: Vec<Record<'static>>,
    /// Bytes of the valid lines.
    pub(super) kept: u64,
    /// Bytes after them.
    pub(super) torn: u64,
    /// Bytes of the checkpoint; 0 where there is none.
    pub(super) base: u64,
}

impl Contents {
    /// Reads a journal without changing it.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        Ok(Self::parse(&std::fs::read(path)?))
    }

    fn parse(bytes: &[u8]) -> Self {
        let mut contents = Self::default();
        for line in ended_lines(bytes) {
            let Some(record) = Record::decode(line) else { break };
            contents.kept = contents.kept.saturating_add(length(line)).saturating_add(1);
            if contents.records.is_empty() && matches!(record, Record::Checkpoint { .. }) {
                contents.base = contents.kept;
            }
            contents.records.push(record);
        }
        contents.torn = length(bytes).saturating_sub(contents.kept);
        contents
    }
}

/// The existing journals, oldest first.
pub(super) fn live_journals(layout: &Layout) -> io::Result<Vec<u64>> {
    let mut seqs = Vec::new();
    for entry in std::fs::read_dir(layout.journals())? {
        let name = entry?.file_name();
        let seq: Option<u64> =
            name.to_str().and_then(|name| name.strip_suffix(".jsonl")).and_then(|seq| seq.parse().ok());
        seqs.extend(seq);
    }
    seqs.sort_unstable();
    Ok(seqs)
}

/// Threads with work left according to the journals, oldest journal first. A journal with only a checkpoint may be the
/// remains of a failed attempt, and does not override its predecessor.
pub(super) fn open_threads<'a>(journals: impl IntoIterator<Item = &'a Contents>) -> BTreeSet<ThreadId> {
    let mut threads = BTreeSet::new();
    for (age, contents) in journals.into_iter().enumerate() {
        for record in &contents.records {
            match record {
                Record::Checkpoint { open } if age == 0 || contents.kept > contents.base => {
                    threads = open.iter().cloned().collect();
                }
                Record::Commit { thread, open: true, .. } => {
                    threads.insert(thread.clone());
                }
                Record::Commit { thread, open: false, .. } | Record::Delete { thread } => {
                    threads.remove(thread);
                }
                Record::Checkpoint { .. } | Record::Rewrite { .. } => {}
            }
        }
    }
    threads
}

/// Lines at an offset of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Append<'a> {
    /// The offset of the first of them. Everything from there on is replaced.
    pub(super) at: u64,
    /// The lines, byte for byte, without their line ends.
    pub(super) lines: Cow<'a, [Box<RawValue>]>,
}

impl Append<'_> {
    /// The bytes in the file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        join(&self.lines)
    }
}

/// Lines with their line ends.
pub(super) fn join(lines: &[Box<RawValue>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(lines.iter().map(|line| line.get().len().saturating_add(1)).sum());
    for line in lines {
        bytes.extend_from_slice(line.get().as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// One line of the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Record<'a> {
    /// The first line of every journal: the unfinished work when it was begun.
    Checkpoint { open: Vec<ThreadId> },
    Commit {
        thread: ThreadId,
        /// Whether the thread has work left after it.
        open: bool,
        /// For the thread file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        messages: Option<Append<'a>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outbox: Option<Append<'a>>,
    },
    /// An outbox was rewritten without settled deliveries. Its state is the same.
    Rewrite { thread: ThreadId, outbox: Append<'a> },
    /// A thread was deleted, with everything that was written to it before.
    Delete { thread: ThreadId },
}

impl Record<'_> {
    /// The line with its line end.
    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        let body = serde_json::to_vec(self)?;
        let mut line = Vec::with_capacity(body.len().saturating_add(24));
        line.extend_from_slice(format!("[\"{:016x}\",", fnv(&body)).as_bytes());
        line.extend_from_slice(&body);
        line.extend_from_slice(b"]\n");
        Ok(line)
    }

    /// Parses a line without its line end; `None` where it is not a complete line of ours.
    pub(super) fn decode(line: &[u8]) -> Option<Record<'static>> {
        let (sum, rest) = line.strip_prefix(b"[\"")?.split_at_checked(16)?;
        let body = rest.strip_prefix(b"\",")?.strip_suffix(b"]")?;
        let expected = format!("{:016x}", fnv(body));
        if sum != expected.as_bytes() {
            return None;
        }
        serde_json::from_slice(body).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn a_line_keeps_its_bytes_and_any_damage_is_seen() {
        let thread: ThreadId = "web:chat:1".parse().unwrap();
        let lines = vec![raw(r#"{"b":1.50,"a":"\u4f60\u2028 x"}"#), raw("{ }")];
        let messages = Some(Append { at: 7, lines: Cow::Owned(lines) });
        let line = Record::Commit { thread, open: true, messages, outbox: None }.encode().unwrap();
        let whole = line.strip_suffix(b"\n").unwrap();
        let Some(Record::Commit { open: true, messages: Some(back), outbox: None, .. }) =
            Record::decode(whole)
        else {
            panic!("not read back");
        };
        assert_eq!(back.at, 7);
        assert_eq!(back.bytes(), b"{\"b\":1.50,\"a\":\"\\u4f60\\u2028 x\"}\n{ }\n");
        for cut in 0..whole.len() {
            assert!(Record::decode(&whole[..cut]).is_none(), "cut at {cut}");
            let mut bent = whole.to_vec();
            bent[cut] ^= 0x01;
            assert!(Record::decode(&bent).is_none(), "bent at {cut}");
        }
    }
}
