//! What an adapter must not forget over a restart.

use std::sync::Arc;

use serde_json::Value;

use super::{BoxFuture, StoreError};

/// One adapter's notes: small values under names. Those that are `put` can be lost without losing anything people
/// said: a message that is not edited any more, a session that begins anew. What a promise rests on is `keep`t.
pub trait KeyValueStore: Send + Sync + std::fmt::Debug {
    /// The note of this name.
    fn get(&self, name: &str) -> BoxFuture<'_, Result<Option<Value>, StoreError>>;

    /// Writes a note in the place of the one that was there. Survives the death of the process.
    fn put(&self, name: &str, note: Value) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Writes a note in the place of the one that was there. Survives a loss of power as well, and takes longer.
    fn keep(&self, name: &str, note: Value) -> BoxFuture<'_, Result<(), StoreError>>;

    fn remove(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>>;

    /// All notes by their names, in no order; those on shelves are not among them.
    fn all(&self) -> BoxFuture<'_, Result<Vec<(String, Value)>, StoreError>>;

    /// A notebook of its own within this one.
    fn shelf(&self, name: &str) -> Arc<dyn KeyValueStore>;
}
