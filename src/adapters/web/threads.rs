//! Threads over HTTP: listing them, their messages, and writing a message.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::body::JsonBody;
use super::ingress::said_or_command;
use super::problem::Problem;
use super::server::Web;
use crate::domain::{Command, IngressKind, MessageId, Said, ThreadId};

const DEFAULT_PAGE: usize = 50;
const LARGEST_PAGE: usize = 200;

/// Platforms whose threads the token holder may write to. The others belong to their people.
const OWN_PLATFORMS: [&str; 2] = ["web", "cli"];

/// All threads, newest first, each with its current state.
pub(super) async fn list(State(web): State<Arc<Web>>) -> Result<Json<Value>, Problem> {
    let summaries = web.parts.store.list().await?;
    let live: HashMap<_, _> = web.door.views().await.into_iter().collect();
    let threads: Vec<Value> = summaries
        .into_iter()
        .map(|thread| {
            let now = live.get(&thread.thread_id);
            let waiting = now.and_then(|view| u64::try_from(view.pending_approvals).ok());
            json!({
                "threadId": thread.thread_id,
                "state": now.map_or(thread.state, |view| view.state),
                "title": thread.title,
                "updatedAt": thread.updated_at.rfc3339(),
                "messageCount": thread.message_count,
                "pendingApprovals": waiting.unwrap_or(thread.pending_approvals),
            })
        })
        .collect();
    Ok(Json(json!({ "threads": threads })))
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

/// Stops the running turn of a thread.
pub(super) async fn stop(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
) -> Result<Json<Value>, Problem> {
    let thread: ThreadId = thread.parse()?;
    // A command leaves a record, and a record would create a thread that does not exist.
    if web.parts.store.page(&thread, None, 1).await?.is_empty() {
        return Err(Problem::not_found("thread"));
    }
    let author = web.operator(&"web".parse()?)?;
    let kind = IngressKind::Command(Command::Stop.into());
    let taken = web.submit(&thread, author, web.fresh_message()?, kind).await?;
    Ok(Json(json!({ "messageId": taken.message })))
}
