//! The port of an adapter's state that survives a restart.

use std::sync::Arc;

use serde_json::Value;

use super::{BoxFuture, Durability, StoreError};
use crate::domain::{AuthorId, ThreadId};

/// The key-value store of one adapter. A value that a guarantee depends on is [`Synced`](Durability::Synced). Losing
/// another loses no message: a draft is no longer edited, a session starts again.
pub trait KeyValueStore: Send + Sync + std::fmt::Debug {
    fn get(&self, name: &str) -> BoxFuture<'_, Result<Option<Value>, StoreError>>;

    fn put(&self, name: &str, note: Value, durability: Durability) -> BoxFuture<'_, Result<(), StoreError>>;

    fn remove(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>>;

    /// All values with their names, unordered; without those of nested stores.
    fn all(&self) -> BoxFuture<'_, Result<Vec<(String, Value)>, StoreError>>;

    /// A nested store of this name.
    fn nested(&self, name: &str) -> Arc<dyn KeyValueStore>;
}

/// The thread of the direct chat with each owner, known since the owner last wrote there.
pub trait DirectChats: Send + Sync + std::fmt::Debug {
    fn of(&self, person: &AuthorId) -> BoxFuture<'_, Option<ThreadId>>;

    /// Records where a person wrote. Losing the record loses only the address.
    fn note(&self, person: &AuthorId, thread: &ThreadId) -> BoxFuture<'_, ()>;
}
