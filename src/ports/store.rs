//! What the threads ask of the disk.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BoxFuture, Receipt, StoreError};
use crate::domain::{DeliveryId, MessageId, OutboundIntent, Platform, ThreadId, ThreadState, Timestamp};
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

/// A part of the list of threads, which is ordered by the time of the last message, newest first.
#[derive(Clone, Debug)]
pub struct ThreadQuery {
    /// The most threads to give.
    pub limit: usize,
    /// Only threads behind this position.
    pub before: Option<ListPosition>,
    pub platform: Option<Platform>,
    pub among: Among,
}

impl ThreadQuery {
    /// The newest threads, of any platform.
    pub const fn newest(limit: usize) -> Self {
        Self { limit, before: None, platform: None, among: Among::All }
    }

    /// The page that this query asks for, out of all threads: for stores that have them all in memory.
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
            let is_behind = match &behind {
                None => true,
                Some((at, None)) => summary.updated_at < *at,
                Some((at, Some(thread))) => {
                    order(summary.updated_at, &summary.thread_id) > order(*at, thread)
                }
            };
            is_behind
                && self.platform.as_ref().is_none_or(|platform| summary.thread_id.platform() == platform)
                && match &self.among {
                    Among::All => true,
                    Among::Only(only) => only.contains(&summary.thread_id),
                    Among::Except(except) => !except.contains(&summary.thread_id),
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
pub enum Among {
    All,
    Only(BTreeSet<ThreadId>),
    Except(BTreeSet<ThreadId>),
}

/// A position in the list of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListPosition {
    /// Behind the threads that are newer than this time, and behind the named one of the same time.
    Time(Timestamp, Option<ThreadId>),
    /// Behind this thread, at the time it has now.
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
    /// Where the list goes on; nothing at its end.
    pub next: Option<ListPosition>,
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

    /// A page of the list of threads.
    fn list(&self, query: ThreadQuery) -> BoxFuture<'_, Result<ThreadPage, StoreError>>;

    /// Whether there is such a thread.
    fn exists(&self, thread: &ThreadId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Threads that had work left when the last daemon ended, as far as that is known at the start.
    fn unfinished(&self) -> Vec<ThreadId>;

    /// Further such threads, which a scan in the background finds. Ends with the scan; only the first caller gets them.
    fn found_unfinished(&self) -> BoxFuture<'_, Vec<ThreadId>> {
        Box::pin(std::future::ready(Vec::new()))
    }

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
