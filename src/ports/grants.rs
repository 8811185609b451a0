//! The port of the grants: permissions beyond a single call.

use super::{BoxFuture, StoreError};
use crate::domain::{Approval, AuthorId, GrantNumber, GrantSummary, Scope, Timestamp};
use crate::policy::grants::{Grant, Proposal};

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
        proposal: Proposal,
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
