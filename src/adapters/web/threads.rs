//! Threads over HTTP: listing them, their messages, and writing a message.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body::JsonBody;
use super::chat::check;
use super::enrichment::Enriched;
use super::ingress::{OWN_PLATFORMS, said_or_command};
use super::login::Caller;
use super::logs::time;
use super::problem::Problem;
use super::server::Web;
use crate::domain::{
    Command, CorrelationId, InboundFile, IngressKind, MessageId, Platform, Said, ThreadId, ThreadState,
};
use crate::ports::{
    AuditEvent, AuditLine, FoundText, MarkedThreads, StoredEvent, ThreadFilter, ThreadMark, ThreadQuery,
    ThreadSummary, ThreadView,
};
use crate::uimessage::UiMessage;

pub(super) const DEFAULT_PAGE: usize = 50;
const LARGEST_PAGE: usize = 200;

/// Most bytes of the files of a message, as data URLs.
const MAX_FILE_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ListQuery {
    /// Words that a message of the thread, or its title, has.
    q: Option<String>,
    /// 50 unless given, 200 at most.
    limit: Option<usize>,
    /// The `nextBefore` of the page before.
    before: Option<String>,
    /// `idle`, `running`, `awaiting-approval` or `archived`.
    state: Option<String>,
    platform: Option<String>,
    /// A name, as the messages of the person show it: only threads in which they said something.
    person: Option<String>,
    /// RFC 3339: only threads whose last message is of this time or later.
    since: Option<String>,
    /// RFC 3339: only threads whose last message is earlier.
    until: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadList {
    pub(super) threads: Vec<ThreadRow>,
    /// The `before` of the next page, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_before: Option<String>,
}

/// A thread in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Thread")]
pub(super) struct ThreadRow {
    thread_id: ThreadId,
    state: ThreadState,
    title: String,
    /// RFC 3339.
    updated_at: String,
    message_count: u64,
    pending_approvals: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pinned: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    archived: bool,
    /// In answers to `q`: the newest message with the words.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<Snippet>,
}

/// The place in a message where the words are.
#[derive(Debug, Serialize, JsonSchema)]
struct Snippet {
    id: String,
    /// Milliseconds since the epoch.
    at: i64,
    author: String,
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MessageList {
    /// Oldest first.
    messages: Vec<UiMessage>,
}

/// A message was accepted.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageAccepted {
    pub(super) message_id: MessageId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SayAnswer {
    message_id: MessageId,
    correlation_id: Option<CorrelationId>,
    /// Whether the thread had the message already.
    duplicate: bool,
}

/// A page of the threads, newest first, each with its live state.
pub(super) async fn list(
    State(web): State<Arc<Web>>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<ThreadList>, Problem> {
    let Query(query) =
        query.map_err(|_| Problem::bad(format!("limit must be a number from 1 to {LARGEST_PAGE}")))?;
    let archived = query.state.as_deref() == Some("archived");
    let wanted = match query.state.as_deref() {
        None | Some("archived") => None,
        Some("idle") => Some(ThreadState::Idle),
        Some("running") => Some(ThreadState::Running),
        Some("awaiting-approval") => Some(ThreadState::AwaitingApproval),
        Some(other) => {
            let text = format!("there is no state `{other}`");
            return Err(Problem::bad(text).hint("known states: idle, running, awaiting-approval, archived"));
        }
    };
    let before = query.before.map(|before| {
        before.parse().map_err(|_| {
            Problem::bad("before must be the nextBefore of an earlier page, a thread id or a time")
        })
    });
    let platform = query.platform.map(|platform| {
        platform.parse::<Platform>().map_err(|bad| Problem::of_id("platform", &platform, &bad))
    });
    let (before, platform) = (before.transpose()?, platform.transpose()?);
    let live: HashMap<ThreadId, ThreadView> = web.threads.views().await.into_iter().collect();
    let state = match wanted {
        None => ThreadFilter::All,
        // Threads that are not in memory are idle.
        Some(ThreadState::Idle) => ThreadFilter::Except(in_state(&live, |state| state != ThreadState::Idle)),
        Some(wanted) => ThreadFilter::Only(in_state(&live, |state| state == wanted)),
    };
    let marks = web.parts.thread_marks.all().await?;
    let put_away = marks.iter().filter(|(_, mark)| mark.archived).map(|(thread, _)| thread.clone()).collect();
    let words = query.q.as_deref().map(str::trim).filter(|words| !words.is_empty());
    let filter = match words {
        // A search finds archived threads as well.
        None if archived => state.and(ThreadFilter::Only(put_away)),
        None => state.and(ThreadFilter::Except(put_away)),
        Some(words) => state.and(ThreadFilter::Only(web.threads_about(words, &marks).await?)),
    };
    let filter = match query.person.as_deref().map(str::trim).filter(|person| !person.is_empty()) {
        Some(person) => filter.and(ThreadFilter::Only(web.parts.search.threads_by(person.to_owned()).await?)),
        None => filter,
    };
    let query = ThreadQuery {
        since: time("since", query.since.as_deref())?,
        until: time("until", query.until.as_deref())?,
        limit: query.limit.unwrap_or(DEFAULT_PAGE).clamp(1, LARGEST_PAGE),
        before,
        platform,
        filter,
    };
    let mut body = web.thread_page(query, &live).await?;
    if let Some(words) = words {
        web.add_snippets(&mut body, words).await?;
    }
    Ok(Json(body))
}

fn in_state(
    live: &HashMap<ThreadId, ThreadView>,
    wanted: impl Fn(ThreadState) -> bool,
) -> BTreeSet<ThreadId> {
    live.iter().filter(|(_, view)| wanted(view.state)).map(|(thread, _)| thread.clone()).collect()
}

impl Web {
    /// A page of the list as clients get it.
    pub(super) async fn thread_page(
        &self,
        query: ThreadQuery,
        live: &HashMap<ThreadId, ThreadView>,
    ) -> Result<ThreadList, Problem> {
        let page = self.parts.store.list(query).await?;
        let marks = self.parts.thread_marks.all().await?;
        let next_before = page.next.map(|next| next.to_string());
        Ok(ThreadList { threads: rows(&page.threads, &marks, live), next_before })
    }
}

impl Web {
    /// The threads in which these words were said, or that the operator named so.
    async fn threads_about(&self, words: &str, marks: &MarkedThreads) -> Result<BTreeSet<ThreadId>, Problem> {
        let mut found = self.parts.search.threads_with(words.to_owned()).await?;
        let words = words.to_lowercase();
        let named = marks
            .iter()
            .filter(|(_, mark)| mark.title().is_some_and(|title| title.to_lowercase().contains(&words)));
        found.extend(named.map(|(thread, _)| thread.clone()));
        Ok(found)
    }

    /// Adds to each thread of a page the newest message that has the words.
    async fn add_snippets(&self, body: &mut ThreadList, words: &str) -> Result<(), Problem> {
        let threads = body.threads.iter().map(|row| row.thread_id.clone()).collect();
        let found: HashMap<ThreadId, FoundText> =
            self.parts.search.newest_with(words.to_owned(), threads).await?.into_iter().collect();
        for row in &mut body.threads {
            row.snippet = found.get(&row.thread_id).map(|found| Snippet {
                id: found.id.clone(),
                at: found.at,
                author: found.author.clone(),
                text: around(&found.text, words),
            });
        }
        Ok(())
    }

    /// The pinned threads, which a page lists before all others.
    pub(super) async fn pinned(
        &self,
        live: &HashMap<ThreadId, ThreadView>,
    ) -> Result<Vec<ThreadRow>, Problem> {
        let marks = self.parts.thread_marks.all().await?;
        let pinned: BTreeSet<ThreadId> =
            marks.iter().filter(|(_, mark)| mark.pinned).map(|(thread, _)| thread.clone()).collect();
        if pinned.is_empty() {
            return Ok(Vec::new());
        }
        let query = ThreadQuery { filter: ThreadFilter::Only(pinned), ..ThreadQuery::newest(LARGEST_PAGE) };
        let page = self.parts.store.list(query).await?;
        Ok(rows(&page.threads, &marks, live))
    }
}

/// The part of a text around the first of the words.
fn around(text: &str, words: &str) -> String {
    const BEFORE: usize = 60;
    const LENGTH: usize = 200;
    let first = words.split_whitespace().next().unwrap_or_default();
    let chars: Vec<char> = text.chars().collect();
    let wanted: Vec<char> = first.to_lowercase().chars().collect();
    let same = |window: &[char]| window.iter().flat_map(|c| c.to_lowercase()).eq(wanted.iter().copied());
    let at = chars.windows(wanted.len().max(1)).position(same).unwrap_or(0);
    let start = at.saturating_sub(BEFORE);
    let part: String = chars.iter().skip(start).take(LENGTH).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if chars.len() > start.saturating_add(LENGTH) { "…" } else { "" };
    format!("{before}{part}{after}")
}

fn rows(
    threads: &[ThreadSummary],
    marks: &MarkedThreads,
    live: &HashMap<ThreadId, ThreadView>,
) -> Vec<ThreadRow> {
    let row = |thread: &ThreadSummary| {
        thread_row(thread, marks.get(&thread.thread_id), live.get(&thread.thread_id))
    };
    threads.iter().map(row).collect()
}

/// A thread as clients get it. The live state wins over the stored one.
pub(super) fn thread_row(
    thread: &ThreadSummary,
    mark: Option<&ThreadMark>,
    live: Option<&ThreadView>,
) -> ThreadRow {
    let waiting = live.and_then(|view| u64::try_from(view.pending_approvals).ok());
    let title = mark.and_then(ThreadMark::title).unwrap_or(&thread.title);
    ThreadRow {
        thread_id: thread.thread_id.clone(),
        state: live.map_or(thread.state, |view| view.state),
        title: title.to_owned(),
        updated_at: thread.updated_at.rfc3339(),
        message_count: thread.message_count,
        pending_approvals: waiting.unwrap_or(thread.pending_approvals),
        pinned: mark.is_some_and(|mark| mark.pinned),
        archived: mark.is_some_and(|mark| mark.archived),
        snippet: None,
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct PageQuery {
    /// 50 unless given, 200 at most.
    limit: Option<usize>,
    /// Only messages before this one.
    before: Option<MessageId>,
}

/// A page of a thread's messages, oldest first.
pub(super) async fn messages(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<MessageList>, Problem> {
    let thread: ThreadId = thread.parse()?;
    let Query(query) = query.map_err(|_| {
        Problem::bad(format!(
            "limit must be a number from 1 to {LARGEST_PAGE}, and before the id of a message"
        ))
    })?;
    let limit = query.limit.unwrap_or(DEFAULT_PAGE).clamp(1, LARGEST_PAGE);
    let messages = web.parts.store.page(&thread, query.before.as_ref(), limit).await?;
    Ok(Json(MessageList { messages }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SentFile {
    media_type: String,
    /// A data: or https: address.
    url: String,
    filename: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SayRequest {
    id: String,
    text: String,
    #[serde(default)]
    files: Vec<SentFile>,
}

/// Submits a message to a thread, as the operator. The answer comes through the thread's events, and in a thread of
/// another platform also there.
pub(super) async fn say(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
    Extension(caller): Extension<Caller>,
    JsonBody(request): JsonBody<SayRequest>,
) -> Result<(StatusCode, Json<SayAnswer>), Problem> {
    let thread: ThreadId = thread.parse()?;
    let own = OWN_PLATFORMS.contains(&thread.platform().as_str());
    // A message would create a thread that does not exist.
    if !own && !web.parts.store.exists(&thread).await? {
        return Err(Problem::not_found("thread"));
    }
    let id = &request.id;
    let message: MessageId = id.parse().map_err(|bad| Problem::of_id("id", id, &bad))?;
    let said = Said { announced: !own, ..said(request.text, request.files)? };
    let author = web.operator(&if own { thread.platform().clone() } else { "web".parse()? })?;
    let Enriched { kind, alone } = web.enriched(&thread, &author, &message, said_or_command(said)).await?;
    let taken = web.submit(&thread, author.clone(), message, kind).await?;
    drop(alone);
    if !own {
        web.parts.audit.record(AuditLine {
            thread: Some(thread),
            correlation: taken.correlation.clone(),
            author: Some(author.id),
            via: Some(caller.via().to_owned()),
            ..AuditLine::new(AuditEvent::OperatorWrote, web.clock.now())
        });
    }
    let StoredEvent { message, correlation, duplicate } = taken;
    let answer = SayAnswer { message_id: message, correlation_id: correlation, duplicate };
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

fn said(text: String, files: Vec<SentFile>) -> Result<Said, Problem> {
    if text.trim().is_empty() && files.is_empty() {
        return Err(Problem::bad("text must not be empty"));
    }
    if files.iter().map(|file| file.url.len()).sum::<usize>() > MAX_FILE_BYTES {
        let text = "the files of a message may have at most 8 MiB";
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, text));
    }
    let files = files
        .into_iter()
        .map(|file| InboundFile { media_type: file.media_type, url: file.url, name: file.filename })
        .collect();
    let said = Said { text, files, ..Said::default() };
    check(&said)?;
    Ok(said)
}

/// Stops the running turn of a thread on any platform; the operator may stop every thread.
pub(super) async fn stop(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<MessageAccepted>, Problem> {
    let thread: ThreadId = thread.parse()?;
    // A command leaves a record, and a record would create a thread that does not exist.
    if web.parts.store.page(&thread, None, 1).await?.is_empty() {
        return Err(Problem::not_found("thread"));
    }
    let author = web.operator(&"web".parse()?)?;
    let kind = IngressKind::Command(Command::Stop.into());
    let taken = web.submit(&thread, author.clone(), web.fresh_message()?, kind).await?;
    web.parts.audit.record(AuditLine {
        thread: Some(thread),
        correlation: taken.correlation,
        author: Some(author.id),
        via: Some(caller.via().to_owned()),
        ..AuditLine::new(AuditEvent::ThreadStopped, web.clock.now())
    });
    Ok(Json(MessageAccepted { message_id: taken.message }))
}
