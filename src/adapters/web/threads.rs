//! Threads over HTTP: listing them, their messages, and writing a message.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::body::JsonBody;
use super::ingress::said_or_command;
use super::login::Caller;
use super::problem::Problem;
use super::server::Web;
use crate::domain::{Command, IngressKind, MessageId, Platform, Said, ThreadId, ThreadState};
use crate::ports::{Among, AuditEvent, AuditLine, ThreadQuery, ThreadSummary, ThreadView};

pub(super) const DEFAULT_PAGE: usize = 50;
const LARGEST_PAGE: usize = 200;

/// Platforms whose threads the token holder may write to. The others belong to their people.
const OWN_PLATFORMS: [&str; 2] = ["web", "cli"];

#[derive(Debug, Deserialize)]
pub(super) struct ListQuery {
    limit: Option<usize>,
    before: Option<String>,
    state: Option<String>,
    platform: Option<String>,
}

/// A page of the threads, newest first, each with its live state.
pub(super) async fn list(
    State(web): State<Arc<Web>>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let Query(query) =
        query.map_err(|_| Problem::bad(format!("limit must be a number from 1 to {LARGEST_PAGE}")))?;
    let wanted = match query.state.as_deref() {
        None => None,
        Some("idle") => Some(ThreadState::Idle),
        Some("running") => Some(ThreadState::Running),
        Some("awaiting-approval") => Some(ThreadState::AwaitingApproval),
        Some(other) => {
            let text = format!("there is no state `{other}`");
            return Err(Problem::bad(text).hint("known states: idle, running, awaiting-approval"));
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
    let among = match wanted {
        None => Among::All,
        // Threads that are not in memory are idle.
        Some(ThreadState::Idle) => Among::Except(in_state(&live, |state| state != ThreadState::Idle)),
        Some(wanted) => Among::Only(in_state(&live, |state| state == wanted)),
    };
    let query = ThreadQuery {
        limit: query.limit.unwrap_or(DEFAULT_PAGE).clamp(1, LARGEST_PAGE),
        before,
        platform,
        among,
    };
    web.thread_page(query, &live).await.map(Json)
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
    ) -> Result<Value, Problem> {
        let page = self.parts.store.list(query).await?;
        let threads = page.threads.iter().map(|thread| thread_row(thread, live.get(&thread.thread_id)));
        let threads: Vec<Value> = threads.collect();
        let mut body = json!({ "threads": threads });
        if let (Some(next), Some(body)) = (page.next, body.as_object_mut()) {
            body.insert("nextBefore".to_owned(), next.to_string().into());
        }
        Ok(body)
    }
}

/// A thread as clients get it. The live state wins over the stored one.
pub(super) fn thread_row(thread: &ThreadSummary, live: Option<&ThreadView>) -> Value {
    let waiting = live.and_then(|view| u64::try_from(view.pending_approvals).ok());
    json!({
        "threadId": thread.thread_id,
        "state": live.map_or(thread.state, |view| view.state),
        "title": thread.title,
        "updatedAt": thread.updated_at.rfc3339(),
        "messageCount": thread.message_count,
        "pendingApprovals": waiting.unwrap_or(thread.pending_approvals),
    })
}

#[derive(Debug, Deserialize)]
pub(super) struct PageQuery {
    before: Option<MessageId>,
    limit: Option<usize>,
}

/// A page of a thread's messages, oldest first.
pub(super) async fn messages(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let thread: ThreadId = thread.parse()?;
    let Query(query) = query.map_err(|_| {
        Problem::bad(format!(
            "limit must be a number from 1 to {LARGEST_PAGE}, and before the id of a message"
        ))
    })?;
    let limit = query.limit.unwrap_or(DEFAULT_PAGE).clamp(1, LARGEST_PAGE);
    let messages = web.parts.store.page(&thread, query.before.as_ref(), limit).await?;
    Ok(Json(json!({ "messages": messages })))
}

#[derive(Debug, Deserialize)]
pub(super) struct SayRequest {
    id: String,
    text: String,
}

/// Submits a message to a thread of the operator's own. The answer comes through the thread's events.
pub(super) async fn say(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
    JsonBody(request): JsonBody<SayRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let thread: ThreadId = thread.parse()?;
    if !OWN_PLATFORMS.contains(&thread.platform().as_str()) {
        let text = "this thread belongs to another platform: it can be read here, not written";
        return Err(Problem::new(StatusCode::FORBIDDEN, text));
    }
    if request.text.trim().is_empty() {
        return Err(Problem::bad("text must not be empty"));
    }
    let id = &request.id;
    let message: MessageId = id.parse().map_err(|bad| Problem::of_id("id", id, &bad))?;
    let said = Said { text: request.text, ..Said::default() };
    let author = web.operator(thread.platform())?;
    let taken = web.submit(&thread, author, message, said_or_command(said)).await?;
    let body = json!({
        "messageId": taken.message,
        "correlationId": taken.correlation,
        "duplicate": taken.duplicate,
    });
    Ok((StatusCode::ACCEPTED, Json(body)))
}

/// Stops the running turn of a thread on any platform; the operator may stop every thread.
pub(super) async fn stop(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Value>, Problem> {
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
    Ok(Json(json!({ "messageId": taken.message })))
}
