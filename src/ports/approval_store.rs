//! The port of the approval records.

use super::{BoxFuture, StoreError};
use crate::domain::{
    Approval, ApprovalId, ApprovalNumber, AuthorId, GrantNumber, GrantSummary, Scope, ThreadId, Timestamp,
};
use crate::policy::grants::{Grant, GrantProposal};

/// The approval records. A change is durable before its future is ready.
pub trait ApprovalStore: Send + Sync + std::fmt::Debug {
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

/// The grants. A change is durable before its future is ready.
pub trait Grants: Send + Sync + std::fmt::Debug {
    /// Every stored grant, also expired ones. Read for every call that is judged, so an unchanged store costs no more
    /// than a check for changes.
    fn all(&self) -> BoxFuture<'_, Result<Vec<Grant>, StoreError>>;

    /// Stores the grant of an answer, under a number that was never used before.
    fn add(
        &self,
        approval: Approval,
        scope: Scope,
        proposal: GrantProposal,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<GrantNumber, StoreError>>;

    /// Every grant that holds, oldest first. Expired ones are removed.
    fn list(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<GrantSummary>, StoreError>>;

    /// Revokes a grant: it no longer applies to the next call. Returns the grant; `None` where there is none.
    fn revoke(
        &self,
        number: GrantNumber,
        by: Revoker,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<GrantSummary>, StoreError>>;
}

/// Who revokes a grant, and through which surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoker {
    pub author: AuthorId,
    /// The surface: `text`, `http`, `cli`.
    pub via: String,
}
