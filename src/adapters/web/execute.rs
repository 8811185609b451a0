//! `POST /api/execute`: one request, one response with the whole answer.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::body::JsonBody;
use super::chat::check;
use super::enrichment::{Enriched, RequestFile};
use super::ingress::{OPERATOR, said_or_command};
use super::problem::Problem;
use super::run_stream::completed;
use super::server::Web;
use crate::domain::{
    ApprovalFile, Author, AuthorId, AuthorRole, ChatKind, CorrelationId, InboundFile, Language, MessageId,
    Platform, Said, ThreadId,
};
use crate::ports::RunOutcome;
use crate::render::Phrase;
use crate::uimessage::{ErrorRecord, Part, RunStatus, ToolPart, ToolState, UiMessage};

const DEFAULT_WAIT: Duration = Duration::from_secs(600);
/// Most further threads that one run delivers its result to.
const MOST_TARGETS: usize = 16;
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExecuteRequest {
    instructions: String,
    /// Files that belong to the instructions; a recording may be all there is.
    #[serde(default)]
    files: Vec<RequestFile>,
    chat_id: Option<String>,
    user_id: Option<String>,
    message_id: Option<String>,
    timeout_ms: Option<f64>,
    /// Further threads that get the result.
    #[serde(default)]
    deliver_to: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ExecuteStatus {
    Done,
    AwaitingApproval,
    Running,
    Failed,
}

/// The outcome of an execution.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecuteResponse {
    success: bool,
    output: String,
    tool_calls: Vec<CallReport>,
    status: ExecuteStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RunError>,
    thread_id: ThreadId,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<CorrelationId>,
    message_id: MessageId,
    /// The approvals it waits for.
    approvals: Vec<ApprovalFile>,
}

/// A tool call of a run.
#[derive(Debug, Serialize, JsonSchema)]
struct CallReport {
    tool: String,
    input: Value,
    /// `null` while there is none.
    output: Value,
}

/// Why a run failed.
#[derive(Debug, Serialize, JsonSchema)]
struct RunError {
    /// A kind of error, or `stopped`.
    #[schemars(with = "String")]
    kind: Value,
    text: String,
    /// Whether a retry may help.
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// Runs instructions and waits for their end. A client that disconnects does not stop the turn; it can ask again with
/// the same message id.
pub(super) async fn execute(
    State(web): State<Arc<Web>>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<ExecuteRequest>,
) -> Result<Json<ExecuteResponse>, Problem> {
    if request.instructions.trim().is_empty() && request.files.is_empty() {
        return Err(Problem::bad("instructions must not be empty"));
    }
    let platform: Platform = "api".parse()?;
    let wait = wait(request.timeout_ms)?;
    let (key_field, key) = match request.message_id {
        Some(id) => ("messageId", Some(id)),
        None => ("Idempotency-Key", idempotency_key(&headers)?),
    };
    // The headers share the connection's buffer, which is not needed while the turn runs.
    drop(headers);
    let message: MessageId = match &key {
        Some(key) => key.parse().map_err(|bad| Problem::of_id(key_field, key, &bad))?,
        None => web.fresh_message()?,
    };
    // Without a chat the message id names the thread, so that a retry finds it.
    let (chat_field, chat) = match (request.chat_id, key) {
        (Some(chat), _) => ("chatId", chat),
        (None, Some(key)) => (key_field, key),
        (None, None) => ("chatId", web.parts.ids.unique()),
    };
    let thread =
        ThreadId::of_chat(&platform, &chat).map_err(|bad| Problem::of_id(chat_field, &chat, &bad))?;
    let user = request.user_id.as_deref().unwrap_or(OPERATOR);
    let author = AuthorId::new(&platform, user).map_err(|bad| Problem::of_id("userId", user, &bad))?;
    let author = Author { id: author, name: None, role: AuthorRole::Person };
    let deliver_to = targets(request.deliver_to)?;
    let files = request.files.into_iter().map(InboundFile::from).collect();
    let said = Said { text: request.instructions, files, deliver_to, ..Said::default() };
    check(&said)?;
    let language = web.options.language.unwrap_or_else(|| Language::of(&said.text));
    // Without a user there is no person whose memory could be meant.
    let chat = if request.user_id.is_some() { ChatKind::Direct } else { ChatKind::Program };
    let Enriched { kind, alone } = web.enriched(&thread, &author, &message, said_or_command(said)).await?;
    let taken = web.submit_from(chat, &thread, author, message, kind).await?;
    drop(alone);

    let waiting = web.threads.outcome_or_held_back(thread.clone(), taken.message.clone());
    let outcome = match tokio::time::timeout(wait, waiting).await {
        Ok(Some(outcome)) => completed(&web, &thread, &taken.message, outcome).await,
        // The message is accepted, so its run continues, also after a restart; a request with the same id returns the
        // outcome.
        Ok(None) | Err(_) => RunOutcome { status: Some(RunStatus::Running), ..RunOutcome::default() },
    };
    let mut response = answer(thread, taken.message, taken.correlation, &outcome);
    if outcome.messages.is_empty() && response.status == ExecuteStatus::AwaitingApproval {
        let numbers = outcome.approvals.iter().map(|approval| approval.number).collect();
        response.output = Phrase::Reminder(numbers).say(language);
    }
    Ok(Json(response))
}

/// The further threads that get the result.
fn targets(given: Vec<String>) -> Result<Vec<ThreadId>, Problem> {
    if given.len() > MOST_TARGETS {
        return Err(Problem::bad(format!("deliverTo takes at most {MOST_TARGETS} threads")));
    }
    let target = |given: &String| given.parse().map_err(|bad| Problem::of_id("deliverTo", given, &bad));
    given.iter().map(target).collect()
}

/// The deadline of the wait.
fn wait(timeout_ms: Option<f64>) -> Result<Duration, Problem> {
    match timeout_ms {
        None => Ok(DEFAULT_WAIT),
        Some(ms) if ms < 0.0 => Err(Problem::bad("timeoutMs must not be negative")),
        // A value that is no valid duration is too long.
        Some(ms) => Ok(Duration::try_from_secs_f64(ms / 1000.0).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT)),
    }
}

/// The message id in the header of proxies and libraries; an empty one is ignored.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let key = key.to_str().map_err(|_| Problem::bad("Idempotency-Key must be plain text"))?.trim();
    Ok((!key.is_empty()).then(|| key.to_owned()))
}

/// A run as the JSON response.
pub fn answer(
    thread_id: ThreadId,
    message_id: MessageId,
    correlation: Option<CorrelationId>,
    outcome: &RunOutcome,
) -> ExecuteResponse {
    let tools: Vec<&ToolPart> = parts(outcome)
        .filter_map(|part| match part {
            Part::Tool(tool) => Some(&**tool),
            _ => None,
        })
        .collect();
    let asks = !outcome.approvals.is_empty()
        || tools.iter().any(|tool| matches!(tool.state, ToolState::ApprovalRequested { .. }));
    let status = match outcome.status {
        Some(RunStatus::Done) => ExecuteStatus::Done,
        Some(RunStatus::Running | RunStatus::Continued) if asks => ExecuteStatus::AwaitingApproval,
        Some(RunStatus::Running | RunStatus::Continued) => ExecuteStatus::Running,
        Some(RunStatus::Stopped | RunStatus::Failed) | None => ExecuteStatus::Failed,
    };
    ExecuteResponse {
        success: status == ExecuteStatus::Done,
        output: output(outcome),
        tool_calls: tools.into_iter().map(call).collect(),
        status,
        error: (status == ExecuteStatus::Failed).then(|| error(outcome)),
        thread_id,
        correlation_id: outcome.correlation.clone().or(correlation).or_else(|| correlation_of(outcome)),
        message_id,
        approvals: outcome.approvals.iter().map(ApprovalFile::from).collect(),
    }
}

fn parts(outcome: &RunOutcome) -> impl Iterator<Item = &Part> {
    outcome.messages.iter().flat_map(|message| &message.parts)
}

fn correlation_of(outcome: &RunOutcome) -> Option<CorrelationId> {
    outcome.messages.first().map(|message| message.metadata.correlation_id.clone())
}

/// The answer: the text after the last tool call, or all text where none follows it.
fn output(outcome: &RunOutcome) -> String {
    let mut words = String::new();
    for part in parts(outcome) {
        match part {
            Part::Text(text) => words.push_str(&text.text),
            Part::Tool(_) => words.clear(),
            Part::Command(record) => words.push_str(&record.reply),
            Part::Reasoning(_)
            | Part::File(_)
            | Part::StepStart
            | Part::Error(_)
            | Part::Checkpoint(_)
            | Part::Other(_) => {}
        }
    }
    if words.trim().is_empty() {
        let texts: Vec<String> = outcome.messages.iter().map(|message| UiMessage::text(message)).collect();
        words = texts.join("\n\n");
    }
    words
}

fn call(tool: &ToolPart) -> CallReport {
    let output = match &tool.state {
        ToolState::OutputAvailable { output, .. } => output.clone(),
        ToolState::OutputError { error_text, .. } => json!({ "error": error_text }),
        ToolState::OutputDenied { approval, .. } => json!({ "denied": approval.reason }),
        ToolState::InputStreaming { .. }
        | ToolState::InputAvailable { .. }
        | ToolState::ApprovalRequested { .. }
        | ToolState::ApprovalResponded { .. } => Value::Null,
    };
    CallReport { tool: tool.tool.name().to_owned(), input: json!(tool.state.input()), output }
}

fn error(outcome: &RunOutcome) -> RunError {
    let told = parts(outcome).find_map(|part| match part {
        Part::Error(record) => Some(record),
        _ => None,
    });
    let (kind, text, retryable) = match (outcome.error.as_ref().or(told), outcome.status) {
        (Some(ErrorRecord { kind, text, retryable, detail }), _) => {
            let (text, detail) = (text.clone(), detail.clone());
            return RunError { kind: json!(kind), text, retryable: *retryable, detail };
        }
        (None, Some(RunStatus::Stopped)) => ("stopped", "the turn was stopped", false),
        (None, _) => ("internal", "the turn left no answer", true),
    };
    RunError { kind: kind.into(), text: text.to_owned(), retryable, detail: None }
}
