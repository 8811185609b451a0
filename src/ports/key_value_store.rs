//! The port of an adapter's state that survives a restart.

use std::sync::Arc;

use serde_json::Value;

use super::{BoxFuture, StoreError};
use crate::domain::{AuthorId, ThreadId};

/// The key-value store of one adapter. Losing a value that was `put` loses no message: a draft is no longer edited, a
/// session starts again. Values that a guarantee depends on are written with `keep`.
pub trait KeyValueStore: Send + Sync + std::fmt::Debug {
    fn get(&self, name: &str) -> BoxFuture<'_, Result<Option<Value>, StoreError>>;

    /// Replaces a value. Survives the end of the process.
    fn put(&self, name: &str, note: Value) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Replaces a value durably. Survives a power loss as well, and takes longer.
    fn keep(&self, name: &str, note: Value) -> BoxFuture<'_, Result<(), StoreError>>;

    fn remove(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>>;

    /// All values with their names, unordered; without those of nested stores.
    fn all(&self) -> BoxFuture<'_, Result<Vec<(String, Value)>, StoreError>>;

    /// A nested store of this name.
    fn shelf(&self, name: &str) -> Arc<dyn KeyValueStore>;
}

/// The thread of the direct chat with each owner, known since the owner last wrote there.
pub trait DirectChats: Send + Sync + std::fmt::Debug {
    fn of(&self, person: &AuthorId) -> BoxFuture<'_, Option<ThreadId>>;

    /// Records where a person wrote. Losing the record loses only the address.
    fn note(&self, person: &AuthorId, thread: &ThreadId) -> BoxFuture<'_, ()>;
}
