//! What people have allowed beyond a single call.

use super::{BoxFuture, StoreError};
use crate::domain::{Approval, AuthorId, GrantNumber, GrantSummary, Scope, Timestamp};
use crate::policy::grants::{Grant, Proposal};

/// The grants. A change is durable before its future is ready.
pub trait Grants: Send + Sync + std::fmt::Debug {
    /// Every grant that is stored, also those whose time is over. Read for every call that is judged, so it costs no more
    /// than a look whether something changed.
    fn all(&self) -> BoxFuture<'_, Result<Vec<Grant>, StoreError>>;

    /// Stores what an answer grants beyond its own call, under a number that was never used before.
    fn add(
        &self,
        approval: Approval,
        scope: Scope,
        proposal: Proposal,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<GrantNumber, StoreError>>;

    /// Every grant that holds somewhere, oldest first. Those whose time is over are removed.
    fn list(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<GrantSummary>, StoreError>>;

    /// Takes a grant back: from the next call on it counts no more. Gives what it was; nothing where there is no such
    /// grant.
    fn revoke(
        &self,
        number: GrantNumber,
        by: Revoker,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<GrantSummary>, StoreError>>;
}

/// Who takes a grant back, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoker {
    pub author: AuthorId,
    /// From where: `text`, `http`, `cli`.
    pub via: String,
}
