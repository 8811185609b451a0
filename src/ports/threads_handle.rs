//! The handle for requests to the threads.

use std::sync::Arc;

use tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::domain::{
    Approval, AuthorId, CorrelationId, IngressEvent, Intent, MessageId, ThreadId, ThreadState, ToolCallId,
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

/// The live state of a thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadView {
    pub state: ThreadState,
    /// The assistant message of the running turn so far.
    pub live: Option<Arc<UiMessage>>,
    pub queued: usize,
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
pub struct Saying {
    /// The thread of the run.
    pub from: ThreadId,
    pub correlation: CorrelationId,
    pub source: SayingSource,
    /// A text, a file or an error.
    pub intent: Intent,
}

impl Saying {
    /// The call that posts it; `None` for a result.
    pub const fn call(&self) -> Option<&ToolCallId> {
        match &self.source {
            SayingSource::Call(call) => Some(call),
            SayingSource::Result { .. } => None,
        }
    }
}

/// What a message of a run comes from, which is its identity within the run and the right to send it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SayingSource {
    /// A tool call, which the judge or a person has permitted. Model servers may reuse a call id in another run.
    Call(ToolCallId),
    /// The result of the run, for a thread that its message named. The person who wrote that message must have the right
    /// to send there.
    Result { by: Option<AuthorId> },
}

/// A request to the threads.
#[derive(Debug)]
pub enum Request {
    Deliver {
        event: Box<IngressEvent>,
        reply: oneshot::Sender<Acceptance>,
    },
    /// A run has a message for a thread.
    Say {
        thread: ThreadId,
        saying: Box<Saying>,
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
        reply: oneshot::Sender<RunOutcome>,
    },
    /// The views of the threads in memory.
    Views {
        reply: oneshot::Sender<Vec<(ThreadId, ThreadView)>>,
    },
}

/// The handle for requests to the threads. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ThreadsHandle {
    requests: mpsc::Sender<Request>,
}

impl ThreadsHandle {
    /// A handle that sends to `requests`.
    pub const fn new(requests: mpsc::Sender<Request>) -> Self {
        Self { requests }
    }

    /// Submits an event and waits for its acceptance.
    pub async fn deliver(&self, event: IngressEvent) -> Acceptance {
        let ask = |reply| Request::Deliver { event: Box::new(event), reply };
        self.ask(ask).await.unwrap_or(Acceptance::Stopping)
    }

    /// Posts a message to a thread, and waits until its delivery is stored.
    pub async fn say(&self, thread: ThreadId, saying: Saying) -> Acceptance {
        let ask = |reply| Request::Say { thread, saying: Box::new(saying), reply };
        self.ask(ask).await.unwrap_or(Acceptance::Stopping)
    }

    /// A weak handle for the threads themselves, which does not keep the router running.
    pub fn downgrade(&self) -> WeakThreadsHandle {
        WeakThreadsHandle { requests: self.requests.downgrade() }
    }

    /// Subscribes to a thread. `None` means that the daemon is stopping, or that the thread's queue is full: the caller
    /// may retry.
    pub async fn watch(&self, thread: ThreadId) -> Option<Subscription> {
        self.ask(|reply| Request::Watch { thread, reply }).await
    }

    /// Waits for the end of the run that a message belongs to. `None` means the same as for [`Self::watch`].
    pub async fn outcome(&self, thread: ThreadId, message: MessageId) -> Option<RunOutcome> {
        self.ask(|reply| Request::Await { thread, message, reply }).await
    }

    /// The views of the threads in memory.
    pub async fn views(&self) -> Vec<(ThreadId, ThreadView)> {
        self.ask(|reply| Request::Views { reply }).await.unwrap_or_default()
    }

    /// Whether the router answers. Waits for as long as its queue is full.
    pub async fn answers(&self) -> bool {
        self.ask(|reply| Request::Views { reply }).await.is_some()
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.ok()?;
        answer.await.ok()
    }
}

/// A handle that does not keep the router running.
#[derive(Clone, Debug)]
pub struct WeakThreadsHandle {
    requests: mpsc::WeakSender<Request>,
}

impl WeakThreadsHandle {
    /// The handle; one without a receiver once all strong handles are gone.
    pub fn open(&self) -> ThreadsHandle {
        ThreadsHandle { requests: self.requests.upgrade().unwrap_or_else(|| mpsc::channel(1).0) }
    }
}
