//! A branch of a conversation: a new thread with copies of what was said before a message, and of its files.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt as _;

use super::body::JsonBody;
use super::problem::Problem;
use super::server::Web;
use crate::domain::{MessageId, StoredFile, ThreadId};
use crate::ports::{Commit, Durability, StoreError, Work};
use crate::uimessage::{FilePart, Part, Role, RunStatus, UiMessage};

/// So many messages a branch begins with at most; earlier ones stay where they are.
const LONGEST_BRANCH: usize = 500;
const PAGE: usize = 200;
const PIECE: usize = 64 << 10;

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
        for part in &mut message.parts {
            if let Part::File(part) = part {
                web.copy_file(&from, &to, part).await?;
            }
        }
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
    /// Copies a stored file of the old thread, so that the branch outlives it. A file that is gone stays a link to nothing.
    async fn copy_file(&self, from: &ThreadId, to: &ThreadId, part: &mut FilePart) -> Result<(), Problem> {
        let Some(file) = StoredFile::from_url(from, &part.url) else { return Ok(()) };
        let Some(mut opened) = self.parts.files.open(from, file.name()).await? else { return Ok(()) };
        let copy = StoredFile::new(to.clone(), "", file.name());
        let mut writer = self.parts.files.create(&copy).await?;
        let mut piece = vec![0; PIECE];
        loop {
            let read = opened.content.read(&mut piece).await.map_err(|error| {
                tracing::error!(%error, file = file.name(), "file not copied into a branch");
                Problem::from(StoreError::closed())
            })?;
            let Some(read) = piece.get(..read).filter(|read| !read.is_empty()) else { break };
            writer.write(read).await?;
        }
        writer.finish().await?;
        part.url = copy.url();
        Ok(())
    }
}
