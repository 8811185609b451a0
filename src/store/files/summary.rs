//! Makes the summary of a thread from its file: title, time, number of messages.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::history;
use super::index::{IndexFault, ThreadFileView};
use super::index_record::RecordKind;
use crate::domain::{ThreadId, ThreadState, Timestamp};
use crate::ports::ThreadSummary;
use crate::uimessage::Role;

/// Longest title, in characters: the beginning of the first message.
const TITLE_CHARS: usize = 60;
/// How many lines are searched for the first message.
const TITLE_LINES: u64 = 32;
/// How many lines are searched for the newest time: a snapshot of an answer has the time at which the answer began.
const MOMENT_LINES: usize = 4;

/// A summary, and the length of the thread file it was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SummaryRecord {
    pub(super) length: u64,
    #[serde(flatten)]
    pub(super) summary: ThreadSummary,
}

/// Makes an entry; reuses the facts of an older entry of the same file.
pub(super) fn summarize(
    view: &mut ThreadFileView,
    thread: &ThreadId,
    older: Option<&SummaryRecord>,
) -> Result<SummaryRecord, IndexFault> {
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
    Ok(SummaryRecord { length, summary })
}

fn find_title(view: &ThreadFileView) -> Result<String, IndexFault> {
    let mut said = Vec::new();
    view.visit(0, view.count().min(TITLE_LINES), |_, record| {
        if record.kind == RecordKind::First && record.role == Role::User {
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

fn newest_moment(view: &ThreadFileView) -> Result<Option<Timestamp>, IndexFault> {
    let mut last = Vec::new();
    view.visit_back(view.count(), |_, record| {
        if record.kind != RecordKind::Void {
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
