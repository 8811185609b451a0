//! The port of the direct chats that the agent has with its owners.

use super::BoxFuture;
use crate::domain::{AuthorId, ThreadId};

/// The thread of the direct chat with each owner, known since the owner last wrote there.
pub trait DirectChats: Send + Sync + std::fmt::Debug {
    fn of(&self, person: &AuthorId) -> BoxFuture<'_, Option<ThreadId>>;

    /// Records where a person wrote. Losing the record loses only the address.
    fn note(&self, person: &AuthorId, thread: &ThreadId) -> BoxFuture<'_, ()>;
}
