//! The daemon's log and the audit trail over HTTP, newest first, with filters.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::problem::Problem;
use super::server::Web;
use crate::domain::Timestamp;
use crate::ports::{AuditQuery, LogLevel, LogQuery};

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 500;

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct LogFilter {
    level: Option<String>,
    q: Option<String>,
    thread: Option<String>,
    since: Option<String>,
    until: Option<String>,
    before: Option<String>,
    limit: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LogLines {
    lines: Vec<Value>,
    /// `before` of the next page; `null` at the oldest line.
    next: Option<String>,
}

/// A page of the log. `next` leads to the one before it, also where no line of the part that was searched matches.
pub(super) async fn log(
    State(web): State<Arc<Web>>,
    Query(filter): Query<LogFilter>,
) -> Result<Json<LogLines>, Problem> {
    let level = filter.level.as_deref().map(|name| {
        LogLevel::named(name).ok_or_else(|| {
            Problem::bad(format!("there is no level {name:?}")).hint("use trace, debug, info, warn or error")
        })
    });
    let page = web.parts.log.read(LogQuery {
        level: level.transpose()?,
        since: time("since", filter.since.as_deref())?,
        until: time("until", filter.until.as_deref())?,
        text: filter.q.filter(|text| !text.is_empty()),
        thread: filter.thread.filter(|thread| !thread.is_empty()),
        before: filter.before,
        limit: limit(filter.limit)?,
    });
    let page = page.await?;
    Ok(Json(LogLines { lines: page.lines, next: page.next }))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct AuditFilter {
    since: Option<String>,
    thread: Option<String>,
    event: Option<String>,
    author: Option<String>,
    tool: Option<String>,
    outcome: Option<String>,
    skip: Option<usize>,
    limit: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AuditPage {
    lines: Vec<Value>,
    /// Whether there is a further page.
    more: bool,
    /// Lines that are no JSON.
    unreadable: usize,
}

/// A page of the audit trail, behind the newest `skip` lines that match.
pub(super) async fn audit(
    State(web): State<Arc<Web>>,
    Query(filter): Query<AuditFilter>,
) -> Result<Json<AuditPage>, Problem> {
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let limit = limit(filter.limit)?;
    let query = AuditQuery {
        since: time("since", filter.since.as_deref())?,
        thread: given(filter.thread),
        event: given(filter.event),
        author: given(filter.author),
        tool: given(filter.tool),
        outcome: given(filter.outcome),
        skip: filter.skip.unwrap_or_default(),
        // One more says whether there is a further page.
        limit: limit + 1,
    };
    // What was recorded before this request is part of the answer.
    web.parts.audit.flush().await;
    let found = web.parts.audit.read(query).await?;
    let more = found.lines.len() > limit;
    let lines: Vec<Value> = found.lines.into_iter().rev().take(limit).map(|line| line.facts).collect();
    Ok(Json(AuditPage { lines, more, unreadable: found.unreadable }))
}

fn limit(wanted: Option<usize>) -> Result<usize, Problem> {
    match wanted.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => Ok(limit),
        _ => Err(Problem::bad(format!("limit must be from 1 to {MAX_LIMIT}"))),
    }
}

/// A time of a query.
pub(super) fn time(key: &str, text: Option<&str>) -> Result<Option<Timestamp>, Problem> {
    let read = |text: &str| {
        Timestamp::parse_rfc3339(text).ok_or_else(|| {
            Problem::bad(format!("{key} is not a time")).hint("write it as 2026-11-18T12:00:00Z")
        })
    };
    text.filter(|text| !text.is_empty()).map(read).transpose()
}
