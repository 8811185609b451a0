//! Requests as events for the threads, and the threads' results as responses.

use std::time::Duration;

use axum::http::StatusCode;

use super::problem::Problem;
use super::server::Web;
use crate::domain::{
    Author, AuthorId, AuthorRole, ChatKind, CommandInvocation, CorrelationId, IngressEvent, IngressKind,
    Language, MessageId, Platform, Said, ThreadId,
};
use crate::ports::Acceptance;
use crate::render::Phrase;

/// Deadline of storing a message.
const DEADLINE: Duration = Duration::from_secs(30);

/// The author id of the token holder.
pub(super) const OPERATOR: &str = "operator";

/// A stored event.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) message: MessageId,
    /// Its run; unknown for a duplicate.
    pub(super) correlation: Option<CorrelationId>,
    /// Whether it was stored before.
    pub(super) duplicate: bool,
}

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

    /// Submits an event. It is stored when this returns.
    pub(super) async fn submit(
        &self,
        thread: &ThreadId,
        author: Author,
        message: MessageId,
        kind: IngressKind,
    ) -> Result<Taken, Problem> {
        let language = self.options.language.unwrap_or_else(|| language_of(&kind));
        let event = IngressEvent {
            thread: thread.clone(),
            author,
            platform_message: message.as_str().to_owned(),
            message,
            at: self.clock.now(),
            chat: ChatKind::Direct,
            kind,
        };
        let accepted = tokio::time::timeout(DEADLINE, self.threads.deliver(event)).await.map_err(|_| {
            let text = "the message could not be stored in time: send it again with the same id";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, text).after(5)
        })?;
        match accepted {
            Acceptance::Accepted { message, correlation } => {
                Ok(Taken { message, correlation: Some(correlation), duplicate: false })
            }
            Acceptance::Duplicate { message } => Ok(Taken { message, correlation: None, duplicate: true }),
            Acceptance::Busy => {
                let text = Phrase::Busy.say(language);
                Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, text).after(5))
            }
            Acceptance::Refused(reason) => Err(Problem::new(StatusCode::CONFLICT, reason)),
            Acceptance::StorageFailed(reason) => {
                tracing::error!(reason, "message not stored");
                let text = Phrase::StorageFailed.say(language);
                Err(Problem::new(StatusCode::INSUFFICIENT_STORAGE, text).after(30))
            }
            Acceptance::Stopping => {
                let text = Phrase::Stopping.say(language);
                Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, text).after(5))
            }
        }
    }
}

/// The language of a refusal: that of the refused text.
fn language_of(kind: &IngressKind) -> Language {
    match kind {
        IngressKind::Said(said) | IngressKind::Edited(said) | IngressKind::Revised(said) => {
            Language::of(&said.text)
        }
        IngressKind::Regenerate(_) | IngressKind::Command(_) | IngressKind::Decision(_) => {
            Language::default()
        }
    }
}
