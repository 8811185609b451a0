//! What the threads ask of the disk.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BoxFuture, Receipt, StoreError};
use crate::domain::{DeliveryId, MessageId, OutboundIntent, ThreadId, ThreadState, Timestamp};
use crate::uimessage::UiMessage;

/// How sure a write must be before the caller goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// On the disk: survives a loss of power.
    Synced,
    /// With the system: survives the death of the process.
    Written,
}

/// Whether a thread has something left to do after a commit; decides whether a restart wakes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A turn to run or a delivery to make.
    Open,
    Settled,
}

/// A delivery on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutboxEntry {
    pub id: DeliveryId,
    /// When it was put there.
    pub at: Timestamp,
    /// What is to be delivered.
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
        /// What the platform said.
        receipt: Receipt,
    },
    /// Will never be delivered; kept so that people can see it.
    Dead {
        id: DeliveryId,
        /// When it was given up.
        at: Timestamp,
        reason: String,
    },
}

/// What is written together: after a crash all of it is there, or none.
#[derive(Clone, Debug)]
pub struct Commit {
    pub thread: ThreadId,
    /// Lines for the thread file, in order.
    pub messages: Vec<UiMessage>,
    /// Lines for the outbox, in order.
    pub outbox: Vec<OutboxLine>,
    pub durability: Durability,
    /// What is left to do afterwards.
    pub work: Work,
}

/// What an actor needs to take a thread up.
#[derive(Clone, Debug, Default)]
pub struct ThreadRecord {
    /// The newest messages, folded, oldest first, within a bound of bytes.
    pub tail: Vec<UiMessage>,
    /// Whether there are older ones.
    pub has_more: bool,
    /// Deliveries that have neither a receipt nor been given up, in order.
    pub undelivered: Vec<OutboxEntry>,
    /// Deliveries that were given up.
    pub dead: usize,
}

/// A thread in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSummary {
    pub thread_id: ThreadId,
    /// What it is doing. The store knows only the last word; the live state wins.
    #[serde(default)]
    pub state: ThreadState,
    /// The beginning of the first thing said.
    pub title: String,
    /// When something last happened.
    pub updated_at: Timestamp,
    /// How many messages it has.
    pub message_count: u64,
    /// How many decisions it waits for.
    #[serde(default)]
    pub pending_approvals: u64,
}

/// What a store has written since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreTotals {
    /// Commits that were written.
    pub commits: u64,
    /// Commits that were refused.
    pub failures: u64,
    /// Waits for the disk; commits that come together share one.
    pub syncs: u64,
    /// How long those waits took together.
    pub sync_time: Duration,
}

/// The threads on disk. One writer per thread calls `commit`; anybody may read.
pub trait ThreadStore: Send + Sync + std::fmt::Debug {
    /// Reads what an actor needs to take the thread up; an unknown thread is an empty one.
    fn load(&self, thread: &ThreadId) -> BoxFuture<'_, Result<ThreadRecord, StoreError>>;

    /// Whether the thread has a message of this id, however old.
    fn contains(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// The messages of the run that the message of this id belongs to, folded, that message included; empty
    /// where there is no such message.
    fn run_of(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>>;

    /// A page of folded messages, oldest first, that ends before `before` or at the newest.
    fn page(
        &self,
        thread: &ThreadId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>>;

    /// Writes, all or nothing, in the order of the calls.
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Every thread, newest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<ThreadSummary>, StoreError>>;

    /// Whether there is such a thread.
    fn exists(&self, thread: &ThreadId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Threads that had work left when the last daemon ended.
    fn unfinished(&self) -> Vec<ThreadId>;

    /// Whether what is committed is still written, or refused, by anybody. Waits for as long as the store waits.
    fn answers(&self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(true))
    }

    /// Writes what was committed before, and gives up what it holds. Commits that come later are refused as closed.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// What it has written so far; nothing where it does not count.
    fn totals(&self) -> StoreTotals {
        StoreTotals::default()
    }
}
