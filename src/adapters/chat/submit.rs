//! Submits an event to the threads, and maps the result to the acknowledgement of the platform.

use std::time::Duration;

use crate::domain::{IngressEvent, IngressKind, Language};
use crate::ports::{Acceptance, ThreadsHandle};
use crate::render::Phrase;

/// Deadline of storing an event.
const DEADLINE: Duration = Duration::from_secs(30);

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
    let decision = matches!(event.kind, IngressKind::Decision(_));
    let edited = matches!(event.kind, IngressKind::Edited(_));
    match tokio::time::timeout(DEADLINE, threads.deliver(event)).await {
        Ok(Acceptance::Accepted { .. } | Acceptance::Duplicate { .. }) => Submitted::Kept,
        Ok(Acceptance::Busy) => Submitted::Tell(Phrase::Busy.say(language)),
        Ok(Acceptance::Refused(words)) if decision => Submitted::Tell(words),
        // An edit of an old message, or of one that was not for the agent, gets no notice.
        Ok(Acceptance::Refused(_)) if edited => Submitted::Kept,
        Ok(Acceptance::Refused(words)) => Submitted::Tell(words),
        Ok(Acceptance::StorageFailed(why)) => Submitted::Later(why),
        Ok(Acceptance::Stopping) => Submitted::Later("the daemon is stopping".to_owned()),
        Err(_) => Submitted::Later("the event was not taken in time".to_owned()),
    }
}
