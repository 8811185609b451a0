//! What the daemon asks of a platform.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{BoxFuture, Clock, OutboxEntry, ThreadsHandle};
use crate::domain::{Capabilities, CorrelationId, OutboundIntent, Platform, ThreadId, Timestamp};

/// Why an adapter ended.
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    /// Starting it again cannot help: a bad token, a port in use.
    #[error("{0}")]
    Fatal(String),
    /// It may work when started again.
    #[error("{0}")]
    Broken(String),
}

/// Proof of a delivery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The platform's id of what it now shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_message: Option<String>,
}

/// Why a delivery did not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// Not now. `after` is the platform's own word on when.
    #[error("{reason}")]
    Retry {
        /// How long to wait at least.
        after: Option<Duration>,
        reason: String,
    },
    /// Not before something new comes in from the thread: the platform only lets us answer.
    #[error("{reason}")]
    Hold { reason: String },
    #[error("{reason}")]
    Permanent { reason: String },
}

/// What an adapter is given to work with.
#[derive(Clone, Debug)]
pub struct AdapterIo {
    /// The way to the threads.
    pub door: ThreadsHandle,
    /// Where it tells that it lives.
    pub health: HealthReporter,
    pub clock: Arc<dyn Clock>,
}

/// Where an adapter tells that it lives. Health is judged by evidence: the age of the last sign.
#[derive(Clone, Debug)]
pub struct HealthReporter {
    last_sign: Arc<watch::Sender<Option<Timestamp>>>,
}

impl HealthReporter {
    /// A reporter and the place where its signs can be read.
    pub fn new() -> (Self, watch::Receiver<Option<Timestamp>>) {
        let (last_sign, signs) = watch::channel(None);
        (Self { last_sign: Arc::new(last_sign) }, signs)
    }

    /// The platform was heard from: a poll came back, a frame arrived, the listener stands. The first sign
    /// means that the adapter is past its first check.
    pub fn alive(&self, now: Timestamp) {
        self.last_sign.send_replace(Some(now));
    }
}

/// An adapter at work: ends when it was told to stop, or with why it cannot go on.
pub type Running = BoxFuture<'static, Result<(), AdapterError>>;

/// A delivery on its way.
pub type Delivering<'a> = BoxFuture<'a, Result<Receipt, DeliveryError>>;

/// One platform. It owns its sockets; it owns no conversation.
pub trait Adapter: Send + Sync + std::fmt::Debug {
    /// The name its threads begin with.
    fn platform(&self) -> Platform;

    /// What the platform can do.
    fn capabilities(&self) -> Capabilities;

    /// After how long without a sign it counts as dead; nothing means that the first sign is enough.
    fn stale_after(&self) -> Option<Duration> {
        None
    }

    /// Receives until told to stop. Every event goes through the door, and the platform is told that it was
    /// received only after the door has accepted it.
    fn run(self: Arc<Self>, io: AdapterIo, stop: CancellationToken) -> Running;

    /// Delivers one chunk. `attempt` counts from 1. Called in order, one at a time per thread.
    fn deliver(&self, entry: OutboxEntry, attempt: u32) -> Delivering<'_>;

    /// Shows something fleeting: typing, progress, the answer so far. Must not block; may be dropped. Where clients
    /// read the thread themselves, there is nothing to do.
    fn show(&self, _intent: OutboundIntent) {}

    /// A run has ended and leaves nothing to deliver: what is fleeting of it goes away. Must not block.
    fn over(&self, _thread: &ThreadId, _run: &CorrelationId) {}
}
