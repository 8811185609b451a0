//! Changes of threads, as the operator: title, pin, archive, deletion; another answer, a message that is edited or taken back.

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
use super::threads::MessageAccepted;
use crate::domain::{Author, AuthorId, InboundFile, IngressKind, MessageId, Said, ThreadId};
use crate::ports::{
    AuditEvent, AuditLine, Change, MissingIndex, SearchArea, StoreError, ThreadMark, ThreadView,
};
use crate::uimessage::{FilePart, Part, UiMessage};

const LONGEST_TITLE: usize = 200;
/// How long a deletion waits for the end of a thread that is at rest.
const END: Duration = Duration::from_secs(10);

/// A key that is there, with or without a value.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(from).map(Some)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MarkRequest {
    /// `null` or an empty one gives back the title that the thread had by itself.
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
    let mark = web.parts.thread_marks.change(&thread, change).await?;
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
    web.parts.thread_marks.change(&thread, |mark| *mark = ThreadMark::default()).await?;
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

/// Edits a message of the operator: one that waits is replaced, the last question is asked anew. While it is being
/// answered it is refused.
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
    let known = web.said(&thread, &message).await?;
    // The words change; the files of the message stay.
    let said = Said { text: request.text, files: files_of(&known), ..Said::default() };
    let author = web.author_of(&thread, &known)?;
    let taken = web.submit(&thread, author, message, IngressKind::Revised(said)).await?;
    Ok((StatusCode::ACCEPTED, Json(MessageAccepted { message_id: taken.message })))
}

/// Takes back a message of the operator that waits for its answer.
pub(super) async fn withdraw(
    State(web): State<Arc<Web>>,
    Path((thread, message)): Path<(String, String)>,
) -> Result<Json<MessageAccepted>, Problem> {
    let thread = web.existing(&thread).await?;
    let message: MessageId = message.parse().map_err(|bad| Problem::of_id("message", &message, &bad))?;
    let known = web.said(&thread, &message).await?;
    let author = web.author_of(&thread, &known)?;
    let taken = web.submit(&thread, author, message, IngressKind::Withdrawn).await?;
    Ok(Json(MessageAccepted { message_id: taken.message }))
}

fn files_of(message: &UiMessage) -> Vec<InboundFile> {
    let file = |part: &Part| match part {
        Part::File(FilePart { media_type, url, filename, .. }) => {
            Some(InboundFile { media_type: media_type.clone(), url: url.clone(), name: filename.clone() })
        }
        _ => None,
    };
    message.parts.iter().filter_map(file).collect()
}

impl Web {
    pub(super) async fn existing(&self, thread: &str) -> Result<ThreadId, Problem> {
        let thread: ThreadId = thread.parse()?;
        match self.parts.store.exists(&thread).await? {
            true => Ok(thread),
            false => Err(Problem::not_found("thread")),
        }
    }

    /// A stored message of a person.
    async fn said(&self, thread: &ThreadId, message: &MessageId) -> Result<UiMessage, Problem> {
        let run = self.parts.store.run_of(thread, message).await?;
        let known = run.into_iter().find(|stored| stored.id == *message);
        known.ok_or_else(|| Problem::not_found("message"))
    }

    /// The operator, under the name of the platform on which they wrote the message.
    fn author_of(&self, thread: &ThreadId, message: &UiMessage) -> Result<Author, Problem> {
        let platform = message.metadata.author_id.as_ref().map(AuthorId::platform);
        self.operator(&platform.unwrap_or_else(|| thread.platform().clone()))
    }

    /// Tells all pages that the row of a thread changed.
    pub(super) async fn announce(&self, thread: &ThreadId) {
        let views = self.threads.views().await;
        let view = views.into_iter().find(|(known, _)| known == thread);
        let ThreadView { state, pending_approvals, .. } = view.map(|(_, view)| view).unwrap_or_default();
        self.parts.changes.announce(Change::Thread { thread: thread.clone(), state, pending_approvals });
    }
}
