//! The webhook: verifies requests of our listener, handles them like events of the long connection, and answers them.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::intake::{Intake, Outcome};
use super::webhook::{Opened, Replays, Seal, Signature};
use crate::ports::{AdapterIo, HookAnswer, HookRequest};

/// A webhook request that waits for its response.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) request: HookRequest,
    pub(super) reply: oneshot::Sender<HookAnswer>,
}

fn said(status: u16, body: &serde_json::Value) -> HookAnswer {
    HookAnswer { status, body: body.to_string().into_bytes() }
}

/// The webhook queue, with the requests accepted before.
#[derive(Debug)]
pub(super) struct Hooks<'a> {
    seal: Seal,
    inbox: &'a mut mpsc::Receiver<Waiting>,
    replays: Replays,
}

/// A handled request: its nonce and its outcome.
type Done = (Option<String>, Outcome, oneshot::Sender<HookAnswer>);

impl<'a> Hooks<'a> {
    pub(super) fn new(seal: Seal, inbox: &'a mut mpsc::Receiver<Waiting>) -> Self {
        Self { seal, inbox, replays: Replays::default() }
    }

    /// Answers requests until stopped.
    pub(super) async fn serve(&mut self, intake: &Arc<Intake>, io: &AdapterIo, stop: &CancellationToken) {
        let mut taken: JoinSet<Done> = JoinSet::new();
        io.health.alive(io.clock.now());
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Some(done) = taken.join_next() => match done {
                    Ok((nonce, outcome, reply)) => {
                        if let Some(nonce) = nonce.filter(|_| outcome != Outcome::Again) {
                            self.replays.remember(nonce, io.clock.now());
                        }
                        // The platform may have closed the connection; then it sends the event again.
                        drop(reply.send(answer_to(&outcome)));
                    }
                    Err(error) => tracing::error!(%error, "event task failed"),
                },
                Some(request) = self.inbox.recv() => {
                    if let Some(task) = self.open(request, intake, io) {
                        taken.spawn(task);
                    }
                }
            }
        }
    }

    /// Verifies a request. Returns the handling task; `None` where the request is answered at once.
    fn open(
        &self,
        waiting: Waiting,
        intake: &Arc<Intake>,
        io: &AdapterIo,
    ) -> Option<impl Future<Output = Done> + Send + use<>> {
        let Waiting { request, reply } = waiting;
        let header = |name: &str| request.headers.get(name).and_then(|value| value.to_str().ok());
        let proof = Signature {
            timestamp: header("x-lark-request-timestamp"),
            nonce: header("x-lark-request-nonce"),
            signature: header("x-lark-signature"),
        };
        let answer = match self.seal.open(proof, &request.body, io.clock.now()) {
            Ok(Opened::Challenge(challenge)) => said(200, &json!({ "challenge": challenge })),
            Ok(Opened::Event { nonce: Some(nonce), .. }) if self.replays.knows(&nonce) => {
                tracing::warn!("webhook request replayed");
                said(200, &json!({}))
            }
            Ok(Opened::Event { event, nonce }) => {
                io.health.alive(io.clock.now());
                let handled = Intake::take_in(intake, event.to_string().as_bytes());
                return Some(async move { (nonce, handled.await, reply) });
            }
            Err(rejected) => {
                tracing::warn!(%rejected, "webhook request refused");
                said(403, &json!({ "msg": "refused" }))
            }
        };
        drop(reply.send(answer));
        None
    }
}

fn answer_to(outcome: &Outcome) -> HookAnswer {
    match outcome {
        Outcome::Taken => said(200, &json!({})),
        Outcome::Answered(data) => said(200, data),
        Outcome::Again => said(500, &json!({})),
    }
}
