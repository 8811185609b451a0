//! Messages on their way to a thread: from their receipt, while files are fetched, steps run and earlier messages are
//! awaited, until they are submitted. `/stop` ends that for its author.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::InboundMessage;
use crate::domain::{AuthorId, ThreadId};

/// The messages on their way. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingMessages {
    entries: Arc<Mutex<Vec<Entry>>>,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    thread: ThreadId,
    author: AuthorId,
    stopped: CancellationToken,
}

/// A message on its way, until this is dropped. Its position carries it.
#[derive(Debug)]
pub(super) struct PendingMessage {
    of: PendingMessages,
    number: u64,
    /// Cancelled by `/stop`.
    pub(super) stopped: CancellationToken,
}

impl PendingMessages {
    /// Enters a message under the number of its position.
    pub(super) fn enter(&self, message: &InboundMessage, number: u64) -> PendingMessage {
        let stopped = CancellationToken::new();
        let (thread, author) = (message.thread.clone(), message.author.id.clone());
        self.entries().push(Entry { number, thread, author, stopped: stopped.clone() });
        PendingMessage { of: self.clone(), number, stopped }
    }

    /// Stops the messages of the author of this command that came before it: in a private chat all messages of the
    /// thread. Returns whether there were any.
    pub(super) fn stop(&self, command: &InboundMessage, number: u64) -> bool {
        let theirs = |entry: &&Entry| {
            entry.number < number
                && entry.thread == command.thread
                && (command.kind.is_private() || entry.author == command.author.id)
                && !entry.stopped.is_cancelled()
        };
        let entries = self.entries();
        let stopped = entries.iter().filter(theirs).map(|entry| entry.stopped.cancel()).count();
        stopped > 0
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PendingMessage {
    fn drop(&mut self) {
        self.of.entries().retain(|entry| entry.number != self.number);
    }
}
