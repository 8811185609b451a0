//! Scheduled tasks over HTTP, as the operator.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body::JsonBody;
use super::problem::Problem;
use super::server::Web;
use crate::domain::{Language, ThreadId};
use crate::ports::{TaskDetails, TaskPreview, TaskRefusal, TaskSummary};

/// A task file to write or to check.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TaskFileBody {
    file: String,
    /// The text that the file has now; absent for a new task.
    #[serde(default)]
    before: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RemoveBody {
    before: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TaskList {
    tasks: Vec<TaskSummary>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskStarted {
    started: bool,
    thread_id: ThreadId,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TaskPaused {
    paused: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TaskWritten {
    written: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TaskRemoved {
    removed: bool,
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
                    .in_line(mistake.line)
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
    /// The language of the answer: the daemon's own, else the one that the client asks for.
    pub(super) fn words(&self, headers: &HeaderMap) -> Language {
        let asked = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let asked = asked.map(|asked| if asked.starts_with("zh") { Language::Zh } else { Language::En });
        self.options.language.or(asked).unwrap_or_default()
    }
}

/// All tasks by id.
pub(super) async fn list(State(web): State<Arc<Web>>, headers: HeaderMap) -> Result<Json<TaskList>, Problem> {
    let tasks = web.parts.tasks.list(web.words(&headers)).await?;
    Ok(Json(TaskList { tasks }))
}

/// One task with its file and history.
pub(super) async fn show(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<TaskDetails>, Problem> {
    Ok(Json(web.parts.tasks.show(&id, web.words(&headers)).await?))
}

/// Starts a run. The same `Idempotency-Key` starts one run.
pub(super) async fn run(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<TaskStarted>, Problem> {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).map(str::to_owned);
    let thread_id = web.parts.tasks.run(&id, key).await?;
    Ok(Json(TaskStarted { started: true, thread_id }))
}

pub(super) async fn pause(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
) -> Result<Json<TaskPaused>, Problem> {
    web.parts.tasks.pause(&id).await?;
    Ok(Json(TaskPaused { paused: true }))
}

pub(super) async fn resume(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
) -> Result<Json<TaskPaused>, Problem> {
    web.parts.tasks.resume(&id).await?;
    Ok(Json(TaskPaused { paused: false }))
}

/// What a file would mean; writes nothing.
pub(super) async fn check(
    State(web): State<Arc<Web>>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<TaskFileBody>,
) -> Result<Json<TaskPreview>, Problem> {
    let preview = web.parts.tasks.preview(&body.file, web.clock.now(), web.words(&headers));
    Ok(Json(preview.map_err(TaskRefusal::Broken)?))
}

/// Writes a task file.
pub(super) async fn write(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<TaskFileBody>,
) -> Result<Json<TaskWritten>, Problem> {
    web.parts.tasks.write(&id, body.before, body.file, web.words(&headers)).await?;
    Ok(Json(TaskWritten { written: true }))
}

/// Removes a task file.
pub(super) async fn remove(
    State(web): State<Arc<Web>>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<RemoveBody>,
) -> Result<Json<TaskRemoved>, Problem> {
    web.parts.tasks.remove(&id, body.before).await?;
    Ok(Json(TaskRemoved { removed: true }))
}
