//! What was spent, over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::problem::Problem;
use super::server::Web;
use crate::domain::ThreadId;
use crate::ports::{ThreadFilter, ThreadQuery, UsageRequest, UsageRequestError};

/// Most rows of one grouping.
const MOST_ROWS: usize = 500;
/// Most threads that are told with their titles.
const MOST_TITLES: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct UsageQuery {
    /// Groupings, separated by commas.
    by: Option<String>,
    since: Option<String>,
    until: Option<String>,
}

impl From<UsageRequestError> for Problem {
    fn from(error: UsageRequestError) -> Self {
        match error {
            UsageRequestError::Bad(text) => Self::bad(text),
            UsageRequestError::Store(error) => Self::from(error),
        }
    }
}

/// Sums by one or more groupings.
pub(super) async fn usage(
    State(web): State<Arc<Web>>,
    query: Result<Query<UsageQuery>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let Query(UsageQuery { by, since, until }) =
        query.map_err(|_| Problem::bad("by, since and until may be given once each"))?;
    let by = by.as_deref().unwrap_or("day").split(',').map(|name| name.trim().to_owned()).collect();
    let mut body = web.parts.spending.report(UsageRequest { by, since, until }).await?;
    for report in body.get_mut("reports").and_then(Value::as_array_mut).into_iter().flatten() {
        let by = report["by"].as_str().unwrap_or_default().to_owned();
        if let Some(rows) = report["rows"].as_array_mut()
            && rows.len() > MOST_ROWS
        {
            let more = rows.len() - MOST_ROWS;
            if matches!(by.as_str(), "day" | "month") {
                rows.drain(..more);
            } else {
                rows.truncate(MOST_ROWS);
            }
            report["more"] = json!(more);
        }
        if by == "thread" {
            web.add_titles(report).await?;
        }
    }
    Ok(Json(body))
}

impl Web {
    /// Adds the titles of the first threads of a report.
    async fn add_titles(&self, report: &mut Value) -> Result<(), Problem> {
        let rows = report["rows"].as_array_mut().into_iter().flatten().take(MOST_TITLES);
        let rows: Vec<(ThreadId, &mut Value)> =
            rows.filter_map(|row| Some((row["key"].as_str()?.parse().ok()?, row))).collect();
        let filter = ThreadFilter::Only(rows.iter().map(|(thread, _)| thread.clone()).collect());
        let query = ThreadQuery { filter, ..ThreadQuery::newest(MOST_TITLES) };
        let page = self.parts.store.list(query).await?;
        let marks = self.parts.thread_marks.all().await?;
        for (thread, row) in rows {
            let named = marks.get(&thread).and_then(|mark| mark.title().map(str::to_owned));
            let stored = page.threads.iter().find(|one| one.thread_id == thread);
            if let Some(title) = named.or_else(|| stored.map(|one| one.title.clone())) {
                row["title"] = title.into();
            }
        }
        Ok(())
    }
}
