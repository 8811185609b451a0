//! The port of the approval records.

use super::{BoxFuture, StoreError};
use crate::domain::{Approval, ApprovalId, ApprovalNumber, ThreadId};

/// The approval records. A change is durable before its future is ready.
pub trait ApprovalBook: Send + Sync + std::fmt::Debug {
    /// A number that was never used in this project.
    fn next_number(&self) -> BoxFuture<'_, Result<ApprovalNumber, StoreError>>;

    /// Stores an approval or its new state.
    fn save(&self, approval: Approval) -> BoxFuture<'_, Result<(), StoreError>>;

    fn get(&self, id: &ApprovalId) -> BoxFuture<'_, Result<Option<Approval>, StoreError>>;

    /// All approvals, newest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>>;

    /// The pending approvals, newest first. Settled ones are not read.
    fn pending(&self) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>>;

    /// The approvals of this thread that were pending when the last daemon ended; some may be settled by now.
    fn left_pending(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Vec<ApprovalId>, StoreError>>;

    /// The approvals of this thread with these numbers.
    fn numbered(
        &self,
        thread: &ThreadId,
        numbers: Vec<ApprovalNumber>,
    ) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>>;

    /// The approvals of this thread with these ids.
    fn of_thread(
        &self,
        thread: &ThreadId,
        ids: Vec<ApprovalId>,
    ) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>>;
}
