//! The list of threads, cached so that it is not rebuilt from the thread files each time. Each entry has the length of
//! its thread file; an outdated one is rebuilt.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::atomic;
use super::history;
use super::index::{Fault, View};
use super::index_record::Kind;
use super::layout::{Layout, private_file};
use super::lines::ended_lines;
use crate::domain::{ThreadId, ThreadState, Timestamp};
use crate::ports::ThreadSummary;
use crate::uimessage::Role;

/// Longest title, in characters: the beginning of the first message.
const TITLE_CHARS: usize = 60;
/// How many lines are searched for the first message.
const TITLE_LINES: u64 = 32;
/// How many lines are searched for the newest time: a snapshot of an answer has the time at which the answer began.
const MOMENT_LINES: usize = 4;
/// The file is rewritten when it has more lines than twice the threads plus this.
const SPARE_LINES: usize = 256;

/// A thread's summary, and the length of the file it was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    length: u64,
    #[serde(flatten)]
    summary: ThreadSummary,
}

/// Every thread; loaded on first use.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    entries: Option<BTreeMap<ThreadId, Entry>>,
    lines: usize,
}

impl Catalog {
    pub(super) fn is_loaded(&self) -> bool {
        self.entries.is_some()
    }

    /// Reads the file and compares it with the thread files; returns the threads whose entries are missing or outdated.
    pub(super) fn load(&mut self, layout: &Layout) -> io::Result<Vec<ThreadId>> {
        let bytes = match std::fs::read(layout.catalog()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut known: BTreeMap<ThreadId, Entry> = BTreeMap::new();
        self.lines = 0;
        for line in ended_lines(&bytes) {
            self.lines = self.lines.saturating_add(1);
            if let Ok(entry) = serde_json::from_slice::<Entry>(line) {
                known.insert(entry.summary.thread_id.clone(), entry);
            }
        }
        let (mut entries, mut stale) = (BTreeMap::new(), Vec::new());
        for (thread, length) in thread_files(layout)? {
            let entry = known.remove(&thread);
            if entry.as_ref().is_none_or(|entry| entry.length != length) {
                stale.push(thread.clone());
            }
            entries.extend(entry.map(|entry| (thread, entry)));
        }
        self.entries = Some(entries);
        Ok(stale)
    }

    /// The entry of a thread.
    pub(super) fn get(&self, thread: &ThreadId) -> Option<&Entry> {
        self.entries.as_ref()?.get(thread)
    }

    /// Adds entries, without writing them.
    pub(super) fn put(&mut self, fresh: &[Entry]) {
        let entries = self.entries.get_or_insert_default();
        entries.extend(fresh.iter().map(|entry| (entry.summary.thread_id.clone(), entry.clone())));
    }

    /// Appends entries to the file; rewrites it where most lines are outdated.
    pub(super) fn keep(&mut self, layout: &Layout, fresh: &[Entry]) -> io::Result<()> {
        if fresh.is_empty() {
            return Ok(());
        }
        let entries = self.entries.get_or_insert_default();
        let lines = self.lines.saturating_add(fresh.len());
        if lines > entries.len().saturating_mul(2).saturating_add(SPARE_LINES) {
            atomic::swap(&layout.catalog(), &to_lines(entries.values())?, 0o600)?;
            self.lines = entries.len();
        } else {
            let mut file = private_file().append(true).create(true).open(layout.catalog())?;
            file.write_all(&to_lines(fresh)?)?;
            self.lines = lines;
        }
        Ok(())
    }

    /// Every thread with content, newest first.
    pub(super) fn newest_first(&self, is_open: impl Fn(&ThreadId) -> bool) -> Vec<ThreadSummary> {
        let entries = self.entries.iter().flat_map(BTreeMap::values);
        let spoken = entries.filter(|entry| entry.summary.message_count > 0);
        let mut list: Vec<ThreadSummary> = spoken
            .map(|entry| {
                let open = is_open(&entry.summary.thread_id);
                let state = if open { ThreadState::Running } else { ThreadState::Idle };
                ThreadSummary { state, ..entry.summary.clone() }
            })
            .collect();
        list.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| a.thread_id.cmp(&b.thread_id)));
        list
    }
}

fn to_lines<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut bytes, entry)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Every thread file with its length.
pub(super) fn thread_files(layout: &Layout) -> io::Result<Vec<(ThreadId, u64)>> {
    let dir = match std::fs::read_dir(layout.threads()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        dir => dir?,
    };
    let mut files = Vec::new();
    for entry in dir {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        if let Some(Ok(thread)) = name.map(ThreadId::from_file_name) {
            files.push((thread, entry.metadata()?.len()));
        }
    }
    Ok(files)
}

/// Makes an entry; reuses the facts of an older entry of the same file.
pub(super) fn summarize(view: &mut View, thread: &ThreadId, older: Option<&Entry>) -> Result<Entry, Fault> {
    let length = view.covered()?;
    let older = older.filter(|older| older.length <= length);
    let from = older.map_or(0, |older| older.length);
    let count = older.map_or(0, |older| older.summary.message_count);
    let title = older.map(|older| older.summary.title.clone()).unwrap_or_default();
    let summary = ThreadSummary {
        thread_id: thread.clone(),
        state: ThreadState::Idle,
        message_count: count.saturating_add(history::messages_since(view, from)?),
        title: if title.is_empty() { find_title(view)? } else { title },
        updated_at: newest_moment(view)?.max(older.map(|older| older.summary.updated_at)).unwrap_or_default(),
        pending_approvals: 0,
    };
    Ok(Entry { length, summary })
}

fn find_title(view: &View) -> Result<String, Fault> {
    let mut said = Vec::new();
    view.visit(0, view.count().min(TITLE_LINES), |_, record| {
        if record.kind == Kind::First && record.role == Role::User {
            said.push(record);
        }
        ControlFlow::Continue(())
    })?;
    for record in &said {
        let title = title_of(&view.message(record)?.text());
        if !title.is_empty() {
            return Ok(title);
        }
    }
    Ok(String::new())
}

/// The beginning of a text, on one line.
pub(in crate::store) fn title_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(TITLE_CHARS).collect();
    let line = words.join(" ");
    let mut title: String = line.chars().take(TITLE_CHARS).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    title
}

fn newest_moment(view: &View) -> Result<Option<Timestamp>, Fault> {
    let mut last = Vec::new();
    view.visit_back(view.count(), |_, record| {
        if record.kind != Kind::Void {
            last.push(record);
        }
        if last.len() < MOMENT_LINES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let mut newest = None;
    for record in &last {
        newest = newest.max(Some(view.head(record)?.at));
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_short_line() {
        let long = "长".repeat(80);
        for (text, title) in [
            ("", String::new()),
            ("  how\n\nare \t you ", "how are you".to_owned()),
            (long.as_str(), format!("{}…", "长".repeat(60))),
        ] {
            assert_eq!(title_of(text), title);
        }
    }
}
