//! The mailbox of an actor, in which it gets requests as the router received them, and what actors tell the router.

use std::sync::Arc;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Semaphore, mpsc};

use crate::domain::ThreadId;
use crate::ports::ThreadRequest;

/// Most queries in a mailbox that are not read yet. Queries have space of their own, so that a full mailbox does not keep
/// clients from subscribing.
pub(super) const QUERIES: usize = 1024;

/// A mailbox for this many events.
pub(super) fn mailbox(events: usize) -> (MailboxSender, Mailbox) {
    let (sender, requests) = mpsc::channel(events.saturating_add(QUERIES));
    let room = Arc::new(Semaphore::new(events));
    (MailboxSender { requests: sender, room: Arc::clone(&room) }, Mailbox { requests, room })
}

/// The router's end.
#[derive(Debug)]
pub(super) struct MailboxSender {
    requests: mpsc::Sender<ThreadRequest>,
    /// The capacity left for events.
    room: Arc<Semaphore>,
}

impl MailboxSender {
    /// Puts a request into the mailbox. An event that finds no capacity is given back as from a full queue.
    pub(super) fn try_send(&self, request: ThreadRequest) -> Result<(), TrySendError<ThreadRequest>> {
        if !request.is_event() {
            return self.requests.try_send(request);
        }
        let Ok(permit) = self.room.try_acquire() else { return Err(TrySendError::Full(request)) };
        self.requests.try_send(request)?;
        // The reader frees it.
        permit.forget();
        Ok(())
    }

    /// How many events it has room for.
    pub(super) fn free(&self) -> usize {
        self.room.available_permits()
    }
}

/// The actor's end.
#[derive(Debug)]
pub(super) struct Mailbox {
    requests: mpsc::Receiver<ThreadRequest>,
    room: Arc<Semaphore>,
}

impl Mailbox {
    /// The next request; `None` once the router has closed the mailbox. Frees its capacity. Cancel-safe.
    pub(super) async fn recv(&mut self) -> Option<ThreadRequest> {
        let request = self.requests.recv().await?;
        if request.is_event() {
            self.room.add_permits(1);
        }
        Some(request)
    }
}

#[derive(Debug)]
pub(super) enum RouterMsg {
    /// This actor has no work and only keeps its history in memory.
    BecameIdle {
        thread: ThreadId,
        /// How many messages it has read.
        read: u64,
        /// About how much memory its history takes.
        bytes: usize,
    },
    /// This actor has had no work for the idle time and may end, unless messages have been sent to it since: `read` is
    /// how many it had read by then.
    IdleTimeout { thread: ThreadId, read: u64 },
}
