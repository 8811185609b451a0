//! Threads in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::{DeliveryId, MessageId, ThreadId, ThreadState};
use crate::ports::{
    BoxFuture, Commit, OutboxEntry, OutboxLine, StoreError, ThreadPage, ThreadQuery, ThreadRecord,
    ThreadStore, ThreadSummary, Work,
};
use crate::store::files::title_of;
use crate::uimessage::{Role, UiMessage, behind_checkpoints, fold};

/// The content of one thread.
#[derive(Clone, Debug, Default)]
struct Thread {
    lines: Vec<UiMessage>,
    outbox: Vec<OutboxLine>,
    open: bool,
}

type Threads = Arc<Mutex<BTreeMap<ThreadId, Thread>>>;

/// The threads of one daemon.
#[derive(Debug, Default)]
pub struct InMemoryThreads {
    threads: Threads,
    /// The threads with work left at its start.
    unfinished: Vec<ThreadId>,
    closed: AtomicBool,
}

impl InMemoryThreads {
    /// The same threads for the next daemon.
    #[must_use]
    pub fn reopened(&self) -> Self {
        let open =
            self.threads().iter().filter(|(_, thread)| thread.open).map(|(id, _)| id.clone()).collect();
        Self { threads: self.threads.clone(), unfinished: open, closed: AtomicBool::new(false) }
    }

    /// Adds a message to the thread that its metadata names.
    pub fn put(&self, message: UiMessage) {
        let thread = message.metadata.thread_id.clone();
        self.threads().entry(thread).or_default().lines.push(message);
    }

    fn threads(&self) -> MutexGuard<'_, BTreeMap<ThreadId, Thread>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folded(&self, thread: &ThreadId) -> Vec<UiMessage> {
        self.threads().get(thread).map(|thread| fold(thread.lines.clone())).unwrap_or_default()
    }

    fn write(&self, commit: Commit) -> Result<(), StoreError> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(StoreError::closed());
        }
        let mut threads = self.threads();
        let thread = threads.entry(commit.thread).or_default();
        thread.lines.extend(commit.messages);
        thread.outbox.extend(commit.outbox);
        thread.open = commit.work == Work::Open;
        Ok(())
    }
}

impl Thread {
    /// Deliveries without a receipt that have not failed permanently, in order; those whose last attempt has no result;
    /// and how many failed permanently.
    fn deliveries(&self) -> (Vec<OutboxEntry>, Vec<DeliveryId>, usize) {
        let (mut settled, mut dead, mut cut_off) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for line in &self.outbox {
            match line {
                OutboxLine::Entry(_) => {}
                OutboxLine::Attempted { id, .. } => {
                    cut_off.insert(id.as_str());
                }
                OutboxLine::Failed { id, .. } => {
                    cut_off.remove(id.as_str());
                }
                OutboxLine::Receipt { id, .. } => {
                    settled.insert(id.as_str());
                }
                OutboxLine::Dead { id, .. } => {
                    dead.insert(id.as_str());
                }
            }
        }
        let waits = |line: &OutboxLine| match line {
            OutboxLine::Entry(entry)
                if !settled.contains(entry.id.as_str()) && !dead.contains(entry.id.as_str()) =>
            {
                Some(entry.clone())
            }
            _ => None,
        };
        let undelivered: Vec<OutboxEntry> = self.outbox.iter().filter_map(waits).collect();
        let ids = undelivered.iter().map(|entry| &entry.id);
        let cut_off = ids.filter(|id| cut_off.contains(id.as_str())).cloned().collect();
        (undelivered, cut_off, dead.len())
    }

    fn summary(&self, id: &ThreadId) -> Option<ThreadSummary> {
        let messages = fold(self.lines.clone());
        let updated_at = self.lines.iter().map(|line| line.metadata.timestamp).max()?;
        let said = messages.iter().filter(|message| message.role == Role::User);
        let title = said.map(|message| title_of(&message.text())).find(|title| !title.is_empty());
        Some(ThreadSummary {
            thread_id: id.clone(),
            state: if self.open { ThreadState::Running } else { ThreadState::Idle },
            title: title.unwrap_or_default(),
            updated_at,
            message_count: u64::try_from(messages.len()).unwrap_or(u64::MAX),
            pending_approvals: 0,
        })
    }
}

impl ThreadStore for InMemoryThreads {
    fn delete(&self, thread: &ThreadId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.threads().remove(thread);
        Box::pin(ready(Ok(())))
    }

    fn load(&self, thread: &ThreadId) -> BoxFuture<'_, Result<ThreadRecord, StoreError>> {
        let known = self.threads().get(thread).cloned().unwrap_or_default();
        let (undelivered, cut_off, dead) = known.deliveries();
        let (checkpoints, tail) = behind_checkpoints(fold(known.lines));
        let has_more = !checkpoints.is_empty();
        let record = ThreadRecord { checkpoints, tail, has_more, undelivered, cut_off, dead };
        Box::pin(ready(Ok(record)))
    }

    fn contains(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let found = self.folded(thread).iter().any(|message| message.id == *id);
        Box::pin(ready(Ok(found)))
    }

    fn run_of(&self, thread: &ThreadId, id: &MessageId) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        let mut messages = self.folded(thread);
        let run = messages.iter().find(|message| message.id == *id);
        let run = run.map(|message| message.metadata.correlation_id.clone());
        messages.retain(|message| Some(&message.metadata.correlation_id) == run.as_ref());
        Box::pin(ready(Ok(messages)))
    }

    fn page(
        &self,
        thread: &ThreadId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<UiMessage>, StoreError>> {
        let mut messages = self.folded(thread);
        if let Some(id) = before {
            // The page before an unknown message is empty.
            let end = messages.iter().position(|message| message.id == *id).unwrap_or_default();
            messages.truncate(end);
        }
        let page = messages.split_off(messages.len().saturating_sub(limit));
        Box::pin(ready(Ok(page)))
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.write(commit)))
    }

    fn list(&self, query: ThreadQuery) -> BoxFuture<'_, Result<ThreadPage, StoreError>> {
        let threads = self.threads();
        let list = threads.iter().filter_map(|(id, thread)| thread.summary(id)).collect();
        Box::pin(ready(Ok(query.page_of(list))))
    }

    fn exists(&self, thread: &ThreadId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let exists = self.threads().contains_key(thread);
        Box::pin(ready(Ok(exists)))
    }

    fn unfinished(&self) -> Vec<ThreadId> {
        self.unfinished.clone()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.closed.store(true, Ordering::SeqCst);
        Box::pin(ready(()))
    }
}
