//! Approvals in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::{Approval, ApprovalId, ApprovalNumber, ThreadId};
use crate::ports::{ApprovalStore, BoxFuture, StoreError};

#[derive(Debug, Default)]
struct ApprovalBook {
    last: u32,
    approvals: BTreeMap<ApprovalId, Approval>,
}

/// The approvals of one daemon.
#[derive(Debug, Default)]
pub struct InMemoryApprovals {
    book: Arc<Mutex<ApprovalBook>>,
    /// The approvals that were pending at its start.
    left: Vec<(ThreadId, ApprovalId)>,
}

impl InMemoryApprovals {
    /// The same approvals for the next daemon.
    #[must_use]
    pub fn reopened(&self) -> Self {
        let left = self.found(Approval::is_pending).into_iter().map(|one| (one.thread, one.id)).collect();
        Self { book: self.book.clone(), left }
    }

    fn book(&self) -> MutexGuard<'_, ApprovalBook> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The approvals that match, newest first.
    fn found(&self, wanted: impl Fn(&Approval) -> bool) -> Vec<Approval> {
        let mut found: Vec<Approval> =
            self.book().approvals.values().filter(|one| wanted(one)).cloned().collect();
        found.sort_by(|a, b| b.created_at.cmp(&a.created_at).then(b.number.cmp(&a.number)));
        found
    }
}

impl ApprovalStore for InMemoryApprovals {
    fn next_number(&self) -> BoxFuture<'_, Result<ApprovalNumber, StoreError>> {
        let mut book = self.book();
        book.last = book.last.saturating_add(1);
        Box::pin(ready(Ok(ApprovalNumber(book.last))))
    }

    fn save(&self, approval: Approval) -> BoxFuture<'_, Result<(), StoreError>> {
        self.book().approvals.insert(approval.id.clone(), approval);
        Box::pin(ready(Ok(())))
    }

    fn get(&self, id: &ApprovalId) -> BoxFuture<'_, Result<Option<Approval>, StoreError>> {
        Box::pin(ready(Ok(self.book().approvals.get(id).cloned())))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>> {
        Box::pin(ready(Ok(self.found(|_| true))))
    }

    fn pending(&self) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>> {
        Box::pin(ready(Ok(self.found(Approval::is_pending))))
    }

    fn left_pending(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Vec<ApprovalId>, StoreError>> {
        let left = self.left.iter().filter(|(of, _)| of == thread).map(|(_, id)| id.clone()).collect();
        Box::pin(ready(Ok(left)))
    }

    fn numbered(
        &self,
        thread: &ThreadId,
        numbers: Vec<ApprovalNumber>,
    ) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>> {
        let here = self.found(|one| one.thread == *thread);
        let find = |number| here.iter().find(|one| one.number == number).cloned();
        Box::pin(ready(Ok(numbers.into_iter().filter_map(find).collect())))
    }

    fn of_thread(
        &self,
        thread: &ThreadId,
        ids: Vec<ApprovalId>,
    ) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>> {
        let book = self.book();
        let found = ids.iter().filter_map(|id| book.approvals.get(id));
        let found: Vec<Approval> = found.filter(|one| one.thread == *thread).cloned().collect();
        drop(book);
        Box::pin(ready(Ok(found)))
    }
}
