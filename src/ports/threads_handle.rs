//! The one way from the outside to the threads.

use std::sync::Arc;

use tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::domain::{
    Approval, CorrelationId, IngressEvent, Intent, MessageId, ThreadId, ThreadState, ToolCallId,
};
use crate::uimessage::{ErrorRecord, RunStatus, UiMessage};

/// What became of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// It is on the disk; the platform may be told so.
    Accepted {
        /// The id it is stored under.
        message: MessageId,
        /// The run it belongs to.
        correlation: CorrelationId,
    },
    /// It was there already; nothing was done.
    Duplicate {
        /// The id it is stored under.
        message: MessageId,
    },
    /// The thread has too much waiting. Nothing was kept.
    Busy,
    /// It cannot be done, and here is why. Nothing was kept.
    Refused(String),
    /// It could not be written. Nothing was kept.
    StorageFailed(String),
    /// The daemon is stopping. Nothing was kept.
    Stopping,
}

/// What a thread is doing, live.
#[derive(Clone, Debug, Default)]
pub struct ThreadView {
    /// What it is doing.
    pub state: ThreadState,
    /// The assistant message of the running turn, as far as it has come.
    pub live: Option<Arc<UiMessage>>,
    /// How many messages wait for the next turn.
    pub queued: usize,
    /// How many decisions it waits for.
    pub pending_approvals: usize,
}

/// A place in the front row of one thread.
#[derive(Debug)]
pub struct Subscription {
    /// What it is doing; skips what a slow reader missed.
    pub view: watch::Receiver<ThreadView>,
    /// Messages as they are written.
    pub messages: broadcast::Receiver<Arc<UiMessage>>,
    /// Fleeting words: progress, notices.
    pub notices: broadcast::Receiver<Intent>,
}

/// How a run ended, or where it stands.
#[derive(Clone, Debug, Default)]
pub struct RunOutcome {
    /// How it ended; `None` means that there is no such run.
    pub status: Option<RunStatus>,
    /// Its assistant messages, whole.
    pub messages: Vec<Arc<UiMessage>>,
    /// What went wrong, where it failed.
    pub error: Option<ErrorRecord>,
    pub correlation: Option<CorrelationId>,
    /// The questions it waits for; a run that waits has not ended.
    pub approvals: Vec<Approval>,
}

/// Something the agent says by a tool, beside its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saying {
    /// Where the tool was called.
    pub from: ThreadId,
    pub correlation: CorrelationId,
    /// By which call: it says the same thing only once, also after a restart. Servers may use a call's name again in
    /// another run.
    pub call: ToolCallId,
    /// Words or a file.
    pub intent: Intent,
}

/// What can be asked of the threads.
#[derive(Debug)]
pub enum Request {
    Deliver {
        event: Box<IngressEvent>,
        /// What became of it.
        reply: oneshot::Sender<Acceptance>,
    },
    /// The agent says something in a thread.
    Say {
        thread: ThreadId,
        saying: Box<Saying>,
        /// What became of it.
        reply: oneshot::Sender<Acceptance>,
    },
    /// Somebody wants to watch a thread.
    Watch { thread: ThreadId, reply: oneshot::Sender<Subscription> },
    /// Registers a waiter for the end of the run that a message belongs to.
    Await { thread: ThreadId, message: MessageId, reply: oneshot::Sender<RunOutcome> },
    /// Somebody wants to know what the threads in memory are doing.
    Views {
        /// Each with what it is doing.
        reply: oneshot::Sender<Vec<(ThreadId, ThreadView)>>,
    },
}

/// The way to the threads. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ThreadsHandle {
    requests: mpsc::Sender<Request>,
}

impl ThreadsHandle {
    /// A door that leads to whoever reads `requests`.
    pub const fn new(requests: mpsc::Sender<Request>) -> Self {
        Self { requests }
    }

    /// Hands an event in and waits until it is accepted or not.
    pub async fn deliver(&self, event: IngressEvent) -> Acceptance {
        let ask = |reply| Request::Deliver { event: Box::new(event), reply };
        self.ask(ask).await.unwrap_or(Acceptance::Stopping)
    }

    /// Says something in a thread, and waits until it is sure to be delivered or not.
    pub async fn say(&self, thread: ThreadId, saying: Saying) -> Acceptance {
        let ask = |reply| Request::Say { thread, saying: Box::new(saying), reply };
        self.ask(ask).await.unwrap_or(Acceptance::Stopping)
    }

    /// The same door, for those behind it: it does not keep them at work.
    pub fn downgrade(&self) -> WeakThreadsHandle {
        WeakThreadsHandle { requests: self.requests.downgrade() }
    }

    /// Watches a thread. Nothing means that the daemon is stopping, or that the thread has too many questions to answer: it
    /// may be asked again.
    pub async fn watch(&self, thread: ThreadId) -> Option<Subscription> {
        self.ask(|reply| Request::Watch { thread, reply }).await
    }

    /// Waits for the end of the run a message belongs to. Nothing means the same as for [`Self::watch`].
    pub async fn outcome(&self, thread: ThreadId, message: MessageId) -> Option<RunOutcome> {
        self.ask(|reply| Request::Await { thread, message, reply }).await
    }

    /// What the threads in memory are doing.
    pub async fn views(&self) -> Vec<(ThreadId, ThreadView)> {
        self.ask(|reply| Request::Views { reply }).await.unwrap_or_default()
    }

    /// Whether there is somebody behind the door. Waits for as long as they have too much to do to say so.
    pub async fn answers(&self) -> bool {
        self.ask(|reply| Request::Views { reply }).await.is_some()
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.ok()?;
        answer.await.ok()
    }
}

/// The door as the threads themselves have it.
#[derive(Clone, Debug)]
pub struct WeakThreadsHandle {
    requests: mpsc::WeakSender<Request>,
}

impl WeakThreadsHandle {
    /// The door; one that leads nowhere once nobody is outside any more.
    pub fn open(&self) -> ThreadsHandle {
        ThreadsHandle { requests: self.requests.upgrade().unwrap_or_else(|| mpsc::channel(1).0) }
    }
}
