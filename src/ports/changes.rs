//! Announces changes anywhere in the daemon, for clients that show all threads at once.

use tokio::sync::broadcast;

use crate::domain::{ThreadId, ThreadState};

/// Most changes that a subscriber may lag behind before it has to read everything again.
const BACKLOG: usize = 1024;

/// A change that is visible in a list of threads or beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A message was written in a thread, or its state changed.
    Thread { thread: ThreadId, state: ThreadState, pending_approvals: usize },
    /// The agent's instructions were read again.
    Instructions,
}

/// The channel of changes. Cheap to clone; holds a bounded number of changes, for all subscribers together.
#[derive(Clone, Debug)]
pub struct Changes(broadcast::Sender<Change>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::Sender::new(BACKLOG))
    }
}

impl Changes {
    pub fn announce(&self, change: Change) {
        // Without a subscriber the change is dropped.
        drop(self.0.send(change));
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }
}
