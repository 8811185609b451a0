//! `shipagent memory search`, `reindex` and `status`.

use std::io::Write;

use serde_json::{Value, json};

use super::super::cli_context::CliContext;
use crate::cli::{Exit, Output};
use crate::domain::{Language, ScopeKey, Timestamp};
use crate::phrases::commands::{memory_index, memory_nothing_found};
use crate::ports::{Freshness, IndexStatus, SearchArea, SearchHit, SearchRequest, StoreError};

/// More results than this make no page.
const MOST_RESULTS: usize = 1_000;

/// What to search for.
#[derive(Debug)]
pub(super) struct MemorySearchArgs {
    pub(super) query: String,
    pub(super) scope: ScopeKey,
    pub(super) limit: usize,
    pub(super) output: Output,
}

pub(super) fn search(
    context: &CliContext,
    asked: &MemorySearchArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let request = SearchRequest {
        query: asked.query.clone(),
        areas: vec![SearchArea::Memory(asked.scope.clone())],
        since: None,
        until: None,
        limit: asked.limit.clamp(1, MOST_RESULTS),
        freshness: Freshness::CatchUp,
    };
    let store = &context.store;
    let found = async {
        // Completes what a crash has cut off, such as a forgetting.
        store.memory.core(&asked.scope).await?;
        store.search.search(request).await
    };
    let page = match context.wait(found) {
        Ok(page) => page,
        Err(error) => return failed(context, &error, err),
    };
    if asked.output.json {
        let results: Vec<Value> = page.hits.iter().map(result).collect();
        writeln!(out, "{}", json!({ "results": results, "hasMore": page.has_more }))?;
    } else if page.hits.is_empty() {
        writeln!(out, "{}", memory_nothing_found(&asked.scope, context.language))?;
    } else {
        for hit in &page.hits {
            writeln!(out, "{}", line(hit))?;
        }
    }
    Ok(Exit::Ok)
}

fn result(hit: &SearchHit) -> Value {
    let found = &hit.found;
    json!({
        "id": found.id,
        "at": found.at,
        "author": found.author,
        "text": found.text,
        "score": hit.score,
    })
}

/// A result on one line, to read.
fn line(hit: &SearchHit) -> String {
    let found = &hit.found;
    let time = Timestamp::from_millis(found.at).rfc3339();
    let text = found.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let author = if found.author.is_empty() { String::new() } else { format!("{}: ", found.author) };
    format!("{time}  {author}{text}  [{}]", found.id)
}

pub(super) fn reindex(
    context: &CliContext,
    output: Output,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    match context.wait(context.store.search.rebuild()) {
        Ok(status) => tell(&status, context.language, output, out),
        Err(error) => failed(context, &error, err),
    }
}

pub(super) fn status(
    context: &CliContext,
    output: Output,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    match context.wait(context.store.search.status()) {
        Ok(status) => tell(&status, context.language, output, out),
        Err(error) => failed(context, &error, err),
    }
}

fn tell(
    status: &IndexStatus,
    language: Language,
    Output { json }: Output,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let IndexStatus { texts, files, bytes } = status;
    if json {
        writeln!(out, "{}", json!({ "texts": texts, "files": files, "bytes": bytes }))?;
    } else {
        writeln!(out, "{}", memory_index(*texts, *files, *bytes, language))?;
    }
    Ok(Exit::Ok)
}

fn failed(context: &CliContext, error: &StoreError, err: &mut dyn Write) -> anyhow::Result<Exit> {
    writeln!(err, "{}", context.trouble(error))?;
    Ok(Exit::Failed)
}
