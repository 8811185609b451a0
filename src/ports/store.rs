//! The port of the thread store.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BoxFuture, Receipt, StoreError};
use crate::domain::{DeliveryId, MessageId, OutboundIntent, ThreadId, ThreadState, Timestamp};
use crate::uimessage::UiMessage;

/// The durability of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// On the disk: survives a power loss.
    Synced,
    /// Given to the operating system: survives the end of the process.
    Written,
}

/// Whether a thread has work left after a commit; decides whether a restart starts its actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A turn or a delivery is unfinished.
    Open,
    Settled,
}

/// A delivery in the outbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutboxEntry {
    pub id: DeliveryId,
    /// When it was added.
    pub at: Timestamp,
    pub intent: OutboundIntent,
}

/// A line of a thread's outbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum OutboxLine {
    Entry(OutboxEntry),
    Receipt {
        id: DeliveryId,
        at: Timestamp,
        receipt: Receipt,
    },
    /// Failed permanently; kept so that people can see it.
    Dead {
        id: DeliveryId,
        at: Timestamp,
        reason: String,
    },
}

/// A set of writes that is atomic: after a crash all of it is there, or none.
#[derive(Clone, Debug)]
pub struct Commit {
    pub thread: ThreadId,
    /// Lines for the thread file, in order.
    pub messages: Vec<UiMessage>,
    /// Lines for the outbox, in order.
    pub outbox: Vec<OutboxLine>,
    pub durability: Durability,
    pub work: Work,
}

/// What an actor needs to resume a thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadRecord {
    /// The newest messages, folded, oldest first, up to a size limit.
    pub tail: Vec<UiMessage>,
    /// Whether there are older messages.
    pub has_more: bool,
    /// Deliveries without a receipt that have not failed permanently, in order.
    pub undelivered: Vec<OutboxEntry>,
    /// Deliveries that failed permanently.
    pub dead: usize,
}

/// A thread in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSummary {
    pub thread_id: ThreadId,
    /// The last stored state; the live state takes precedence.
    #[serde(default)]
    pub state: ThreadState,
    /// The beginning of its first message.
    pub title: String,
    /// When it last changed.
    pub updated_at: Timestamp,
    pub message_count: u64,
    #[serde(default)]
    pub pending_approvals: u64,
}

/// Write statistics since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreTotals {
    pub commits: u64,
    pub failures: u64,
    /// Disk syncs; concurrent commits share one.
    pub syncs: u64,
    /// Total time of the syncs.
    pub sync_time: Duration,
}

/// The thread store. One writer per thread calls `commit`; any task may read.
pub trait ThreadStore: Send + Sync + std::fmt::Debug {
    /// Loads what an actor needs to resume the thread; an unknown thread is empty.
    fn load(&self, thread: &ThreadId) -> BoxFuture<'_, Result<ThreadRecord, StoreError>>;

    /// Whether the thread has a message of this id, of any age.
    fn contains(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// The messages of the run that this message belongs to, folded, including the message itself; empty where there is
    /// no such message.
    fn run_of(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>>;

    /// A page of folded messages, oldest first, that ends before `before` or at the newest.
    fn page(
        &self,
        thread: &ThreadId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>>;

    /// Writes atomically, in the order of the calls.
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Every thread, newest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<ThreadSummary>, StoreError>>;

    fn exists(&self, thread: &ThreadId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Threads that had work left when the last daemon ended.
    fn unfinished(&self) -> Vec<ThreadId>;

    /// Whether the writer still processes commits. Waits for as long as the store waits.
    fn answers(&self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(true))
    }

    /// Writes pending commits and releases the store's resources. Later commits are refused as closed.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Its write statistics; zero where it does not count.
    fn totals(&self) -> StoreTotals {
        StoreTotals::default()
    }
}
