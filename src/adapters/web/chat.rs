//! `/api/chat`: the AI SDK's chat protocol.
//!
//! A client sends its whole conversation. Only the newest user message is read from it; the history comes from the
//! store.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::approvals::AnsweredPart;
use super::body::{JsonBody, MAX_BODY};
use super::enrichment::Enriched;
use super::ingress::said_or_command;
use super::problem::Problem;
use super::run_stream::RunStream;
use super::server::Web;
use super::sse;
use crate::domain::{
    CorrelationId, InboundFile, IngressKind, MessageId, Platform, Said, ThreadId, ThreadState,
};
use crate::ports::Subscription;
use crate::uimessage::{Part, Role, UiMessage};

/// Clients send the whole history, which may be larger than any single message.
pub(super) const MAX_CHAT_BODY: usize = 16 * 1024 * 1024;
/// Most bytes of a message with files, which it holds as data URLs.
const MAX_WITH_FILES: usize = 8 * 1024 * 1024;
const MAX_FILES: usize = 16;

/// How long a reconnecting client waits for the first message of a turn that has started.
const FIRST_SIGN: Duration = Duration::from_secs(10);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Trigger {
    #[default]
    SubmitMessage,
    RegenerateMessage,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChatRequest {
    id: String,
    #[serde(default)]
    #[schemars(with = "Vec<ClientMessage>")]
    messages: Vec<Box<RawValue>>,
    #[serde(default)]
    trigger: Trigger,
    message_id: Option<String>,
}

/// A message of a client; its other fields are not trusted.
#[derive(Debug, Deserialize, JsonSchema)]
struct ClientMessage {
    id: String,
    role: Role,
    parts: Vec<Part>,
}

/// Submits the newest message and streams the answer.
pub(super) async fn chat(
    State(web): State<Arc<Web>>,
    body: Result<JsonBody<ChatRequest>, Problem>,
) -> Result<Response, Problem> {
    let JsonBody(request) = body.map_err(say_what_to_send)?;
    let place = sse::place(&web.streams)?;
    let platform: Platform = "web".parse()?;
    let thread = thread_of(&platform, &request.id)?;
    if let Some(answered) = answered(&request) {
        return go_on(web, thread, answered, place).await;
    }
    let (message, kind) = wish(&web, &thread, &request).await?;
    let author = web.operator(&platform)?;
    let Enriched { kind, alone } = web.enriched(&thread, &author, &message, kind).await?;
    // Subscribes first, so that no change after the acceptance is missed.
    let watching = web.threads.watch(thread.clone()).await.ok_or_else(|| web.unanswered())?;
    let taken = web.submit(&thread, author, message, kind).await?;
    drop(alone);
    let correlation = match taken.correlation {
        Some(correlation) => Some(correlation),
        None => stored(&web, &thread, &taken.message).await?.map(|message| message.metadata.correlation_id),
    };
    Ok(stream(RunStream::new(web, thread, taken.message, correlation, watching.view), place))
}

/// A client's copy of an assistant message with decided approvals.
#[derive(Debug, Deserialize)]
struct AnsweredMessage {
    id: MessageId,
    role: Role,
    parts: Vec<AnsweredPart>,
}

fn answered(request: &ChatRequest) -> Option<AnsweredMessage> {
    let last: AnsweredMessage = serde_json::from_str(request.messages.last()?.get()).ok()?;
    let answers = last.parts.iter().any(AnsweredPart::is_answered);
    (last.role == Role::Assistant && answers).then_some(last)
}

/// Submits the decisions and continues the same message: the part that the client has already is not sent again.
async fn go_on(
    web: Arc<Web>,
    thread: ThreadId,
    answered: AnsweredMessage,
    place: tokio::sync::OwnedSemaphorePermit,
) -> Result<Response, Problem> {
    let known = stored(&web, &thread, &answered.id).await?.ok_or_else(|| Problem::not_found("message"))?;
    let watching = web.threads.watch(thread.clone()).await.ok_or_else(|| web.unanswered())?;
    if web.hand_in_answers(answered.parts).await? == 0 {
        return Err(Problem::new(StatusCode::CONFLICT, "nothing that waits for an answer was answered"));
    }
    let correlation = known.metadata.correlation_id.clone();
    let run = RunStream::new(web, thread, answered.id, Some(correlation), watching.view);
    Ok(stream(run.going_on_from(&known), place))
}

/// Streams the current answer from its beginning.
pub(super) async fn resume(
    State(web): State<Arc<Web>>,
    Path(chat): Path<String>,
) -> Result<Response, Problem> {
    let place = sse::place(&web.streams)?;
    let thread = thread_of(&"web".parse()?, &chat)?;
    let mut watching = web.threads.watch(thread.clone()).await.ok_or_else(|| web.unanswered())?;
    let Some((message, correlation)) = running(&mut watching).await else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    Ok(stream(RunStream::new(web, thread, message, Some(correlation), watching.view), place))
}

fn thread_of(platform: &Platform, chat: &str) -> Result<ThreadId, Problem> {
    ThreadId::of_chat(platform, chat).map_err(|bad| Problem::of_id("id", chat, &bad))
}

/// A conversation may exceed the limit; the response says that only the newest message is needed.
fn say_what_to_send(problem: Problem) -> Problem {
    if problem.status != StatusCode::PAYLOAD_TOO_LARGE {
        return problem;
    }
    let text =
        "the conversation is larger than 16 MiB: send only its newest message, the history is kept here";
    Problem { text: text.to_owned(), ..problem }
}

/// The current message. A turn that has just started gets a moment to create it.
async fn running(watching: &mut Subscription) -> Option<(MessageId, CorrelationId)> {
    let begun = watching.view.wait_for(|view| view.live.is_some() || view.state == ThreadState::Idle);
    let view = tokio::time::timeout(FIRST_SIGN, begun).await.ok()?.ok()?;
    view.live.as_ref().map(|live| (live.id.clone(), live.metadata.correlation_id.clone()))
}

fn stream(run: RunStream, place: tokio::sync::OwnedSemaphorePermit) -> Response {
    let mut response = sse::response(run, place);
    response.headers_mut().insert("x-vercel-ai-ui-message-stream", HeaderValue::from_static("v1"));
    response
}

/// The request as an event, and its message id.
async fn wish(
    web: &Web,
    thread: &ThreadId,
    request: &ChatRequest,
) -> Result<(MessageId, IngressKind), Problem> {
    let parse = |id: &str| id.parse::<MessageId>().map_err(|bad| Problem::of_id("messageId", id, &bad));
    let named = request.message_id.as_deref().map(parse).transpose()?;
    if matches!(request.trigger, Trigger::RegenerateMessage) {
        return Ok((web.fresh_message()?, IngressKind::Regenerate(named)));
    }
    let (message, said) = newest(request)?;
    let known = if named.as_ref() == Some(&message) { stored(web, thread, &message).await? } else { None };
    let kind = match known {
        Some(known) if !says(&known, &said) => IngressKind::Revised(said),
        _ => said_or_command(said),
    };
    Ok((message, kind))
}

/// The newest message of the request, which must be the user's.
fn newest(request: &ChatRequest) -> Result<(MessageId, Said), Problem> {
    let raw = request.messages.last().ok_or_else(|| Problem::bad("messages must not be empty"))?;
    if raw.get().len() > MAX_WITH_FILES {
        return Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "a message with its files may have at most 8 MiB",
        ));
    }
    let message: ClientMessage = serde_json::from_str(raw.get())
        .map_err(|error| Problem::bad(format!("the last message cannot be read: {error}")))?;
    if message.role != Role::User {
        let text = "the last message is not the user's: there is nothing to answer";
        return Err(Problem::new(StatusCode::CONFLICT, text));
    }
    let mut texts = Vec::new();
    let mut files = Vec::new();
    for part in message.parts {
        match part {
            Part::Text(text) => texts.push(text.text),
            Part::File(file) => {
                files.push(InboundFile { media_type: file.media_type, url: file.url, name: file.filename });
            }
            Part::Reasoning(_)
            | Part::StepStart
            | Part::Tool(_)
            | Part::Command(_)
            | Part::Error(_)
            | Part::Checkpoint(_)
            | Part::Other(_) => {}
        }
    }
    let said = Said { text: texts.join("\n"), files, ..Said::default() };
    if said.files.is_empty() && raw.get().len() > MAX_BODY {
        return Err(text_too_long());
    }
    check(&said)?;
    let id = message.id.parse().map_err(|bad| Problem::of_id("the last message's id", &message.id, &bad))?;
    Ok((id, said))
}

fn text_too_long() -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the text of a message may have at most 1 MiB")
}

/// Refuses a message that is empty, too long, or has too many or unreachable files.
pub(super) fn check(said: &Said) -> Result<(), Problem> {
    if said.text.len() > MAX_BODY {
        return Err(text_too_long());
    }
    if said.text.trim().is_empty() && said.files.is_empty() {
        return Err(Problem::bad("the message is empty"));
    }
    if said.files.len() > MAX_FILES {
        return Err(Problem::bad(format!("a message may carry at most {MAX_FILES} files")));
    }
    let reachable =
        |url: &str| ["data:", "https://", "/api/files/"].iter().any(|start| url.starts_with(start));
    match said.files.iter().find(|file| !reachable(&file.url)) {
        Some(_) => Err(Problem::bad("a file's url must be a data: or https: address")),
        None => Ok(()),
    }
}

async fn stored(web: &Web, thread: &ThreadId, message: &MessageId) -> Result<Option<UiMessage>, Problem> {
    let run = web.parts.store.run_of(thread, message).await?;
    Ok(run.into_iter().find(|stored| stored.id == *message))
}

/// Whether a stored message has exactly this content.
fn says(stored: &UiMessage, said: &Said) -> bool {
    let mut texts = Vec::new();
    let mut files = Vec::new();
    for part in &stored.parts {
        match part {
            Part::Text(text) => texts.push(text.text.as_str()),
            Part::File(file) => files.push(file.url.as_str()),
            Part::Reasoning(_)
            | Part::StepStart
            | Part::Tool(_)
            | Part::Command(_)
            | Part::Error(_)
            | Part::Checkpoint(_)
            | Part::Other(_) => {}
        }
    }
    texts.join("\n") == said.text && files.into_iter().eq(said.files.iter().map(|file| file.url.as_str()))
}
