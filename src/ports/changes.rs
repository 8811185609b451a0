//! Tells of changes anywhere in the daemon, for clients that show all threads at once.

use tokio::sync::broadcast;

use crate::domain::{ThreadId, ThreadState};

/// How many changes a subscriber may be behind before it has to read everything anew.
const BACKLOG: usize = 1024;

/// Something that a list of threads, or what stands beside it, shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A message was written in a thread, or its state changed.
    Thread { thread: ThreadId, state: ThreadState, pending_approvals: usize },
    /// The agent's instructions were read again.
    Instructions,
}

/// Where changes are announced. Cheap to clone; holds a bounded number of changes, for all subscribers together.
#[derive(Clone, Debug)]
pub struct Changes(broadcast::Sender<Change>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::Sender::new(BACKLOG))
    }
}

impl Changes {
    pub fn announce(&self, change: Change) {
        // Without a subscriber there is nothing to do.
        drop(self.0.send(change));
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }
}
