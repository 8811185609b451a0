//! Messages that are being prepared: files are fetched, steps run, earlier messages are awaited. `/stop` ends that for its
//! author.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::InboundMessage;
use crate::domain::{AuthorId, ThreadId};

#[derive(Debug, Default)]
pub(super) struct PendingMessages {
    entries: Mutex<Vec<Entry>>,
    last: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    thread: ThreadId,
    author: AuthorId,
    stopped: CancellationToken,
}

/// A message that is being prepared, until this is dropped.
#[derive(Debug)]
pub(super) struct PendingMessage<'a> {
    of: &'a PendingMessages,
    number: u64,
    /// Cancelled by `/stop`.
    pub(super) stopped: CancellationToken,
}

impl PendingMessages {
    pub(super) fn enter(&self, message: &InboundMessage) -> PendingMessage<'_> {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let stopped = CancellationToken::new();
        let (thread, author) = (message.thread.clone(), message.author.id.clone());
        self.entries().push(Entry { number, thread, author, stopped: stopped.clone() });
        PendingMessage { of: self, number, stopped }
    }

    /// Stops the messages of the author of this command: in a private chat all messages of the thread. Returns whether
    /// there were any.
    pub(super) fn stop(&self, command: &InboundMessage) -> bool {
        let theirs = |entry: &&Entry| {
            entry.thread == command.thread
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

impl Drop for PendingMessage<'_> {
    fn drop(&mut self) {
        self.of.entries().retain(|entry| entry.number != self.number);
    }
}
