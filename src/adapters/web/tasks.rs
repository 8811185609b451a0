//! Scheduled tasks over HTTP, as the operator.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::body::JsonBody;
use super::problem::Problem;
use super::server::Web;
use crate::domain::Language;
use crate::ports::TaskRefusal;

/// A task file to write or to check.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TaskFileBody {
    file: String,
    /// The text that the file has now; absent for a new task.
    #[serde(default)]
    before: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RemoveBody {
    before: String,
}

impl From<TaskRefusal> for Problem {
    fn from(refusal: TaskRefusal) -> Self {
        let text = refusal.to_string();
        match refusal {
            TaskRefusal::Unknown => Self::not_found("task"),
            TaskRefusal::BadId => Self::bad(text),
            TaskRefusal::Broken(mistake) => {
                let line = mistake.line.map(|line| format!("line {line}: ")).unwrap_or_default();
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, format!("{line}{}", mistake.message))
                    .coded("invalid_task")
            }
            TaskRefusal::Running => Self::new(StatusCode::CONFLICT, text).coded("task_running"),
            TaskRefusal::Changed => Self::new(StatusCode::CONFLICT, text)
                .coded("task_changed")
                .hint("read the task again and repeat the change"),
            TaskRefusal::Stopping => Self::stopping(),
            TaskRefusal::Store(error) => Self::from(error),
        }
    }
}

impl Web {
    fn words(&self) -> Language {
        self.options.language.unwrap_or_default()
    }
}

/// All tasks by id.
pub(super) async fn list(State(web): State<Arc<Web>>) -> Result<Json<Value>, Problem> {
    let tasks = web.parts.tasks.list(web.words()).await?;
    Ok(Json(json!({ "tasks": tasks })))
}

/// One task with its file and history.
pub(super) async fn show(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(json!(web.parts.tasks.show(&id, web.words()).await?)))
}

/// Starts a run. The same `Idempotency-Key` starts one run.
pub(super) async fn run(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).map(str::to_owned);
    let thread = web.parts.tasks.run(&id, key).await?;
    Ok(Json(json!({ "started": true, "threadId": thread })))
}

pub(super) async fn pause(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    web.parts.tasks.pause(&id).await?;
    Ok(Json(json!({ "paused": true })))
}

pub(super) async fn resume(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    web.parts.tasks.resume(&id).await?;
    Ok(Json(json!({ "paused": false })))
}

/// What a file would mean; writes nothing.
pub(super) async fn check(
    State(web): State<Arc<Web>>,
    JsonBody(body): JsonBody<TaskFileBody>,
) -> Result<Json<Value>, Problem> {
    let preview = web.parts.tasks.preview(&body.file, web.clock.now(), web.words());
    Ok(Json(json!(preview.map_err(TaskRefusal::Broken)?)))
}

/// Writes a task file.
pub(super) async fn write(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<TaskFileBody>,
) -> Result<Json<Value>, Problem> {
    web.parts.tasks.write(&id, body.before, body.file, web.words()).await?;
    Ok(Json(json!({ "written": true })))
}

/// Removes a task file.
pub(super) async fn remove(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<RemoveBody>,
) -> Result<Json<Value>, Problem> {
    web.parts.tasks.remove(&id, body.before).await?;
    Ok(Json(json!({ "removed": true })))
}
