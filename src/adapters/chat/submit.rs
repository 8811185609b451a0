//! Handing an event in, and what follows for the platform.

use std::time::Duration;

use crate::domain::{IngressEvent, IngressKind, Language};
use crate::ports::{Acceptance, ThreadsHandle};
use crate::render::Phrase;

/// Within this time the disk must have taken an event.
const DEADLINE: Duration = Duration::from_secs(30);

/// What follows for the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// The platform may be told that it was received.
    Kept,
    /// The same, and whoever sent it is told this: it was not taken, or how a button was understood.
    Tell(String),
    /// The platform must not be told: it has to come again.
    Later(String),
}

/// Hands an event in and waits until it is on the disk or not.
pub async fn submit(door: &ThreadsHandle, event: IngressEvent, language: Language) -> Submitted {
    let decision = matches!(event.kind, IngressKind::Decision(_));
    let edited = matches!(event.kind, IngressKind::Edited(_));
    match tokio::time::timeout(DEADLINE, door.deliver(event)).await {
        Ok(Acceptance::Accepted { .. } | Acceptance::Duplicate { .. }) => Submitted::Kept,
        Ok(Acceptance::Busy) => Submitted::Tell(Phrase::Busy.say(language)),
        Ok(Acceptance::Refused(words)) if decision => Submitted::Tell(words),
        // A correction of what is long past, or of what was never for us: nobody waits for an answer.
        Ok(Acceptance::Refused(_)) if edited => Submitted::Kept,
        Ok(Acceptance::Refused(words)) => Submitted::Tell(words),
        Ok(Acceptance::StorageFailed(why)) => Submitted::Later(why),
        Ok(Acceptance::Stopping) => Submitted::Later("the daemon is stopping".to_owned()),
        Err(_) => Submitted::Later("the event was not taken in time".to_owned()),
    }
}
