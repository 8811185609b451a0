//! What the router puts into an actor's mailbox, and what actors tell the router.

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::domain::{IngressEvent, MessageId, ThreadId};
use crate::ports::{Acceptance, RunOutcome, Saying, Subscription};

#[derive(Debug)]
pub(super) enum ActorMsg {
    Event(Box<IngressEvent>, oneshot::Sender<Acceptance>),
    /// The agent says something here.
    Say(Box<Saying>, oneshot::Sender<Acceptance>),
    /// Subscribe to a thread.
    Watch(oneshot::Sender<Subscription>),
    /// Wait for the end of a run.
    Await(MessageId, oneshot::Sender<RunOutcome>),
}

/// ActorMsg on its way.
#[derive(Debug)]
pub(super) struct Envelope {
    /// What is in it.
    pub(super) mail: ActorMsg,
    /// Its place among the events that wait, given back once it is read. Questions need none.
    pub(super) place: Option<OwnedSemaphorePermit>,
}

impl Envelope {
    /// What is in it; its place is free from now on.
    pub(super) fn open(self) -> ActorMsg {
        drop(self.place);
        self.mail
    }
}

#[derive(Debug)]
pub(super) enum RouterMsg {
    /// This actor has nothing to do and only holds its history in memory.
    Resting {
        thread: ThreadId,
        /// How many pieces of mail it has read.
        read: u64,
        /// About how much memory its history takes.
        bytes: usize,
    },
    /// This actor has had nothing to do for a while and may be let go, unless mail has been sent to it since:
    /// `read` is how many it had read by then.
    Idle {
        thread: ThreadId,
        /// How many pieces of mail it has read.
        read: u64,
    },
}
