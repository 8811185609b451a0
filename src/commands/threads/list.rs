//! `threads list`.

use std::io::Write;

use serde_json::{Value, json};

use crate::cli::{Exit, Output};
use crate::commands::cli_context::CliContext;
use crate::commands::terminal::{moment, one_line};
use crate::commands::text_table::table;
use crate::domain::{Approval, ThreadState};
use crate::phrases::commands as words;
use crate::ports::{ThreadQuery, ThreadSummary};

/// Most columns of a title.
const TITLE_COLUMNS: usize = 60;

/// Lists every thread, the newest first.
pub(super) fn list(context: &CliContext, output: Output, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let mut threads = context.wait(context.store.threads.list(ThreadQuery::newest(usize::MAX)))?.threads;
    mark_waiting(&mut threads, &context.wait(context.store.approvals.list())?);
    if output.json {
        let threads: Vec<Value> = threads.iter().map(to_json).collect();
        writeln!(out, "{:#}", json!({ "threads": threads }))?;
    } else if threads.is_empty() {
        writeln!(out, "{}", words::no_threads(context.language))?;
    } else {
        write!(out, "{}", rows(context, &threads))?;
    }
    Ok(Exit::Ok)
}

/// The catalog has no approvals; the state of waiting threads comes from the approval files.
fn mark_waiting(threads: &mut [ThreadSummary], approvals: &[Approval]) {
    for approval in approvals.iter().filter(|approval| approval.is_pending()) {
        if let Some(thread) = threads.iter_mut().find(|thread| thread.thread_id == approval.thread) {
            thread.state = ThreadState::AwaitingApproval;
            thread.pending_approvals = thread.pending_approvals.saturating_add(1);
        }
    }
}

/// A thread in the JSON of the HTTP interface.
fn to_json(thread: &ThreadSummary) -> Value {
    json!({
        "threadId": thread.thread_id,
        "state": thread.state,
        "title": thread.title,
        "updatedAt": thread.updated_at.rfc3339(),
        "messageCount": thread.message_count,
        "pendingApprovals": thread.pending_approvals,
    })
}

fn rows(context: &CliContext, threads: &[ThreadSummary]) -> String {
    let rows = threads.iter().map(|thread| {
        [
            thread.thread_id.to_string(),
            words::thread_state(thread.state, context.language).to_owned(),
            thread.message_count.to_string(),
            moment(thread.updated_at, &context.zone),
            one_line(&thread.title, TITLE_COLUMNS),
        ]
    });
    table(context.surface, words::thread_columns(context.language), &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::commands::terminal::Surface;
    use crate::domain::{Language, Timestamp};

    #[test]
    fn columns_stand_below_each_other_also_with_chinese() {
        let context =
            CliContext::with("/nonexistent".into(), Language::Zh, TimeZone::UTC, Surface::Stream).unwrap();
        let thread = |id: &str, state, title: &str, message_count| ThreadSummary {
            thread_id: id.parse().unwrap(),
            state,
            title: title.to_owned(),
            updated_at: Timestamp::from_millis(1_700_000_000_000),
            message_count,
            pending_approvals: 0,
        };
        let threads = [
            thread("web:chat:1", ThreadState::Running, "你好", 12),
            thread("cli:chat:terminal", ThreadState::Idle, "hello \u{1b}[2J there", 2),
        ];
        insta::assert_snapshot!(rows(&context, &threads), @r"
        会话               状态    消息数  更新时间          标题
        web:chat:1         进行中  12      2023-11-14 22:13  你好
        cli:chat:terminal  空闲    2       2023-11-14 22:13  hello [2J there
        ");
    }
}
