//! The lines of the ledger, and what the newest of them say.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::io;

use serde::{Deserialize, Serialize};

use super::files::{FileFacts, MemoryFiles};
use super::hand_edits::KnownMonth;
use crate::domain::{DistilMark, LedgerLine, LedgerOp, ScopeKey, ThreadId, Tier};
use crate::ports::{LedgerPage, LedgerRequest};

pub(super) const LEDGER: &str = "memory/ledger.jsonl";

const CHUNK: u64 = 256 * 1024;
/// Most lines of a page.
const MOST_LINES: usize = 1_000;
/// How much of the end of what was read tells whether the file has only grown.
const TAIL: u64 = 256;

/// A line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum StoredLine {
    Change(Box<LedgerLine>),
    Distilled(Box<DistilLine>),
}

/// How far a thread was read, as a line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DistilLine {
    pub(super) seq: u64,
    pub(super) op: Distil,
    #[serde(flatten)]
    pub(super) mark: DistilMark,
    pub(super) batch: u64,
    #[serde(default)]
    pub(super) last: u64,
}

impl StoredLine {
    /// The number of the line, of the first and of the last that were written with it.
    const fn numbers(&self) -> (u64, u64, u64) {
        match self {
            Self::Change(line) => (line.seq, line.batch, line.last),
            Self::Distilled(line) => (line.seq, line.batch, line.last),
        }
    }
}

/// Lines that were written together, while they are read.
#[derive(Debug, Default)]
struct Together {
    lines: Vec<StoredLine>,
    /// Lines whose last one never came.
    dropped: usize,
}

impl Together {
    /// Takes the next line; gives all of them once they are complete.
    fn add(&mut self, line: StoredLine) -> Vec<StoredLine> {
        let (seq, batch, last) = line.numbers();
        if self.lines.first().is_some_and(|first| first.numbers().1 != batch) {
            self.dropped = self.dropped.saturating_add(self.lines.len());
            self.lines.clear();
        }
        self.lines.push(line);
        if seq >= last { std::mem::take(&mut self.lines) } else { Vec::new() }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Distil {
    Distil,
}

/// What is known of the ledger up to a place in the file.
#[derive(Debug, Default)]
pub(super) struct LedgerState {
    facts: FileFacts,
    /// The end of the last whole line that was read, and the bytes before it.
    offset: u64,
    tail: Vec<u8>,
    last_seq: u64,
    /// The version of each core file after its newest line.
    core: HashMap<ScopeKey, String>,
    /// The months' files of each scope, by their names.
    months: HashMap<ScopeKey, BTreeMap<String, KnownMonth>>,
    marks: HashMap<ThreadId, DistilMark>,
    unreviewed: HashMap<ScopeKey, BTreeSet<String>>,
    /// The notes of each scope that were forgotten one by one.
    forgotten: HashMap<ScopeKey, BTreeSet<String>>,
    /// The newest line of each scope that took something out of core memory.
    removals: HashMap<ScopeKey, u64>,
    /// What was read of lines that are not complete yet.
    together: Together,
    /// The changes that were written together last.
    batch: Vec<LedgerLine>,
    /// Whether the files have the changes of that batch.
    pub(super) settled: bool,
    damaged: usize,
}

impl LedgerState {
    /// Reads what was appended since, or everything where the file is another by now.
    pub(super) fn refresh(&mut self, files: &impl MemoryFiles) -> io::Result<()> {
        let facts = files.facts(LEDGER)?.unwrap_or_default();
        if facts == self.facts {
            return Ok(());
        }
        let other = facts.identity != self.facts.identity || facts.length < self.offset;
        if other || self.read_tail(files)? != self.tail {
            *self = Self::default();
        }
        let mut damaged = 0_usize;
        let mut lines: Vec<StoredLine> = Vec::new();
        self.offset = for_each_line(files, self.offset, |line| match serde_json::from_slice(line) {
            Ok(line) => lines.push(line),
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(_) => damaged = damaged.saturating_add(1),
        })?;
        if damaged > 0 {
            tracing::warn!(lines = damaged, file = LEDGER, "ledger lines cannot be read");
        }
        self.damaged = self.damaged.saturating_add(damaged);
        for line in lines {
            self.last_seq = self.last_seq.max(line.numbers().0);
            for line in self.together.add(line) {
                self.absorb(line);
            }
        }
        self.tail = self.read_tail(files)?;
        self.facts = facts;
        Ok(())
    }

    /// The bytes before the end of what was read. Another file can have the same number and be longer.
    fn read_tail(&self, files: &impl MemoryFiles) -> io::Result<Vec<u8>> {
        let length = self.offset.min(TAIL);
        if length == 0 {
            Ok(Vec::new())
        } else {
            files.read(LEDGER, self.offset.saturating_sub(length), length)
        }
    }

    fn absorb(&mut self, line: StoredLine) {
        self.settled = false;
        let line = match line {
            StoredLine::Distilled(line) => {
                let mark = line.mark;
                self.marks.insert(mark.thread.clone(), mark);
                return;
            }
            StoredLine::Change(line) => *line,
        };
        if let (Tier::Core, Some(digest)) = (line.tier, &line.digest) {
            self.core.insert(line.scope.clone(), digest.clone());
        }
        if let (Tier::Notes, Some(file), Some(digest)) = (line.tier, &line.file, &line.digest) {
            let known = KnownMonth { digest: digest.clone(), compared: None };
            self.months.entry(line.scope.clone()).or_default().insert(file.clone(), known);
        }
        if line.op == LedgerOp::Forget && line.id.is_none() {
            self.months.remove(&line.scope);
        }
        if line.tier == Tier::Core && line.removes() {
            self.removals.insert(line.scope.clone(), line.seq);
        }
        if let (Tier::Notes, Some(id)) = (line.tier, &line.id) {
            let forgotten = self.forgotten.entry(line.scope.clone()).or_default();
            match line.op {
                LedgerOp::Forget if line.undoes.is_none() => forgotten.insert(id.clone()),
                _ => forgotten.remove(id),
            };
        }
        let unreviewed = self.unreviewed.entry(line.scope.clone()).or_default();
        match &line.id {
            Some(id) if line.op == LedgerOp::Forget || line.reviewed => {
                unreviewed.remove(id);
            }
            Some(id) => {
                unreviewed.insert(id.clone());
            }
            None if line.op == LedgerOp::Forget => unreviewed.clear(),
            None => {}
        }
        if self.batch.first().is_some_and(|first| first.batch != line.batch) {
            self.batch.clear();
        }
        self.batch.push(line);
    }

    pub(super) const fn next_seq(&self) -> u64 {
        self.last_seq.saturating_add(1)
    }

    /// The version of a scope's core file after its newest line.
    pub(super) fn core_digest(&self, scope: &ScopeKey) -> Option<&str> {
        self.core.get(scope).map(String::as_str)
    }

    fn month(&self, scope: &ScopeKey, file: &str) -> Option<&KnownMonth> {
        self.months.get(scope)?.get(file)
    }

    /// The months' files of a scope that the ledger names.
    pub(super) fn months_of(&self, scope: &ScopeKey) -> impl Iterator<Item = String> + use<'_> {
        self.months.get(scope).into_iter().flat_map(|months| months.keys().cloned())
    }

    /// The version of a month's file after its newest line.
    pub(super) fn month_digest(&self, scope: &ScopeKey, file: &str) -> Option<&String> {
        self.month(scope, file).map(|month| &month.digest)
    }

    /// Whether a month's file is the one that was last found to be as its newest line says.
    pub(super) fn is_month_as_compared(
        &self,
        scope: &ScopeKey,
        file: &str,
        facts: Option<FileFacts>,
    ) -> bool {
        facts.is_some() && self.month(scope, file).is_some_and(|month| month.compared == facts)
    }

    pub(super) fn month_compared(&mut self, scope: &ScopeKey, file: &str, facts: FileFacts) {
        if let Some(month) = self.months.get_mut(scope).and_then(|months| months.get_mut(file)) {
            month.compared = Some(facts);
        }
    }

    pub(super) fn mark(&self, thread: &ThreadId) -> Option<DistilMark> {
        self.marks.get(thread).cloned()
    }

    pub(super) fn unreviewed(&self, scope: &ScopeKey) -> BTreeSet<String> {
        self.unreviewed.get(scope).cloned().unwrap_or_default()
    }

    pub(super) fn forgotten(&self, scope: &ScopeKey) -> BTreeSet<String> {
        self.forgotten.get(scope).cloned().unwrap_or_default()
    }

    /// The newest line that took something out of the core memory of these scopes.
    pub(super) fn newest_removal(&self, scopes: &[ScopeKey]) -> u64 {
        scopes.iter().filter_map(|scope| self.removals.get(scope)).max().copied().unwrap_or(0)
    }

    pub(super) fn newest_batch(&self) -> &[LedgerLine] {
        &self.batch
    }

    /// Whether the files are known to have the changes of all lines.
    pub(super) const fn is_settled(&self) -> bool {
        self.settled || self.batch.is_empty()
    }

    /// Appends lines durably. After an error none of them is there.
    pub(super) fn append(&mut self, files: &impl MemoryFiles, lines: &[StoredLine]) -> io::Result<()> {
        let length = files.facts(LEDGER)?.unwrap_or_default().length;
        let mut bytes = Vec::new();
        // A write that was cut off left a line without an end.
        if length > 0 && files.read(LEDGER, length.saturating_sub(1), 1)? != b"\n" {
            bytes.push(b'\n');
        }
        for line in lines {
            bytes.extend(serde_json::to_vec(line)?);
            bytes.push(b'\n');
        }
        if let Err(error) = files.append(LEDGER, &bytes) {
            self.take_back(files, length);
            return Err(error);
        }
        self.refresh(files)
    }

    /// Cuts the ledger to an earlier length.
    pub(super) fn take_back(&mut self, files: &impl MemoryFiles, length: u64) {
        if let Err(error) = files.truncate(LEDGER, length) {
            tracing::error!(%error, file = LEDGER, "ledger not cut after a failed write");
        }
        *self = Self::default();
    }
}

/// Calls `each` with every whole line from `offset` on, and returns the end of the last one.
pub(super) fn for_each_line(
    files: &impl MemoryFiles,
    mut offset: u64,
    mut each: impl FnMut(&[u8]),
) -> io::Result<u64> {
    let mut most = CHUNK;
    loop {
        let bytes = files.read(LEDGER, offset, most)?;
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            if (bytes.len() as u64) < most {
                return Ok(offset);
            }
            // A line longer than the buffer.
            most = most.saturating_mul(2);
            continue;
        };
        for line in bytes.get(..end).unwrap_or_default().split(|byte| *byte == b'\n') {
            each(line);
        }
        offset = offset.saturating_add(end as u64).saturating_add(1);
    }
}

/// Calls `each` with all changes, oldest first, and returns how many lines count for nothing.
pub(super) fn for_each_change(
    files: &impl MemoryFiles,
    mut each: impl FnMut(LedgerLine),
) -> io::Result<usize> {
    let mut damaged = 0_usize;
    let mut together = Together::default();
    for_each_line(files, 0, |line| match serde_json::from_slice(line) {
        Ok(line) => {
            for line in together.add(line) {
                if let StoredLine::Change(line) = line {
                    each(*line);
                }
            }
        }
        Err(_) if line.trim_ascii().is_empty() => {}
        Err(_) => damaged = damaged.saturating_add(1),
    })?;
    Ok(damaged.saturating_add(together.dropped))
}

/// The newest lines that a request asks for.
pub(super) fn page(files: &impl MemoryFiles, request: &LedgerRequest) -> io::Result<LedgerPage> {
    let limit = request.limit.clamp(1, MOST_LINES);
    let mut newest: VecDeque<LedgerLine> = VecDeque::new();
    let damaged = for_each_change(files, |line| {
        let wanted = request.scope.as_ref().is_none_or(|scope| *scope == line.scope)
            && request.before.is_none_or(|before| line.seq < before);
        if wanted {
            newest.push_back(line);
            if newest.len() > limit.saturating_add(1) {
                newest.pop_front();
            }
        }
    })?;
    let has_more = newest.len() > limit;
    let lines = newest.into_iter().rev().take(limit).collect();
    Ok(LedgerPage { lines, has_more, damaged })
}

/// The newest change of a scope that may be undone and was not taken back yet.
pub(super) fn newest_to_undo(files: &impl MemoryFiles, scope: &ScopeKey) -> io::Result<Option<LedgerLine>> {
    let mut open: Vec<LedgerLine> = Vec::new();
    for_each_change(files, |line| {
        if line.scope != *scope {
            return;
        }
        match line.undoes {
            Some(seq) => open.retain(|line| line.seq != seq),
            None if line.may_be_undone() => open.push(line),
            None => {}
        }
    })?;
    Ok(open.pop())
}
