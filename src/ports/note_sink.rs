//! Where notes go that are taken from the part of a conversation that a checkpoint covers.

use super::{BoxFuture, StoreError};
use crate::domain::{MemoryScope, MessageId, ThreadId, Timestamp};
use crate::uimessage::UiMessage;

/// Something worth remembering beyond the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNote {
    pub text: String,
    /// The messages it is taken from.
    pub from: Vec<MessageId>,
}

/// The notes of one checkpoint.
#[derive(Clone, Debug)]
pub struct NoteBatch {
    pub thread: ThreadId,
    /// The memory that all messages of the covered part may use.
    pub scope: MemoryScope,
    pub at: Timestamp,
    pub notes: Vec<NewNote>,
    /// The messages that the notes name, as they stand in the thread: scope, author and origin come from them.
    pub sources: Vec<UiMessage>,
}

pub trait NoteSink: Send + Sync + std::fmt::Debug {
    /// Keeps what may be kept of a batch and gives the ids of all that is there now. The same batch may come again after a
    /// crash: a text that is there already is not added.
    fn flush(&self, batch: NoteBatch) -> BoxFuture<'_, Result<Vec<String>, StoreError>>;
}
