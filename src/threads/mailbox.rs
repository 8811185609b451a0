//! The messages from the router to an actor, and from actors to the router.

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::domain::{IngressEvent, MessageId, ThreadId};
use crate::ports::{Acceptance, RunOutcome, Saying, Subscription};

#[derive(Debug)]
pub(super) enum ActorMsg {
    Event(Box<IngressEvent>, oneshot::Sender<Acceptance>),
    /// A tool posts a message to this thread.
    Say(Box<Saying>, oneshot::Sender<Acceptance>),
    Watch(oneshot::Sender<Subscription>),
    Await(MessageId, oneshot::Sender<RunOutcome>),
}

/// A message in an actor's mailbox.
#[derive(Debug)]
pub(super) struct Envelope {
    pub(super) mail: ActorMsg,
    /// The mailbox capacity that an event holds until it is read. Queries need none.
    pub(super) place: Option<OwnedSemaphorePermit>,
}

impl Envelope {
    /// Returns the message and frees its capacity.
    pub(super) fn open(self) -> ActorMsg {
        drop(self.place);
        self.mail
    }
}

#[derive(Debug)]
pub(super) enum RouterMsg {
    /// This actor has no work and only keeps its history in memory.
    Resting {
        thread: ThreadId,
        /// How many messages it has read.
        read: u64,
        /// About how much memory its history takes.
        bytes: usize,
    },
    /// This actor has had no work for the idle time and may end, unless messages have been sent to it since: `read` is
    /// how many it had read by then.
    Idle { thread: ThreadId, read: u64 },
}
