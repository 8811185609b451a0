//! Changes of whole threads, as the operator: title, pin, archive, deletion; another answer, an edited message, a branch.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::body::JsonBody;
use super::login::Caller;
use super::problem::Problem;
use super::server::Web;
use super::thread_marks::ThreadMark;
use super::threads::MessageAccepted;
use crate::domain::{AuthorId, IngressKind, MessageId, Said, ThreadId};
use crate::ports::{
    AuditEvent, AuditLine, Change, Commit, Durability, MissingIndex, SearchArea, StoreError, ThreadView, Work,
};
use crate::uimessage::{Role, RunStatus, UiMessage};

const LONGEST_TITLE: usize = 200;
/// How long a deletion waits for the end of a thread that is at rest.
const END: Duration = Duration::from_secs(10);
/// So many messages a branch begins with at most; earlier ones stay where they are.
const LONGEST_BRANCH: usize = 500;
const PAGE: usize = 200;

/// A key that is there, with or without a value.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(from).map(Some)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MarkRequest {
    /// `null` or an empty one gives the first message back as title.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    title: Option<Option<String>>,
    pinned: Option<bool>,
    archived: Option<bool>,
}

/// What is noted about a thread now.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MarkAnswer {
    title: Option<String>,
    pinned: bool,
    archived: bool,
}

/// Notes a title, a pin or the archive.
pub(super) async fn mark(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
    JsonBody(request): JsonBody<MarkRequest>,
) -> Result<Json<MarkAnswer>, Problem> {
    let thread = web.existing(&thread).await?;
    let title = match request.title {
        None => None,
        Some(title) => {
            let title = title.unwrap_or_default().trim().to_owned();
            if title.chars().count() > LONGEST_TITLE {
                return Err(Problem::bad(format!("title may have at most {LONGEST_TITLE} characters")));
            }
            Some(Some(title).filter(|title| !title.is_empty()))
        }
    };
    let change = |mark: &mut ThreadMark| {
        if let Some(title) = title {
            mark.title = title;
        }
        mark.pinned = request.pinned.unwrap_or(mark.pinned);
        mark.archived = request.archived.unwrap_or(mark.archived);
    };
    let mark = web.marks.change(&thread, change).await?;
    web.announce(&thread).await;
    Ok(Json(MarkAnswer { title: mark.title, pinned: mark.pinned, archived: mark.archived }))
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ThreadDeleted {
    deleted: bool,
}

/// Deletes a thread that is at rest: its history, its files and what the index has of it.
pub(super) async fn delete(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<ThreadDeleted>, Problem> {
    let thread = web.existing(&thread).await?;
    let (parts, gone) = (web.parts.clone(), thread.clone());
    let work = async move {
        // The history goes last: as long as it is there, the deletion can be repeated.
        parts.files.remove_all(&gone).await?;
        parts.store.delete(&gone).await?;
        parts.search.follow(vec![SearchArea::Thread(gone)], MissingIndex::Leave).await?;
        Ok::<(), StoreError>(())
    };
    let done = tokio::time::timeout(END, web.threads.alone(thread.clone(), work)).await.ok().flatten();
    match done {
        Some(done) => done?,
        None => {
            let text = "the thread is at work: stop it first";
            return Err(Problem::new(StatusCode::CONFLICT, text).coded("thread-at-work"));
        }
    }
    web.marks.change(&thread, |mark| *mark = ThreadMark::default()).await?;
    web.parts.models.choose(&thread, None).await?;
    web.parts.audit.record(AuditLine {
        thread: Some(thread.clone()),
        author: Some(web.operator(&"web".parse()?)?.id),
        via: Some(caller.via().to_owned()),
        ..AuditLine::new(AuditEvent::ThreadDeleted, web.clock.now())
    });
    web.parts.changes.announce(Change::ThreadDeleted(thread));
    Ok(Json(ThreadDeleted { deleted: true }))
}

/// Answers the last question of a thread again.
pub(super) async fn regenerate(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
) -> Result<(StatusCode, Json<MessageAccepted>), Problem> {
    let thread = web.existing(&thread).await?;
    let author = web.operator(&"web".parse()?)?;
    let taken = web.submit(&thread, author, web.fresh_message()?, IngressKind::Regenerate(None)).await?;
    Ok((StatusCode::ACCEPTED, Json(MessageAccepted { message_id: taken.message })))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditRequest {
    text: String,
}

/// Edits a message of the operator: one that waits is replaced, the last question is asked anew.
pub(super) async fn edit(
    State(web): State<Arc<Web>>,
    Path((thread, message)): Path<(String, String)>,
    JsonBody(request): JsonBody<EditRequest>,
) -> Result<(StatusCode, Json<MessageAccepted>), Problem> {
    let thread = web.existing(&thread).await?;
    let message: MessageId = message.parse().map_err(|bad| Problem::of_id("message", &message, &bad))?;
    if request.text.trim().is_empty() {
        return Err(Problem::bad("text must not be empty"));
    }
    let run = web.parts.store.run_of(&thread, &message).await?;
    let known = run.iter().find(|stored| stored.id == message);
    let known = known.ok_or_else(|| Problem::not_found("message"))?;
    let answered =
        run.iter().any(|stored| stored.metadata.status.is_some_and(|status| status != RunStatus::Running));
    let said = Said { text: request.text, ..Said::default() };
    let kind = if answered { IngressKind::Revised(said) } else { IngressKind::Edited(said) };
    let platform = known.metadata.author_id.as_ref().map(AuthorId::platform);
    let author = web.operator(&platform.unwrap_or_else(|| thread.platform().clone()))?;
    let taken = web.submit(&thread, author, message, kind).await?;
    Ok((StatusCode::ACCEPTED, Json(MessageAccepted { message_id: taken.message })))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BranchRequest {
    /// The new thread ends before this message.
    before: MessageId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Branched {
    thread_id: ThreadId,
    /// How many messages were copied.
    messages: usize,
}

/// Copies the conversation before a message into a new thread of the console. The old one stays as it is.
pub(super) async fn branch(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
    JsonBody(request): JsonBody<BranchRequest>,
) -> Result<(StatusCode, Json<Branched>), Problem> {
    let from = web.existing(&thread).await?;
    if !web.parts.store.contains(&from, &request.before).await? {
        return Err(Problem::not_found("message"));
    }
    let platform = "web".parse()?;
    let to = ThreadId::of_chat(&platform, &web.parts.ids.unique())?;
    let mut messages: Vec<UiMessage> = Vec::new();
    let mut before = request.before;
    while messages.len() < LONGEST_BRANCH {
        let mut page = web.parts.store.page(&from, Some(&before), PAGE).await?;
        let Some(first) = page.first() else { break };
        before = first.id.clone();
        page.append(&mut messages);
        messages = page;
    }
    // A branch begins with a question, and holds nothing that is still going on.
    let ended = |message: &UiMessage| message.metadata.status != Some(RunStatus::Running);
    let mut messages: Vec<UiMessage> = messages
        .into_iter()
        .filter(|message| ended(message) && message.checkpoint().is_none())
        .skip_while(|message| message.role != Role::User)
        .collect();
    for message in &mut messages {
        message.metadata.thread_id = to.clone();
        message.metadata.platform = "web".into();
    }
    let count = messages.len();
    if count > 0 {
        let commit = Commit {
            thread: to.clone(),
            messages,
            outbox: Vec::new(),
            durability: Durability::Synced,
            work: Work::Settled,
        };
        web.parts.store.commit(commit).await?;
        web.announce(&to).await;
    }
    Ok((StatusCode::CREATED, Json(Branched { thread_id: to, messages: count })))
}

impl Web {
    async fn existing(&self, thread: &str) -> Result<ThreadId, Problem> {
        let thread: ThreadId = thread.parse()?;
        match self.parts.store.exists(&thread).await? {
            true => Ok(thread),
            false => Err(Problem::not_found("thread")),
        }
    }

    /// Tells all pages that the row of a thread changed.
    async fn announce(&self, thread: &ThreadId) {
        let views = self.threads.views().await;
        let view = views.into_iter().find(|(known, _)| known == thread);
        let ThreadView { state, pending_approvals, .. } = view.map(|(_, view)| view).unwrap_or_default();
        self.parts.changes.announce(Change::Thread { thread: thread.clone(), state, pending_approvals });
    }
}
