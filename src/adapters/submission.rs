//! Submits an event to the threads and waits until it is stored. The one place that maps an `Acceptance` to words for
//! its author; an adapter only decides what its platform is told.

use std::time::Duration;

use crate::domain::{CorrelationId, IngressEvent, Language, MessageId};
use crate::ports::{Acceptance, ThreadsHandle};
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
