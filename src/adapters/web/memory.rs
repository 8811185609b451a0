//! Memory over HTTP, as the operator: reading it per scope, its ledger, changing it, and searching it.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::body::JsonBody;
use super::problem::Problem;
use super::server::Web;
use crate::domain::tokens::estimate_tokens;
use crate::domain::{
    CORE_TOKENS, ChangeRefusal, MemoryChange, MemoryEdit, MemoryItem, Origin, Provenance, ScopeKey, Tier,
};
use crate::ports::{ChangeError, Freshness, LedgerRequest, SearchArea, SearchRequest};

const DEFAULT_LINES: usize = 50;
const MOST_LINES: usize = 500;
const MOST_RESULTS: usize = 100;

#[derive(Debug, Deserialize)]
pub(super) struct MemoryQuery {
    scope: Option<String>,
    /// Of the notes.
    month: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct LedgerQuery {
    scope: Option<String>,
    before: Option<u64>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SearchQuery {
    q: String,
    scope: Option<String>,
    limit: Option<usize>,
}

fn query_of<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Problem> {
    query.map(|Query(query)| query).map_err(|_| Problem::bad("the query cannot be read").coded("bad-query"))
}

fn scope_of(raw: &str) -> Result<ScopeKey, Problem> {
    raw.parse().map_err(|bad| Problem::of_id("scope", raw, &bad).coded("unknown-scope"))
}

/// The scopes that have memory, or all of one scope.
pub(super) async fn show(
    State(web): State<Arc<Web>>,
    query: Result<Query<MemoryQuery>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let MemoryQuery { scope, month } = query_of(query)?;
    let memory = &web.parts.memory;
    let Some(scope) = scope else {
        return Ok(Json(json!({ "scopes": memory.scopes().await? })));
    };
    let scope = scope_of(&scope)?;
    let file = memory.core(&scope).await?;
    let notes = memory.notes(&scope, month).await?;
    let unreviewed = memory.unreviewed(&scope).await?;
    let item = |item: &MemoryItem| {
        let id = item.handle();
        json!({
            "reviewed": !unreviewed.contains(&id),
            "id": id,
            "text": item.text,
            "byHand": item.id.is_none(),
            "at": item.at,
            "author": item.author,
        })
    };
    Ok(Json(json!({
        "scope": scope,
        "file": format!(".ship/{}", scope.core_file()),
        "text": file.text,
        "digest": file.digest,
        "cut": file.cut,
        "isText": file.is_text,
        "tokens": estimate_tokens(&file.text),
        "mostTokens": CORE_TOKENS,
        "items": file.items().iter().map(item).collect::<Vec<_>>(),
        "notes": notes.notes.iter().map(item).collect::<Vec<_>>(),
        "earlierNotes": notes.earlier,
    })))
}

/// A page of the ledger, newest first.
pub(super) async fn ledger(
    State(web): State<Arc<Web>>,
    query: Result<Query<LedgerQuery>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let LedgerQuery { scope, before, limit } = query_of(query)?;
    let scope = scope.as_deref().map(scope_of).transpose()?;
    let limit = limit.unwrap_or(DEFAULT_LINES).clamp(1, MOST_LINES);
    let page = web.parts.memory.ledger(LedgerRequest { scope, before, limit }).await?;
    Ok(Json(json!({ "lines": page.lines, "hasMore": page.has_more, "damaged": page.damaged })))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Edit,
    Forget,
    Undo,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ChangeRequest {
    scope: String,
    action: Action,
    /// The whole new text of core memory.
    text: Option<String>,
    /// The item to forget.
    id: Option<String>,
    tier: Option<Tier>,
    /// The version that was read.
    digest: Option<String>,
}

/// Changes memory, if it is still as it was read.
pub(super) async fn change(
    State(web): State<Arc<Web>>,
    JsonBody(request): JsonBody<ChangeRequest>,
) -> Result<Json<Value>, Problem> {
    let scope = scope_of(&request.scope)?;
    let provenance = Provenance {
        at: web.clock.now(),
        by: Some(web.operator(&"web".parse()?)?.id),
        via: Some("console".to_owned()),
        thread: None,
        from: Vec::new(),
        origin: Origin::Owner,
        reviewed: true,
    };
    let memory = &web.parts.memory;
    let tier = request.tier.unwrap_or(Tier::Core);
    let edit = match (request.action, request.text, request.id) {
        (Action::Edit, Some(text), _) => MemoryEdit::Write { text },
        (Action::Edit, None, _) => return Err(Problem::bad("text must be given")),
        (Action::Forget, _, Some(id)) => MemoryEdit::Forget { id },
        (Action::Forget, _, None) => return Err(Problem::bad("id must be given")),
        (Action::Undo, ..) => {
            let line = memory.undo(&scope, provenance).await.map_err(refused)?;
            let digest = memory.core(&scope).await?.digest;
            return Ok(Json(json!({ "line": line, "digest": digest })));
        }
    };
    let change = MemoryChange { scope: scope.clone(), tier, edit, expected: request.digest, provenance };
    let line = memory.apply(change).await.map_err(refused)?;
    let digest = memory.core(&scope).await?.digest;
    Ok(Json(json!({ "line": line, "digest": digest })))
}

fn refused(error: ChangeError) -> Problem {
    let refusal = match error {
        ChangeError::Store(error) => return error.into(),
        ChangeError::Refused(refusal) => refusal,
    };
    let (status, code) = match refusal {
        ChangeRefusal::NoSuchItem(_) => (StatusCode::NOT_FOUND, "no-such-item"),
        ChangeRefusal::Changed => (StatusCode::CONFLICT, "changed"),
        ChangeRefusal::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "too-large"),
        _ => (StatusCode::CONFLICT, "refused"),
    };
    Problem::new(status, refusal.to_string()).coded(code)
}

/// Searches the memory of a scope, or of all scopes.
pub(super) async fn search(
    State(web): State<Arc<Web>>,
    query: Result<Query<SearchQuery>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let SearchQuery { q, scope, limit } = query_of(query)?;
    if q.trim().is_empty() {
        return Err(Problem::bad("q must not be empty"));
    }
    let scopes = match scope {
        Some(scope) => vec![scope_of(&scope)?],
        None => web.parts.memory.scopes().await?,
    };
    let request = SearchRequest {
        query: q,
        areas: scopes.into_iter().map(SearchArea::Memory).collect(),
        since: None,
        until: None,
        limit: limit.unwrap_or(20).clamp(1, MOST_RESULTS),
        freshness: Freshness::CatchUp,
    };
    let page = web.parts.search.search(request).await?;
    let results: Vec<Value> = page
        .hits
        .iter()
        .map(|hit| {
            json!({
                "id": hit.found.id, "at": hit.found.at, "author": hit.found.author, "text": hit.found.text,
                "score": hit.score, "source": hit.source.as_str(), "threadId": hit.thread,
            })
        })
        .collect();
    Ok(Json(json!({ "results": results, "hasMore": page.has_more })))
}
