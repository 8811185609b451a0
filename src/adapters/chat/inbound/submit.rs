//! Submits an event to the threads, and maps the result to the acknowledgement of the platform.

use crate::adapters::submission::{RejectReason, submit_event};
use crate::domain::{IngressEvent, IngressKind, Language};
use crate::ports::ThreadsHandle;

/// The consequence for the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// The event may be acknowledged.
    Kept,
    /// Acknowledged, with a notice for the author: why it was refused, or how a button was understood.
    Tell(String),
    /// Not acknowledged: the platform must send it again.
    Later(String),
}

/// Submits an event and waits until it is stored or refused.
pub async fn submit(threads: &ThreadsHandle, event: IngressEvent, language: Language) -> Submitted {
    let edited = matches!(event.kind, IngressKind::Edited(_));
    match submit_event(threads, event, language).await {
        Ok(_) => Submitted::Kept,
        Err(rejected) if rejected.reason.is_temporary() => Submitted::Later(rejected.detail),
        // An edit of an old message, or of one that was not for the agent, gets no notice.
        Err(rejected) if edited && rejected.reason == RejectReason::Refused => Submitted::Kept,
        Err(rejected) => Submitted::Tell(rejected.text),
    }
}
