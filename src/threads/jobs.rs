//! Slow work in tasks beside the actor, so that the actor can process a stop while a model call or a tool runs.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{AbortHandle, JoinSet};
use tracing::Instrument;

use super::lapsed_claims::Looked;
use super::learning::Distilled;
use crate::domain::{Approval, ErrorKind, MessageId, Risk, Timestamp, ToolCallId};
use crate::policy::reply::ModelHint;
use crate::ports::{
    BoxFuture, Completion, DeliveryError, Judgement, ModelError, PastWords, Receipt, Ruling, ToolFailure,
    ToolOutcome,
};
use crate::turn::{Compacted, GateDecision};
use crate::uimessage::RecalledText;

/// The result of a job.
#[derive(Debug)]
pub(super) enum Done {
    /// The run got its permit to begin.
    Entry(Option<OwnedSemaphorePermit>),
    /// The model call has ended.
    Model(Result<Completion, ModelError>),
    Judged(ToolCallId, Box<Judgement>),
    /// A model has classified a reply.
    ReplyRead {
        message: MessageId,
        words: String,
        /// The model's classification; `None` where the call failed.
        hint: Option<ModelHint>,
    },
    /// A tool call has ended.
    Tool(ToolCallId, ToolOutcome),
    /// A delivery was attempted, with the time of the answer; `None` where it reached its deadline.
    Delivery(Option<Result<Receipt, DeliveryError>>, Timestamp),
    /// An attempt to compact the conversation is at its end.
    Compacted(u64, Box<Compacted>),
    /// What was found for a message before the model is asked.
    Recalled(MessageId, Vec<RecalledText>),
    /// An attempt to distil the conversation is at its end.
    Distilled(u64, Box<Distilled>),
    /// An attempt to name the thread is at its end: whether it has a new title.
    Titled(bool),
    /// The relevance gate decided about messages without a mention.
    Decided(Vec<GateDecision>),
    /// The claims that others have won were looked at.
    Lapsed(Looked),
    /// Owners were told something.
    OwnersTold,
    /// The platform has told what was said in the room.
    History(Vec<PastWords>),
    /// The question of another thread about a spend cap was settled, or it is time to look again: its record.
    CapAnswered(Option<Box<Approval>>),
    /// The retry delay of a delivery is over.
    DeliveryDue,
    /// The delay before the store is tried again is over.
    StorageDue,
}

/// The jobs of one actor. Dropping them aborts them.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    set: JoinSet<(u64, Done)>,
    /// Incremented whenever the work of a run is cancelled; results of an earlier epoch are discarded.
    epoch: u64,
    work: Vec<AbortHandle>,
}

impl Jobs {
    /// Starts a job that belongs to the run: it is aborted when the run's work is cancelled.
    pub(super) fn start_work(
        &mut self,
        span: &tracing::Span,
        job: impl Future<Output = Done> + Send + 'static,
        on_panic: Done,
    ) {
        let job = guarded(self.epoch, Box::pin(job), on_panic);
        self.work.retain(|handle| !handle.is_finished());
        self.work.push(self.set.spawn(job.instrument(span.clone())));
    }

    /// Starts a job that outlives the run.
    pub(super) fn start(&mut self, job: impl Future<Output = Done> + Send + 'static, on_panic: Done) {
        self.set.spawn(guarded(u64::MAX, Box::pin(job), on_panic));
    }

    /// Starts a job that belongs to no run; the handle ends it.
    pub(super) fn start_apart(
        &mut self,
        job: impl Future<Output = Done> + Send + 'static,
        on_panic: Done,
    ) -> AbortHandle {
        self.set.spawn(guarded(u64::MAX, Box::pin(job), on_panic))
    }

    /// Aborts the run's work.
    pub(super) fn cancel_work(&mut self) {
        self.epoch += 1;
        for handle in self.work.drain(..) {
            handle.abort();
        }
    }

    /// The next job that ends. Pending for ever when there is none. Cancel-safe.
    pub(super) async fn next(&mut self) -> Done {
        loop {
            match self.set.join_next().await {
                Some(Ok((epoch, done))) if epoch == u64::MAX || epoch == self.epoch => return done,
                // Stale, or aborted.
                Some(_) => {}
                None => std::future::pending::<()>().await,
            }
        }
    }
}

/// The attempt to deliver that is in flight, apart from other jobs: its result is processed first, because a send that the
/// platform has answered is repeated after a crash until its receipt is written. Dropping it aborts the attempt.
#[derive(Debug, Default)]
pub(super) struct DeliveryJob {
    set: JoinSet<(u64, Done)>,
}

impl DeliveryJob {
    pub(super) fn start(&mut self, job: impl Future<Output = Done> + Send + 'static, on_panic: Done) {
        self.set.spawn(guarded(u64::MAX, Box::pin(job), on_panic));
    }

    /// The result. Pending for ever when no attempt is in flight. Cancel-safe.
    pub(super) async fn next(&mut self) -> Done {
        loop {
            match self.set.join_next().await {
                Some(Ok((_, done))) => return done,
                // Aborted.
                Some(Err(_)) => {}
                None => std::future::pending::<()>().await,
            }
        }
    }
}

/// The job with `on_panic` as its result if it panics. Takes a box, so that the code of the task exists once, not once for
/// each kind of job.
fn guarded(epoch: u64, job: BoxFuture<'static, Done>, on_panic: Done) -> impl Future<Output = (u64, Done)> {
    AssertUnwindSafe(job).catch_unwind().map(move |ended| match ended {
        Ok(done) => (epoch, done),
        Err(_) => {
            tracing::error!("job panicked");
            (epoch, on_panic)
        }
    })
}

/// The result of a model call that panicked.
pub(super) fn model_panicked() -> Done {
    let detail = "the model client failed unexpectedly".to_owned();
    Done::Model(Err(ModelError { kind: ErrorKind::Internal, detail, retry_after: None, shortage: None }))
}

/// The result of a tool call that panicked.
pub(super) fn tool_panicked(call: ToolCallId) -> Done {
    Done::Tool(call, Err(ToolFailure::Failed("the tool failed unexpectedly".to_owned())))
}

/// The result of a judgement that panicked: the call does not run.
pub(super) fn judge_panicked(call: ToolCallId) -> Done {
    let judgement = Judgement {
        ruling: Ruling::Deny("the call could not be judged".to_owned()),
        fingerprint: String::new(),
        summary: String::new(),
        details: None,
        whole: None,
        risk: Risk::High,
        scopes: Vec::new(),
        grants: Vec::new(),
    };
    Done::Judged(call, Box::new(judgement))
}
