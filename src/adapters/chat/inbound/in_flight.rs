//! Events that a transport passed to the pipeline and that are not accepted yet, each with a label of the transport.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::task::JoinSet;

use super::Pipeline;

#[derive(Debug)]
pub struct InFlight<L> {
    jobs: JoinSet<L>,
}

impl<L: 'static> Default for InFlight<L> {
    fn default() -> Self {
        Self { jobs: JoinSet::new() }
    }
}

impl<L: Send + 'static> InFlight<L> {
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Passes an event on, and retries until it is accepted. Its position in the order of its chat is taken by this call.
    pub fn receive(&mut self, pipeline: &Arc<Pipeline>, raw: &Value, label: L) {
        let accepted = AssertUnwindSafe(pipeline.receive_surely(raw)).catch_unwind();
        self.jobs.spawn(async move {
            if accepted.await.is_err() {
                // A panic on this event would repeat forever.
                tracing::error!("event ignored after a panic");
            }
            label
        });
    }

    /// The label of the next accepted event. Pending while there is none; cancel-safe.
    pub async fn next(&mut self) -> L {
        loop {
            match self.jobs.join_next().await {
                Some(Ok(label)) => return label,
                Some(Err(error)) => tracing::error!(%error, "event task failed"),
                None => std::future::pending().await,
            }
        }
    }
}
