//! Best-effort work after an event, such as a notice: no event waits for it.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::ports::BoxFuture;

/// Capacity of the queue, and how many run at the same time.
const MOST: usize = 256;
/// Deadline of one.
const WITHIN: Duration = Duration::from_secs(40);

/// A handle to run follow-ups. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Followups {
    queue: mpsc::Sender<BoxFuture<'static, ()>>,
}

/// Runs the follow-ups; to be run by its owner.
pub struct FollowupTask {
    queue: mpsc::Receiver<BoxFuture<'static, ()>>,
}

impl std::fmt::Debug for FollowupTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FollowupTask").finish_non_exhaustive()
    }
}

impl Followups {
    pub fn new() -> (Self, FollowupTask) {
        let (sender, queue) = mpsc::channel(MOST);
        (Self { queue: sender }, FollowupTask { queue })
    }

    /// Queues work that may be dropped. Never waits.
    pub fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        if self.queue.try_send(Box::pin(work)).is_err() {
            tracing::warn!("follow-up dropped, queue full");
        }
    }

    /// Queues work that a person waits for, and does it at once where the queue is full.
    pub async fn run_surely(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Err(error) = self.queue.try_send(Box::pin(work)) {
            error.into_inner().await;
        }
    }
}

impl FollowupTask {
    /// Runs follow-ups until dropped.
    pub(super) async fn run(&mut self) {
        let mut running = JoinSet::new();
        loop {
            tokio::select! {
                Some(_) = running.join_next() => {}
                Some(work) = self.queue.recv(), if running.len() < MOST => {
                    running.spawn(async move {
                        if tokio::time::timeout(WITHIN, work).await.is_err() {
                            tracing::warn!("follow-up timed out");
                        }
                    });
                }
                else => std::future::pending().await,
            }
        }
    }
}
