//! What people have allowed beyond a single call.

use super::{BoxFuture, StoreError};
use crate::domain::{Approval, Scope, Timestamp};

/// The grants. What it was told is on the disk before it says so.
pub trait Grants: Send + Sync + std::fmt::Debug {
    /// Lets calls like this one run unasked, as far as the scope reaches.
    fn add(&self, approval: Approval, scope: Scope, now: Timestamp) -> BoxFuture<'_, Result<(), StoreError>>;
}
