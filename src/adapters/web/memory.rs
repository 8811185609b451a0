//! Memory over HTTP, as the operator: reading it per scope, its ledger, changing it, and searching it.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body::JsonBody;
use super::problem::Problem;
use super::server::Web;
use crate::domain::tokens::estimate_tokens;
use crate::domain::{
    CORE_TOKENS, ChangeRefusal, LedgerLine, MemoryChange, MemoryEdit, MemoryItem, Origin, Provenance,
    ScopeKey, ThreadId, Tier, Timestamp,
};
use crate::ports::{
    ChangeError, Freshness, LedgerRequest, SearchArea, SearchHit, SearchRequest, ThreadQuery,
};
use crate::uimessage::{CheckpointReason, Observation, OpenAsk, WrittenBy};

const DEFAULT_LINES: usize = 50;
const MOST_LINES: usize = 500;
const MOST_RESULTS: usize = 100;
/// So many threads are looked through for checkpoints.
const CHECKPOINT_THREADS: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MemoryQuery {
    scope: Option<String>,
    /// Of the notes.
    month: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct LedgerQuery {
    scope: Option<String>,
    before: Option<u64>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SearchQuery {
    q: String,
    scope: Option<String>,
    limit: Option<usize>,
}

/// The scopes that have memory, where none was named, or the memory of one.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum MemoryAnswer {
    Scopes { scopes: Vec<ScopeKey> },
    Scope(Box<ScopeMemory>),
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScopeMemory {
    scope: ScopeKey,
    /// The path of core memory in the project.
    file: String,
    text: String,
    /// Names this version of the text.
    digest: String,
    /// Whether the file is longer than the text.
    cut: bool,
    is_text: bool,
    /// The estimated length.
    tokens: usize,
    most_tokens: usize,
    items: Vec<ItemRow>,
    notes: Vec<ItemRow>,
    /// The next older month that has notes.
    earlier_notes: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MemoryItem")]
struct ItemRow {
    reviewed: bool,
    id: String,
    text: String,
    by_hand: bool,
    /// Milliseconds since the epoch.
    at: Option<i64>,
    author: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ledger {
    lines: Vec<LedgerLine>,
    has_more: bool,
    /// How many lines cannot be read.
    damaged: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Changed {
    /// `null` where nothing had to be changed.
    line: Option<LedgerLine>,
    digest: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CheckpointList {
    checkpoints: Vec<CheckpointRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Checkpoint")]
struct CheckpointRow {
    thread_id: ThreadId,
    title: String,
    at: Timestamp,
    number: u32,
    reason: CheckpointReason,
    /// How many messages it covers.
    messages: u64,
    observations: Vec<Observation>,
    open: Vec<OpenAsk>,
    by: WrittenBy,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchAnswer {
    results: Vec<SearchRow>,
    has_more: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SearchResult")]
struct SearchRow {
    id: String,
    /// Milliseconds since the epoch.
    at: i64,
    author: String,
    text: String,
    score: f64,
    source: &'static str,
    thread_id: Option<ThreadId>,
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
) -> Result<Json<MemoryAnswer>, Problem> {
    let MemoryQuery { scope, month } = query_of(query)?;
    let memory = &web.parts.memory;
    let Some(scope) = scope else {
        return Ok(Json(MemoryAnswer::Scopes { scopes: memory.scopes().await? }));
    };
    let scope = scope_of(&scope)?;
    let file = memory.core(&scope).await?;
    let notes = memory.notes(&scope, month).await?;
    let unreviewed = memory.unreviewed(&scope).await?;
    let item = |item: MemoryItem| {
        let id = item.handle();
        ItemRow {
            reviewed: !unreviewed.contains(&id),
            id,
            text: item.text,
            by_hand: item.id.is_none(),
            at: item.at,
            author: item.author,
        }
    };
    Ok(Json(MemoryAnswer::Scope(Box::new(ScopeMemory {
        file: format!(".ship/{}", scope.core_file()),
        scope,
        tokens: estimate_tokens(&file.text),
        most_tokens: CORE_TOKENS,
        items: file.items().into_iter().map(item).collect(),
        notes: notes.notes.into_iter().map(item).collect(),
        earlier_notes: notes.earlier,
        text: file.text,
        digest: file.digest,
        cut: file.cut,
        is_text: file.is_text,
    }))))
}

/// A page of the ledger, newest first.
pub(super) async fn ledger(
    State(web): State<Arc<Web>>,
    query: Result<Query<LedgerQuery>, QueryRejection>,
) -> Result<Json<Ledger>, Problem> {
    let LedgerQuery { scope, before, limit } = query_of(query)?;
    let scope = scope.as_deref().map(scope_of).transpose()?;
    let limit = limit.unwrap_or(DEFAULT_LINES).clamp(1, MOST_LINES);
    let page = web.parts.memory.ledger(LedgerRequest { scope, before, limit }).await?;
    Ok(Json(Ledger { lines: page.lines, has_more: page.has_more, damaged: page.damaged }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Edit,
    Forget,
    Undo,
}

#[derive(Debug, Deserialize, JsonSchema)]
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
) -> Result<Json<Changed>, Problem> {
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
            let line = memory.undo(&scope, provenance).await.map_err(refused)?.line;
            let digest = memory.core(&scope).await?.digest;
            return Ok(Json(Changed { line: Some(line), digest }));
        }
    };
    let change = MemoryChange { scope: scope.clone(), tier, edit, expected: request.digest, provenance };
    let line = memory.apply(change).await.map_err(refused)?;
    let digest = memory.core(&scope).await?.digest;
    Ok(Json(Changed { line, digest }))
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

/// The checkpoints that hold in the newest threads, newest first.
pub(super) async fn checkpoints(State(web): State<Arc<Web>>) -> Result<Json<CheckpointList>, Problem> {
    let store = &web.parts.store;
    let page = store.list(ThreadQuery::newest(CHECKPOINT_THREADS)).await?;
    let mut found = Vec::new();
    for thread in page.threads {
        let record = store.load(&thread.thread_id).await?;
        for message in record.checkpoints {
            let Some(checkpoint) = message.checkpoint() else { continue };
            found.push(CheckpointRow {
                thread_id: thread.thread_id.clone(),
                title: thread.title.clone(),
                at: message.metadata.timestamp,
                number: checkpoint.number,
                reason: checkpoint.reason,
                messages: checkpoint.messages,
                observations: checkpoint.observations.clone(),
                open: checkpoint.open.clone(),
                by: checkpoint.by,
            });
        }
    }
    found.sort_by_key(|row| Reverse(row.at));
    Ok(Json(CheckpointList { checkpoints: found }))
}

/// Searches the memory of a scope, or of all scopes.
pub(super) async fn search(
    State(web): State<Arc<Web>>,
    query: Result<Query<SearchQuery>, QueryRejection>,
) -> Result<Json<SearchAnswer>, Problem> {
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
    let row = |hit: SearchHit| SearchRow {
        id: hit.found.id,
        at: hit.found.at,
        author: hit.found.author,
        text: hit.found.text,
        score: hit.score,
        source: hit.source.as_str(),
        thread_id: hit.thread,
    };
    Ok(Json(SearchAnswer { results: page.hits.into_iter().map(row).collect(), has_more: page.has_more }))
}
