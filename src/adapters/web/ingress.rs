//! Requests as events for the threads, and the threads' results as responses.

use axum::http::StatusCode;

use super::problem::Problem;
use super::server::Web;
use crate::adapters::submission::submit_event;
use crate::domain::{
    Author, AuthorId, AuthorRole, ChatKind, CommandInvocation, IngressEvent, IngressKind, Language,
    MessageId, Platform, Said, ThreadId,
};
use crate::ports::{RejectReason, StoredEvent};

/// The author id of the token holder.
pub const OPERATOR: &str = "operator";

/// A text is a message for the agent unless it is a command of the daemon.
pub(super) fn said_or_command(said: Said) -> IngressKind {
    match CommandInvocation::parse(&said.text) {
        Some(order) if said.files.is_empty() => IngressKind::Command(order),
        _ => IngressKind::Said(said),
    }
}

impl Web {
    /// The token holder as an author of this platform.
    pub(super) fn operator(&self, platform: &Platform) -> Result<Author, Problem> {
        Ok(Author {
            id: AuthorId::new(platform, OPERATOR)?,
            name: self.options.operator_name.clone(),
            role: AuthorRole::Person,
        })
    }

    /// The error when a thread did not respond: the daemon stops, or the queue is full.
    pub(super) fn unanswered(&self) -> Problem {
        if self.stop.is_cancelled() {
            return Problem::stopping();
        }
        let text = "the thread has too much to do right now: try again in a moment";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, text).after(5)
    }

    /// A unique message id.
    pub(super) fn fresh_message(&self) -> Result<MessageId, Problem> {
        Ok(format!("in_{}", self.parts.ids.unique()).parse()?)
    }

    /// Submits an event of the operator. It is stored when this returns.
    pub(super) async fn submit(
        &self,
        thread: &ThreadId,
        author: Author,
        message: MessageId,
        kind: IngressKind,
    ) -> Result<StoredEvent, Problem> {
        let chat = match kind {
            IngressKind::Command(_) | IngressKind::Decision(_) => ChatKind::Operator,
            IngressKind::Said(_)
            | IngressKind::Edited(_)
            | IngressKind::Revised(_)
            | IngressKind::Withdrawn
            | IngressKind::Regenerate(_)
            | IngressKind::StopRun(_) => chat_of(thread),
        };
        self.submit_from(chat, thread, author, message, kind).await
    }

    /// Submits an event of a program, which may name a user.
    pub(super) async fn submit_from(
        &self,
        chat: ChatKind,
        thread: &ThreadId,
        author: Author,
        message: MessageId,
        kind: IngressKind,
    ) -> Result<StoredEvent, Problem> {
        let language = self.options.language.unwrap_or_else(|| language_of(&kind));
        let event = IngressEvent {
            thread: thread.clone(),
            author,
            platform_message: message.as_str().to_owned(),
            message,
            at: self.clock.now(),
            chat,
            kind,
        };
        submit_event(&self.threads, event, language).await.map_err(|rejected| {
            if rejected.reason == RejectReason::StorageFailed {
                tracing::error!(reason = rejected.detail, "message not stored");
            }
            let (status, retry_after) = match rejected.reason {
                RejectReason::Refused => return Problem::new(StatusCode::CONFLICT, rejected.text),
                RejectReason::Busy => (StatusCode::TOO_MANY_REQUESTS, 5),
                RejectReason::StorageFailed => (StatusCode::INSUFFICIENT_STORAGE, 30),
                RejectReason::Stopping | RejectReason::TimedOut => (StatusCode::SERVICE_UNAVAILABLE, 5),
            };
            Problem::new(status, rejected.text).after(retry_after)
        })
    }
}

/// Platforms whose threads only the operator reads.
pub(super) const OWN_PLATFORMS: [&str; 2] = ["web", "cli"];

/// What the operator says in a thread of another platform is answered to its people, so the operator's own memory must
/// stay out of it.
fn chat_of(thread: &ThreadId) -> ChatKind {
    match OWN_PLATFORMS.contains(&thread.platform().as_str()) {
        true => ChatKind::Operator,
        false => ChatKind::Program,
    }
}

/// The language of a refusal: that of the refused text.
fn language_of(kind: &IngressKind) -> Language {
    match kind {
        IngressKind::Said(said) | IngressKind::Edited(said) | IngressKind::Revised(said) => {
            Language::of(&said.text)
        }
        IngressKind::Withdrawn
        | IngressKind::Regenerate(_)
        | IngressKind::Command(_)
        | IngressKind::Decision(_)
        | IngressKind::StopRun(_) => Language::default(),
    }
}
