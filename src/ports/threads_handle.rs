//! The handle for requests to the threads.

use std::sync::Arc;

use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::BoxFuture;
use crate::domain::{
    Approval, ApprovalId, AuthorId, CorrelationId, IngressEvent, Intent, MessageId, ThreadId, ThreadState,
    ToolCallId,
};
use crate::uimessage::{ErrorRecord, RunStatus, UiMessage};

/// The result of submitting an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// It is on the disk; the platform may be told so.
    Accepted {
        /// The id it is stored under.
        message: MessageId,
        correlation: CorrelationId,
    },
    /// The thread has it already; nothing was done.
    Duplicate { message: MessageId },
    /// The thread's mailbox is full. Nothing was stored.
    Busy,
    /// It cannot be done, for this reason. Nothing was stored.
    Refused(String),
    /// It could not be written. Nothing was stored.
    StorageFailed(String),
    /// The daemon is stopping. Nothing was stored.
    Stopping,
}

impl Acceptance {
    /// The event as it is stored.
    ///
    /// # Errors
    /// When nothing was stored.
    pub fn into_result(self) -> Result<StoredEvent, Rejection> {
        let rejected = |reason, detail: &str| Err(Rejection { reason, detail: detail.to_owned() });
        match self {
            Self::Accepted { message, correlation } => {
                Ok(StoredEvent { message, correlation: Some(correlation), duplicate: false })
            }
            Self::Duplicate { message } => Ok(StoredEvent { message, correlation: None, duplicate: true }),
            Self::Busy => rejected(RejectReason::Busy, "too many messages wait in the conversation"),
            Self::Refused(detail) => Err(Rejection { reason: RejectReason::Refused, detail }),
            Self::StorageFailed(detail) => Err(Rejection { reason: RejectReason::StorageFailed, detail }),
            Self::Stopping => rejected(RejectReason::Stopping, "the daemon is stopping"),
        }
    }
}

/// An event that is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    pub message: MessageId,
    /// Its run; unknown for a duplicate.
    pub correlation: Option<CorrelationId>,
    /// Whether it was stored before.
    pub duplicate: bool,
}

/// Why an event was not stored, with a detail for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    pub reason: RejectReason,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectReason {
    /// The thread's queue is full.
    Busy,
    /// The event is not valid in the state of the thread.
    Refused,
    StorageFailed,
    Stopping,
    /// No acceptance within the deadline; the event may be stored all the same.
    TimedOut,
}

/// The live state of a thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadView {
    pub state: ThreadState,
    /// The assistant message of the running turn so far.
    pub live: Option<Arc<UiMessage>>,
    pub queued: usize,
    /// The messages that wait for a run of their own, oldest first.
    pub waiting: Vec<MessageId>,
    pub pending_approvals: usize,
}

/// A subscription to one thread.
#[derive(Debug)]
pub struct Subscription {
    /// The current view; a slow reader skips versions.
    pub view: watch::Receiver<ThreadView>,
    /// Messages as they are stored.
    pub messages: broadcast::Receiver<Arc<UiMessage>>,
    /// Ephemeral notices, such as progress.
    pub notices: broadcast::Receiver<Intent>,
}

/// The outcome or current state of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOutcome {
    /// `None` means that there is no such run.
    pub status: Option<RunStatus>,
    /// Its assistant messages, complete.
    pub messages: Vec<Arc<UiMessage>>,
    /// The error of a failed run.
    pub error: Option<ErrorRecord>,
    pub correlation: Option<CorrelationId>,
    /// The approvals it waits for; such a run has not ended.
    pub approvals: Vec<Approval>,
}

/// A message of a run for a thread: beside its own answer, or in another thread. The thread stores it in its history
/// together with its delivery, once for each source, also after a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunMessage {
    /// The thread of the run.
    pub from: ThreadId,
    pub correlation: CorrelationId,
    pub source: RunMessageSource,
    /// A text, a file or an error.
    pub intent: Intent,
}

impl RunMessage {
    /// The call that posts it; `None` for a result.
    pub const fn call(&self) -> Option<&ToolCallId> {
        match &self.source {
            RunMessageSource::Call(call) => Some(call),
            RunMessageSource::Result { .. } | RunMessageSource::Question { .. } => None,
        }
    }
}

/// What a message of a run comes from, which is its identity within the run and the right to send it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunMessageSource {
    /// A tool call, which the judge or a person has permitted. Model servers may reuse a call id in another run.
    Call(ToolCallId),
    /// The result of the run, for a thread that its message named. The person who wrote that message must have the right
    /// to send there.
    Result { by: Option<AuthorId> },
    /// A question of the run, or its outcome, for a thread that the message of the run named.
    Question { approval: ApprovalId, settled: bool },
}

/// Work on a thread that no actor has meanwhile.
pub struct ThreadWork(pub BoxFuture<'static, ()>);

impl std::fmt::Debug for ThreadWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ThreadWork")
    }
}

/// How long a caller waits for the run of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitUntil {
    /// Until the run begins.
    Begun,
    /// Until the run ends, or asks a question of its own.
    Answered,
    /// Also until an approval of another run holds the message back.
    AnsweredOrHeldBack,
}

#[derive(Debug)]
pub enum ThreadRequest {
    Deliver {
        event: Box<IngressEvent>,
        reply: oneshot::Sender<Acceptance>,
    },
    /// A run has a message for a thread.
    Say {
        thread: ThreadId,
        run_message: Box<RunMessage>,
        reply: oneshot::Sender<Acceptance>,
    },
    /// Subscribes to a thread.
    Watch {
        thread: ThreadId,
        reply: oneshot::Sender<Subscription>,
    },
    /// Registers a waiter for the end of the run that a message belongs to.
    Await {
        thread: ThreadId,
        message: MessageId,
        until: WaitUntil,
        reply: oneshot::Sender<RunOutcome>,
    },
    /// Does something with a thread that is at rest. It is dropped undone where the thread is at work.
    Alone {
        thread: ThreadId,
        work: ThreadWork,
    },
    /// The views of the threads in memory.
    Views {
        reply: oneshot::Sender<Vec<(ThreadId, ThreadView)>>,
    },
}

impl ThreadRequest {
    /// The thread that it is for; `None` where it concerns all of them.
    pub fn thread(&self) -> Option<&ThreadId> {
        match self {
            Self::Deliver { event, .. } => Some(&event.thread),
            Self::Say { thread, .. }
            | Self::Watch { thread, .. }
            | Self::Await { thread, .. }
            | Self::Alone { thread, .. } => Some(thread),
            Self::Views { .. } => None,
        }
    }

    /// Whether it holds capacity of a mailbox until it is read. Queries need none.
    pub const fn is_event(&self) -> bool {
        matches!(self, Self::Deliver { .. } | Self::Say { .. })
    }
}

/// The handle for requests to the threads. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ThreadsHandle {
    requests: mpsc::Sender<ThreadRequest>,
}

impl ThreadsHandle {
    /// A handle that sends to `requests`.
    pub const fn new(requests: mpsc::Sender<ThreadRequest>) -> Self {
        Self { requests }
    }

    /// Submits an event and waits for its acceptance.
    pub async fn deliver(&self, event: IngressEvent) -> Acceptance {
        let ask = |reply| ThreadRequest::Deliver { event: Box::new(event), reply };
        self.ask(ask).await.unwrap_or(Acceptance::Stopping)
    }

    /// Posts a message to a thread, and waits until its delivery is stored.
    pub async fn say(&self, thread: ThreadId, run_message: RunMessage) -> Acceptance {
        let ask = |reply| ThreadRequest::Say { thread, run_message: Box::new(run_message), reply };
        self.ask(ask).await.unwrap_or(Acceptance::Stopping)
    }

    /// A weak handle for the threads themselves, which does not keep the router running.
    pub fn downgrade(&self) -> WeakThreadsHandle {
        WeakThreadsHandle { requests: self.requests.downgrade() }
    }

    /// Subscribes to a thread. `None` means that the daemon is stopping, or that the thread's queue is full: the caller
    /// may retry.
    pub async fn watch(&self, thread: ThreadId) -> Option<Subscription> {
        self.ask(|reply| ThreadRequest::Watch { thread, reply }).await
    }

    /// Waits until the run that answers a message has begun, or has ended already. `None` means the same as for
    /// [`Self::watch`].
    pub async fn begun(&self, thread: ThreadId, message: MessageId) -> Option<()> {
        self.wait(thread, message, WaitUntil::Begun).await.map(drop)
    }

    /// Waits for the end of the run that a message belongs to. `None` means the same as for [`Self::watch`].
    pub async fn outcome(&self, thread: ThreadId, message: MessageId) -> Option<RunOutcome> {
        self.wait(thread, message, WaitUntil::Answered).await
    }

    /// The same, but a message that waits behind an approval of another run does not keep the caller waiting: the outcome
    /// has no messages, and the approvals.
    pub async fn outcome_or_held_back(&self, thread: ThreadId, message: MessageId) -> Option<RunOutcome> {
        self.wait(thread, message, WaitUntil::AnsweredOrHeldBack).await
    }

    async fn wait(&self, thread: ThreadId, message: MessageId, until: WaitUntil) -> Option<RunOutcome> {
        self.ask(|reply| ThreadRequest::Await { thread, message, until, reply }).await
    }

    /// Does something with a thread while no actor has it; messages for it wait meanwhile. `None` means that the thread is
    /// at work, or that the daemon is stopping: nothing was done.
    pub async fn alone<T: Send + 'static>(
        &self,
        thread: ThreadId,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (answer, done) = oneshot::channel();
        let work = ThreadWork(Box::pin(async move { drop(answer.send(work.await)) }));
        self.requests.send(ThreadRequest::Alone { thread, work }).await.ok()?;
        done.await.ok()
    }

    /// The views of the threads in memory.
    pub async fn views(&self) -> Vec<(ThreadId, ThreadView)> {
        self.ask(|reply| ThreadRequest::Views { reply }).await.unwrap_or_default()
    }

    /// Whether the router answers. Waits for as long as its queue is full.
    pub async fn answers(&self) -> bool {
        self.ask(|reply| ThreadRequest::Views { reply }).await.is_some()
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> ThreadRequest) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.ok()?;
        answer.await.ok()
    }
}

/// A handle that does not keep the router running.
#[derive(Clone, Debug)]
pub struct WeakThreadsHandle {
    requests: mpsc::WeakSender<ThreadRequest>,
}

impl WeakThreadsHandle {
    /// The handle; one without a receiver once all strong handles are gone.
    pub fn open(&self) -> ThreadsHandle {
        ThreadsHandle { requests: self.requests.upgrade().unwrap_or_else(|| mpsc::channel(1).0) }
    }
}

/// Most changes that a subscriber may lag behind before it has to read everything again.
const BACKLOG: usize = 1024;

/// A change that is visible in a list of threads or beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A message was written in a thread, or its state changed.
    Thread {
        thread: ThreadId,
        state: ThreadState,
        pending_approvals: usize,
    },
    ThreadDeleted(ThreadId),
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
