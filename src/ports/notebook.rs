//! What an adapter must not forget over a restart.

use serde_json::Value;

use super::{BoxFuture, StoreError};

/// One adapter's notes: small values under names. Those that are put can be lost without losing anything people said: a
/// message that is not edited any more, a session that begins anew. Those that are kept cannot.
pub trait Notebook: Send + Sync + std::fmt::Debug {
    /// The note of this name.
    fn get(&self, name: &str) -> BoxFuture<'_, Result<Option<Value>, StoreError>>;

    /// Writes a note in the place of the one that was there. Survives the death of the process.
    fn put(&self, name: &str, note: Value) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Forgets a note.
    fn remove(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Writes something down that must not be lost until it is let go: it survives a loss of power as well.
    fn keep(&self, name: &str, what: Value) -> BoxFuture<'_, Result<(), StoreError>>;

    /// All that is kept, with its names.
    fn kept(&self) -> BoxFuture<'_, Result<Vec<(String, Value)>, StoreError>>;

    /// Lets something go that was kept.
    fn let_go(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>>;
}
