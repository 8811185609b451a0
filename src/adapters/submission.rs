//! Submits an event to the threads and waits until it is stored. The one place that maps an `Acceptance` to words for
//! its author; an adapter only decides what its platform is told.

use std::time::Duration;

use crate::domain::{CorrelationId, IngressEvent, IngressKind, Language, MessageId, Said};
use crate::ports::{Acceptance, EnrichInput, EnrichStep, ThreadsHandle};
use crate::render::Phrase;

/// Deadline of storing an event.
const DEADLINE: Duration = Duration::from_secs(30);

/// An event that is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredEvent {
    pub(super) message: MessageId,
    /// Its run; unknown for a duplicate.
    pub(super) correlation: Option<CorrelationId>,
    /// Whether it was stored before.
    pub(super) duplicate: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RejectReason {
    /// The thread's queue is full.
    Busy,
    /// The event is not valid in the state of the thread.
    Refused,
    StorageFailed,
    Stopping,
    TimedOut,
}

impl RejectReason {
    /// Whether the same event may be stored when it is sent again later, without a change by its author.
    pub(super) const fn is_temporary(self) -> bool {
        matches!(self, Self::StorageFailed | Self::Stopping | Self::TimedOut)
    }
}

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
    let rejected = |reason, text: String, detail: String| Err(RejectedEvent { reason, text, detail });
    match tokio::time::timeout(DEADLINE, threads.deliver(event)).await {
        Ok(Acceptance::Accepted { message, correlation }) => {
            Ok(StoredEvent { message, correlation: Some(correlation), duplicate: false })
        }
        Ok(Acceptance::Duplicate { message }) => {
            Ok(StoredEvent { message, correlation: None, duplicate: true })
        }
        Ok(Acceptance::Busy) => {
            rejected(RejectReason::Busy, Phrase::Busy.say(language), "the queue is full".to_owned())
        }
        Ok(Acceptance::Refused(why)) => rejected(RejectReason::Refused, why.clone(), why),
        Ok(Acceptance::StorageFailed(why)) => {
            rejected(RejectReason::StorageFailed, Phrase::StorageFailed.say(language), why)
        }
        Ok(Acceptance::Stopping) => rejected(
            RejectReason::Stopping,
            Phrase::Stopping.say(language),
            "the daemon is stopping".to_owned(),
        ),
        Err(_) => rejected(
            RejectReason::TimedOut,
            "the message could not be stored in time: send it again with the same id".to_owned(),
            "the event was not taken in time".to_owned(),
        ),
    }
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
        Err(rejected) if rejected.reason.is_temporary() => Submitted::Later(rejected.detail),
        // An edit of an old message, or of one that was not for the agent, gets no notice.
        Err(rejected) if edited && rejected.reason == RejectReason::Refused => Submitted::Kept,
        Err(rejected) => Submitted::Tell(rejected.text),
    }
}
