//! The port of a chat platform.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{BoxFuture, Clock, OutboxEntry, ThreadsHandle};
use crate::domain::{
    AgentAccount, AgentCard, AuthorId, Capabilities, CorrelationId, MessageId, OutboundIntent, Platform,
    ThreadId, Timestamp,
};

/// Why an adapter ended.
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    /// A restart cannot help: a bad token, a port in use.
    #[error("{0}")]
    Fatal(String),
    /// A restart may help.
    #[error("{0}")]
    Broken(String),
}

/// The proof of a delivery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The platform's id of the delivered message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_message: Option<String>,
}

/// Why a delivery failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    #[error("{reason}")]
    Retry {
        /// The platform's `retry_after`, if it sent one.
        after: Option<Duration>,
        reason: String,
    },
    /// Not before the next inbound message of the thread: the platform only allows replies.
    #[error("{reason}")]
    Hold { reason: String },
    #[error("{reason}")]
    Permanent { reason: String },
}

/// An attempt to deliver an outbox entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Counts from 1 in this process.
    pub number: u32,
    /// The attempt before was cut off, by the end of the process or by the deadline: the entry may have arrived.
    pub may_repeat: bool,
}

impl Attempt {
    /// An attempt after others that were answered.
    pub const fn nth(number: u32) -> Self {
        Self { number, may_repeat: false }
    }
}

/// What a running adapter works with.
#[derive(Clone, Debug)]
pub struct AdapterIo {
    /// The handle for requests to the threads.
    pub threads: ThreadsHandle,
    pub health: HealthReporter,
    pub clock: Arc<dyn Clock>,
}

/// Reports that an adapter is alive. Health is judged by the age of the last report.
#[derive(Clone, Debug)]
pub struct HealthReporter {
    last_sign: Arc<watch::Sender<Option<Timestamp>>>,
}

impl HealthReporter {
    /// A reporter and the receiver of its reports.
    pub fn new() -> (Self, watch::Receiver<Option<Timestamp>>) {
        let (last_sign, signs) = watch::channel(None);
        (Self { last_sign: Arc::new(last_sign) }, signs)
    }

    /// Reports contact with the platform: a poll returned, a frame arrived, the listener is bound. The first report
    /// means that the adapter has finished its first check.
    pub fn alive(&self, now: Timestamp) {
        self.last_sign.send_replace(Some(now));
    }
}

/// A message that the platform remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastWords {
    /// The platform's own id.
    pub platform_message: String,
    /// The platform's id of the author.
    pub author: String,
    /// Whether a program wrote it.
    pub by_program: bool,
    pub at: Timestamp,
    pub text: String,
}

/// What an adapter is told of the other agents.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    pub others: Arc<[AgentCard]>,
    /// Whether messages of other bots are passed on.
    pub hears_bots: bool,
    /// Whether there may be others: the roster cannot be read.
    pub unknown: bool,
    /// The agent's own entry in the roster, which an earlier process may have written.
    pub me: Option<AgentCard>,
}

impl Peers {
    /// Whether this agent is perhaps not the only one.
    pub fn may_be_there(&self) -> bool {
        self.unknown || !self.others.is_empty()
    }
}

/// A message of the platform, for what makes the reports of several accounts the same.
#[derive(Clone, Copy, Debug)]
pub struct MessageFacts<'a> {
    pub platform_message: &'a str,
    pub author: &'a AuthorId,
    pub at: Timestamp,
    pub text: &'a str,
}

/// Why a platform did not tell what was said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// Asking again cannot help before an operator acts.
    #[error("{0}")]
    Refused(String),
    /// It may be asked again later.
    #[error("{0}")]
    Unavailable(String),
}

/// A running adapter: ends when it was told to stop, or with the reason why it cannot continue.
pub type Running = BoxFuture<'static, Result<(), AdapterError>>;

/// A delivery in progress.
pub type Delivering<'a> = BoxFuture<'a, Result<Receipt, DeliveryError>>;

/// One platform. It owns its connections, but no conversation.
pub trait Adapter: Send + Sync + std::fmt::Debug {
    /// The platform part of its thread ids.
    fn platform(&self) -> Platform;

    fn capabilities(&self) -> Capabilities;

    /// After how long without a report it counts as dead; `None` means that the first report is enough.
    fn stale_after(&self) -> Option<Duration> {
        None
    }

    /// Receives events until told to stop. Every event is submitted to the threads, and the platform is told that it
    /// was received only after it was accepted.
    fn run(self: Arc<Self>, io: AdapterIo, stop: CancellationToken) -> Running;

    /// Delivers one outbox entry. Called in order, one at a time per thread. The store knows about the attempt, so an
    /// adapter keeps no record of what it sent; without idempotency keys it counts an attempt that may repeat another.
    fn deliver(&self, entry: OutboxEntry, attempt: Attempt) -> Delivering<'_>;

    /// The id that a message of the platform has in a thread, where it is the same for every account in the chat; `None`
    /// where each account counts for itself.
    fn message_id(&self, _thread: &ThreadId, _platform_message: &str) -> Option<MessageId> {
        None
    }

    /// How every account calls the chat of a thread now, where that has changed since the thread began.
    fn room(&self, _thread: &ThreadId) -> Option<ThreadId> {
        None
    }

    /// Whether the id of a chat tells that people speak with each other there.
    fn is_group(&self, _thread: &ThreadId) -> bool {
        false
    }

    /// What names a message for every account in the chat, also where each counts for itself; `None` where nothing does.
    fn shared_key(&self, thread: &ThreadId, message: MessageFacts<'_>) -> Option<MessageId> {
        self.message_id(thread, message.platform_message)
    }

    /// The newest messages of a chat, oldest first, without the agent's own; `None` where the platform cannot be asked.
    fn history(
        &self,
        _thread: &ThreadId,
        _most: usize,
    ) -> Option<BoxFuture<'_, Result<Vec<PastWords>, HistoryError>>> {
        None
    }

    /// When it last began to listen again after it had not for more than a minute.
    fn back_at(&self) -> Option<Timestamp> {
        None
    }

    /// The agent's own account, once the platform has told it.
    fn account(&self) -> Option<AgentAccount> {
        None
    }

    /// An author of the platform turned out to be this agent of the roster. Must not block.
    fn see_peer(&self, _agent: &str, _author: &AuthorId) {}

    /// Tells who the other agents are; called again when the roster changes. Must not block.
    fn know_peers(&self, _peers: &Peers) {}

    /// Shows something ephemeral: typing, progress, the answer so far. Must not block; may be dropped. Not needed where
    /// clients read the thread themselves.
    fn show(&self, _intent: OutboundIntent) {}

    /// Shows people that a voice message for them is being made, until this is dropped.
    fn show_recording(&self, _thread: &ThreadId) -> BoxFuture<'_, Infallible> {
        Box::pin(std::future::pending())
    }

    /// A run has ended without a delivery: its draft is removed. Must not block.
    fn over(&self, _thread: &ThreadId, _run: &CorrelationId) {}
}
