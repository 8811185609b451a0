//! Submits an event to the threads and waits until it is stored. The one place that has words for
//! its author; an adapter only decides what its platform is told.

use std::time::Duration;

use crate::domain::{IngressEvent, IngressKind, Language, Said};
use crate::ports::{
    Acceptance, EnrichInput, EnrichStep, RejectReason, Rejection, StoredEvent, ThreadsHandle,
};
use crate::render::Phrase;

/// Deadline of storing an event.
const DEADLINE: Duration = Duration::from_secs(30);

/// An event that was not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RejectedEvent {
    pub(super) reason: RejectReason,
    /// For the author.
    pub(super) text: String,
    /// For the log.
    pub(super) detail: String,
}

/// The message with the result of a step; `None` where the step failed or exceeded its deadline.
pub(super) async fn enrich_with(step: &dyn EnrichStep, input: EnrichInput<'_>) -> Option<Said> {
    match tokio::time::timeout(step.deadline(), step.enrich(input)).await {
        Ok(Ok(result)) => Some(result),
        Ok(Err(error)) => {
            tracing::warn!(step = step.name(), %error, "enrich step failed");
            None
        }
        Err(_) => {
            tracing::warn!(step = step.name(), "enrich step timed out");
            None
        }
    }
}

/// Submits an event. It is durable when this returns `Ok`.
///
/// # Errors
/// When it was not stored, or not within the deadline.
pub(super) async fn submit_event(
    threads: &ThreadsHandle,
    event: IngressEvent,
    language: Language,
) -> Result<StoredEvent, RejectedEvent> {
    let late = |_| Rejection {
        reason: RejectReason::TimedOut,
        detail: "the event was not accepted in time".to_owned(),
    };
    let accepted = tokio::time::timeout(DEADLINE, threads.deliver(event)).await.map_err(late);
    accepted.and_then(Acceptance::into_result).map_err(|Rejection { reason, detail }| {
        let text = match reason {
            RejectReason::Busy => Phrase::Busy.say(language),
            RejectReason::Refused => detail.clone(),
            RejectReason::StorageFailed => Phrase::StorageFailed.say(language),
            RejectReason::Stopping => Phrase::Stopping.say(language),
            RejectReason::TimedOut => Phrase::NotStoredInTime.say(language),
        };
        RejectedEvent { reason, text, detail }
    })
}

/// The consequence for the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Submitted {
    /// The event may be acknowledged.
    Kept,
    /// Acknowledged, with a notice for the author: why it was refused, or how a button was understood.
    Tell(String),
    /// Not acknowledged: the platform must send it again.
    Later(String),
}

/// Submits an event of a chat platform and waits until it is stored or refused.
pub(super) async fn submit(threads: &ThreadsHandle, event: IngressEvent, language: Language) -> Submitted {
    let edited = matches!(event.kind, IngressKind::Edited(_));
    match submit_event(threads, event, language).await {
        Ok(_) => Submitted::Kept,
        Err(RejectedEvent {
            reason: RejectReason::StorageFailed | RejectReason::Stopping | RejectReason::TimedOut,
            detail,
            ..
        }) => Submitted::Later(detail),
        // An edit of an old message, or of one that was not for the agent, gets no notice.
        Err(rejected) if edited && rejected.reason == RejectReason::Refused => Submitted::Kept,
        Err(rejected) => Submitted::Tell(rejected.text),
    }
}
