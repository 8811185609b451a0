//! What people have allowed beyond a single call.

use super::{BoxFuture, StoreError};
use crate::domain::{Approval, AuthorId, GrantNumber, GrantSummary, Scope, Timestamp};

/// The grants. What it was told is on the disk before it says so.
pub trait Grants: Send + Sync + std::fmt::Debug {
    /// Lets calls like this one run unasked, as far as the scope reaches. Gives nothing where the call can only be
    /// allowed once.
    fn add(
        &self,
        approval: Approval,
        scope: Scope,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<GrantNumber>, StoreError>>;

    /// Every grant that holds somewhere, oldest first. Those whose time is over are cleared away.
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
