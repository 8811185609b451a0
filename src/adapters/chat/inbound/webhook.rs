//! The webhook of a platform: passes verified events to the running pipeline and waits for the outcome.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use super::pipeline::{Outcome, Pipeline};

/// Deadline of an event; afterwards the platform sends it again. The dedupe key recognises one that was accepted
/// meanwhile.
const WITHIN: Duration = Duration::from_secs(30);

/// Accepts events while a pipeline runs.
#[derive(Debug)]
pub struct Webhook {
    pipeline: watch::Sender<Option<Arc<Pipeline>>>,
}

impl Default for Webhook {
    fn default() -> Self {
        Self { pipeline: watch::Sender::new(None) }
    }
}

impl Webhook {
    /// Events are accepted while the returned value lives, however the adapter ends; `None` where another one does.
    pub fn open(&self, pipeline: Arc<Pipeline>) -> Option<OpenWebhook<'_>> {
        let opened = self.pipeline.send_if_modified(|current| {
            let free = current.is_none();
            if free {
                *current = Some(pipeline);
            }
            free
        });
        opened.then_some(OpenWebhook(self))
    }

    /// Passes on a verified event. `None` where no pipeline runs or the deadline has passed: the platform must send the
    /// event again.
    pub async fn receive(&self, raw: &Value) -> Option<Outcome> {
        let pipeline = self.pipeline.borrow().clone()?;
        tokio::time::timeout(WITHIN, pipeline.receive(raw)).await.ok()
    }
}

#[derive(Debug)]
pub struct OpenWebhook<'a>(&'a Webhook);

impl Drop for OpenWebhook<'_> {
    fn drop(&mut self) {
        self.0.pipeline.send_replace(None);
    }
}
