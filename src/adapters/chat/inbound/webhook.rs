//! The webhook of a platform: verifies requests, passes their events to the running pipeline, and answers with the
//! outcome.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::super::TtlCache;
use super::pipeline::{Outcome, Pipeline};
use crate::ports::{AdapterError, BoxFuture, Hook, HookAnswer, HookRequest};

/// Deadline of an event; afterwards the platform sends it again. The dedupe key recognises one that was accepted
/// meanwhile.
const WITHIN: Duration = Duration::from_secs(30);
/// How long an accepted request is remembered, and how many are. Schemes refuse older ones by their timestamp.
const REPLAY_WINDOW: Duration = Duration::from_secs(600);
const MOST_REPLAYS: usize = 10_000;

/// How a platform proves its requests, and how it is answered.
pub trait WebhookScheme: Send + Sync + Debug + 'static {
    /// The path it is served at, such as `/hooks/telegram`.
    const PATH: &'static str;

    /// Verifies and parses a request.
    fn verify(&self, request: &HookRequest) -> WebhookRequest;

    /// The response to an event; `None` where no pipeline runs or the deadline has passed. The platform must send an
    /// event again that was not accepted.
    fn respond(&self, outcome: Option<&Outcome>) -> HookAnswer;
}

/// A request of a platform.
#[derive(Clone, Debug, PartialEq)]
pub enum WebhookRequest {
    Event {
        event: Value,
        /// Identifies a request whose replay has no effect.
        nonce: Option<String>,
    },
    /// Refused, or no event: this is the response.
    Answer(HookAnswer),
}

/// Accepts events while a pipeline runs.
#[derive(Debug)]
pub struct Webhook<S> {
    scheme: S,
    pipeline: watch::Sender<Option<Arc<Pipeline>>>,
    replays: TtlCache<String, ()>,
}

impl<S: WebhookScheme> Webhook<S> {
    pub fn new(scheme: S) -> Self {
        Self { scheme, pipeline: watch::Sender::new(None), replays: TtlCache::with_capacity(MOST_REPLAYS) }
    }

    /// Accepts events until stopped, and checks the platform at this interval.
    ///
    /// # Errors
    /// Those of the check.
    pub async fn serve<F>(
        &self,
        pipeline: Arc<Pipeline>,
        stop: &CancellationToken,
        every: Duration,
        check: impl Fn() -> F,
    ) -> Result<(), AdapterError>
    where
        F: Future<Output = Result<(), AdapterError>>,
    {
        let _open = self.open(pipeline);
        let mut due = interval(every);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                checked = async { due.tick().await; check().await } => checked?,
            }
        }
    }

    /// Events are accepted while the returned value lives, however the adapter ends; `None` where another one does.
    fn open(&self, pipeline: Arc<Pipeline>) -> Option<OpenWebhook<'_>> {
        let opened = self.pipeline.send_if_modified(|current| {
            let free = current.is_none();
            if free {
                *current = Some(pipeline);
            }
            free
        });
        opened.then_some(OpenWebhook(&self.pipeline))
    }

    async fn answer(&self, request: &HookRequest) -> HookAnswer {
        let (event, nonce) = match self.scheme.verify(request) {
            WebhookRequest::Event { event, nonce } => (event, nonce),
            WebhookRequest::Answer(answer) => return answer,
        };
        if nonce.as_ref().is_some_and(|nonce| self.replays.get(nonce).is_some()) {
            tracing::warn!(path = S::PATH, "webhook request replayed");
            return self.scheme.respond(Some(&Outcome::Taken));
        }
        let pipeline = self.pipeline.borrow().clone();
        let outcome = match pipeline {
            Some(pipeline) => tokio::time::timeout(WITHIN, pipeline.receive(&event)).await.ok(),
            None => None,
        };
        match (&outcome, nonce) {
            (Some(Outcome::Again(why)), _) => {
                tracing::warn!(path = S::PATH, why, "event not accepted, redelivery requested");
            }
            (Some(Outcome::Taken | Outcome::Answered(_)), Some(nonce)) => {
                self.replays.put(nonce, (), REPLAY_WINDOW);
            }
            (Some(Outcome::Taken | Outcome::Answered(_)) | None, _) => {}
        }
        self.scheme.respond(outcome.as_ref())
    }
}

impl<S: WebhookScheme> Hook for Webhook<S> {
    fn path(&self) -> &str {
        S::PATH
    }

    fn call(&self, request: HookRequest) -> BoxFuture<'_, HookAnswer> {
        Box::pin(async move { self.answer(&request).await })
    }
}

#[derive(Debug)]
struct OpenWebhook<'a>(&'a watch::Sender<Option<Arc<Pipeline>>>);

impl Drop for OpenWebhook<'_> {
    fn drop(&mut self) {
        self.0.send_replace(None);
    }
}
