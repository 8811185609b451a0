//! The port of the thread store.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BoxFuture, Receipt, StoreError};
use crate::domain::{
    AuthorId, DeliveryId, MessageId, OutboundIntent, Platform, ThreadId, ThreadState, Timestamp,
};
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
    /// What to deliver. An entry for another thread than that of the outbox is handed over to that thread.
    pub intent: OutboundIntent,
    /// For another thread: the person who needs the right to send there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<AuthorId>,
}

/// A line of a thread's outbox.
#[expect(
    clippy::large_enum_variant,
    reason = "most lines are entries, and a line lives only until it is written"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum OutboxLine {
    Entry(OutboxEntry),
    /// An attempt to send it begins. Without a later line about it, the attempt was cut off and may have succeeded.
    Attempted {
        id: DeliveryId,
        at: Timestamp,
    },
    /// The attempt ended with an error of the platform; there will be another one.
    Failed {
        id: DeliveryId,
        at: Timestamp,
    },
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

/// A set of writes that is atomic: after a crash all of it is there, or none. A store may hold its lines in another form.
#[derive(Clone, Debug)]
pub struct Commit<M = UiMessage, L = OutboxLine> {
    pub thread: ThreadId,
    /// Lines for the thread file, in order.
    pub messages: Vec<M>,
    /// Lines for the outbox, in order.
    pub outbox: Vec<L>,
    pub durability: Durability,
    pub work: Work,
}

/// What an actor needs to resume a thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadRecord {
    /// The checkpoints that hold, oldest first.
    pub checkpoints: Vec<UiMessage>,
    /// The newest messages, folded, oldest first, up to a size limit.
    pub tail: Vec<UiMessage>,
    /// Whether there are older messages.
    pub has_more: bool,
    /// Deliveries without a receipt that have not failed permanently, in order.
    pub undelivered: Vec<OutboxEntry>,
    /// Those of `undelivered` whose last attempt was cut off: they may have arrived.
    pub cut_off: Vec<DeliveryId>,
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

/// A part of the list of threads, which is ordered by the time of the last message, newest first.
#[derive(Clone, Debug)]
pub struct ThreadQuery {
    /// Most threads in the page.
    pub limit: usize,
    /// Only threads after this position.
    pub before: Option<ListPosition>,
    pub platform: Option<Platform>,
    /// Only threads whose last message is of this time or later.
    pub since: Option<Timestamp>,
    /// Only threads whose last message is earlier.
    pub until: Option<Timestamp>,
    pub filter: ThreadFilter,
}

impl ThreadQuery {
    /// Whether a thread whose last message is of this time is asked for.
    pub fn is_of_time(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }

    /// The newest threads, of any platform.
    pub const fn newest(limit: usize) -> Self {
        Self { limit, before: None, platform: None, since: None, until: None, filter: ThreadFilter::All }
    }

    /// The page of this query, out of all threads: for stores that have them all in memory.
    pub fn page_of(&self, mut all: Vec<ThreadSummary>) -> ThreadPage {
        let order = |at: Timestamp, thread: &ThreadId| (Reverse(at), thread.clone());
        all.sort_by_cached_key(|summary| order(summary.updated_at, &summary.thread_id));
        let behind = match &self.before {
            None => None,
            Some(ListPosition::Time(at, thread)) => Some((*at, thread.clone())),
            Some(ListPosition::Thread(thread)) => match all.iter().find(|known| known.thread_id == *thread) {
                Some(known) => Some((known.updated_at, Some(thread.clone()))),
                None => return ThreadPage::default(),
            },
        };
        all.retain(|summary| {
            if !self.is_of_time(summary.updated_at) {
                return false;
            }
            let is_behind = match &behind {
                None => true,
                Some((at, None)) => summary.updated_at < *at,
                Some((at, Some(thread))) => {
                    order(summary.updated_at, &summary.thread_id) > order(*at, thread)
                }
            };
            is_behind
                && self.platform.as_ref().is_none_or(|platform| summary.thread_id.platform() == platform)
                && match &self.filter {
                    ThreadFilter::All => true,
                    ThreadFilter::Only(only) => only.contains(&summary.thread_id),
                    ThreadFilter::Except(except) => !except.contains(&summary.thread_id),
                }
        });
        let more = all.len() > self.limit;
        all.truncate(self.limit);
        let next = all.last().filter(|_| more);
        let next = next.map(|last| ListPosition::Time(last.updated_at, Some(last.thread_id.clone())));
        ThreadPage { threads: all, next }
    }
}

/// Which threads a query is about. The store does not know the live states, so a caller that does names the threads.
#[derive(Clone, Debug)]
pub enum ThreadFilter {
    All,
    Only(BTreeSet<ThreadId>),
    Except(BTreeSet<ThreadId>),
}

impl ThreadFilter {
    /// The threads that both name.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, other) | (other, Self::All) => other,
            (Self::Only(one), Self::Only(other)) => Self::Only(one.intersection(&other).cloned().collect()),
            (Self::Only(only), Self::Except(except)) | (Self::Except(except), Self::Only(only)) => {
                Self::Only(only.difference(&except).cloned().collect())
            }
            (Self::Except(mut one), Self::Except(other)) => {
                one.extend(other);
                Self::Except(one)
            }
        }
    }
}

/// A position in the list of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListPosition {
    /// After the threads that are newer than this time, and after the named one of the same time.
    Time(Timestamp, Option<ThreadId>),
    /// After this thread, at its current time.
    Thread(ThreadId),
}

impl std::fmt::Display for ListPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Time(at, None) => f.write_str(&at.rfc3339()),
            Self::Time(at, Some(thread)) => write!(f, "{},{thread}", at.rfc3339()),
            Self::Thread(thread) => thread.fmt(f),
        }
    }
}

impl std::str::FromStr for ListPosition {
    type Err = crate::domain::BadId;

    /// `TIME`, `TIME,THREAD` or `THREAD`.
    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        let (time, thread) = raw.split_once(',').map_or((raw, None), |(time, thread)| (time, Some(thread)));
        match Timestamp::parse_rfc3339(time) {
            Some(at) => Ok(Self::Time(at, thread.map(str::parse).transpose()?)),
            None => raw.parse().map(Self::Thread),
        }
    }
}

/// Some threads of the list, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadPage {
    pub threads: Vec<ThreadSummary>,
    /// The position after this page; `None` at the end of the list.
    pub next: Option<ListPosition>,
}

/// Write statistics since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreTotals {
    pub commits: u64,
    pub failures: u64,
    /// Disk syncs; concurrent commits share one.
    pub syncs: u64,
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

    /// Deletes the thread with its history and its outbox. Nothing may write to it meanwhile. Durable: a crash does not bring
    /// it back. A store that only reads refuses.
    fn delete(&self, thread: &ThreadId) -> BoxFuture<'_, Result<(), StoreError>> {
        let _ = thread;
        Box::pin(std::future::ready(Err(StoreError::closed())))
    }

    /// A page of the list of threads.
    fn list(&self, query: ThreadQuery) -> BoxFuture<'_, Result<ThreadPage, StoreError>>;

    fn exists(&self, thread: &ThreadId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Threads that had work left when the last daemon ended, as far as that is known at the start.
    fn unfinished(&self) -> Vec<ThreadId>;

    /// Further such threads, which a scan in the background finds. Ends with the scan; only the first caller gets them.
    fn found_unfinished(&self) -> BoxFuture<'_, Vec<ThreadId>> {
        Box::pin(std::future::ready(Vec::new()))
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_in_the_list_can_be_written_and_read() {
        let thread: ThreadId = "telegram:chat:-1:topic:7".parse().unwrap();
        let at = Timestamp::from_millis(1_767_225_600_123);
        for position in [
            ListPosition::Time(at, Some(thread.clone())),
            ListPosition::Time(at, None),
            ListPosition::Thread(thread),
        ] {
            assert_eq!(position.to_string().parse::<ListPosition>().unwrap(), position);
        }
        for bad in ["", "yesterday", "2026-01-01T00:00:00Z,", "web"] {
            assert!(bad.parse::<ListPosition>().is_err(), "{bad:?}");
        }
    }
}
