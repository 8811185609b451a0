//! The adapter's stored facts: the messages of approvals, the kinds of chats, and a message of each topic.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::{ApprovalId, ApprovalKind, ChatKind, CorrelationId, Language, ScopeKind, ThreadId};
use crate::ports::{Durability, KeyValueStore, StoreError};

/// Most cached notes.
const MOST: usize = 10_000;

/// An approval that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SentQuestion {
    /// The message with its card.
    pub(super) message: String,
    /// Its text, for the card that replaces it.
    pub(super) question: String,
    pub(super) kind: ApprovalKind,
    /// How far a yes can reach.
    #[serde(default)]
    pub(super) scopes: Vec<ScopeKind>,
    pub(super) language: Language,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StreamingCard {
    pub(super) correlation: CorrelationId,
    pub(super) card: String,
    /// The message that shows the card, once it is known.
    pub(super) message: Option<String>,
    /// When the card was made, in milliseconds since the epoch.
    pub(super) made: i64,
    /// The delivery that finished it.
    pub(super) ended: Option<String>,
}

/// The key-value store with a cache.
#[derive(Clone, Debug)]
pub(super) struct Notes {
    book: Arc<dyn KeyValueStore>,
    known: Arc<Mutex<HashMap<String, Value>>>,
}

impl Notes {
    pub(super) fn new(book: Arc<dyn KeyValueStore>) -> Self {
        Self { book, known: Arc::default() }
    }

    /// Stores whether a chat is direct. The button of an old approval is judged by it.
    pub(super) async fn learn_chat(&self, chat: &str, kind: ChatKind) -> Result<(), StoreError> {
        self.learn(format!("chat-{chat}"), Value::Bool(kind == ChatKind::Direct), Durability::Synced).await
    }

    /// Whether a chat is direct; an unknown chat counts as a group.
    pub(super) async fn chat(&self, chat: &str) -> ChatKind {
        match self.recall(format!("chat-{chat}")).await {
            Some(Value::Bool(true)) => ChatKind::Direct,
            _ => ChatKind::Group,
        }
    }

    /// Stores a message of a topic as a reply target.
    pub(super) async fn learn_topic(&self, topic: &str, message: &str) -> Result<(), StoreError> {
        let name = format!("topic-{topic}");
        // Any message of the topic will do.
        if self.recall(name.clone()).await.is_some() {
            return Ok(());
        }
        self.learn(name, Value::String(message.to_owned()), Durability::Synced).await
    }

    pub(super) async fn topic(&self, topic: &str) -> Option<String> {
        self.recall(format!("topic-{topic}")).await?.as_str().map(str::to_owned)
    }

    /// Stores the message of an approval.
    pub(super) async fn learn_question(
        &self,
        approval: &ApprovalId,
        chat: &str,
        shown: &SentQuestion,
    ) -> Result<(), StoreError> {
        let note = serde_json::to_value(shown).unwrap_or_default();
        self.book.put(&question_name(approval, chat), note, Durability::Written).await
    }

    /// The message of an approval in a chat.
    pub(super) async fn question(&self, approval: &ApprovalId, chat: &str) -> Option<SentQuestion> {
        let note = self.book.get(&question_name(approval, chat)).await.ok().flatten()?;
        serde_json::from_value(note).ok()
    }

    /// Stores a thread's streaming card.
    pub(super) async fn store_streaming(
        &self,
        thread: &ThreadId,
        streaming: &StreamingCard,
    ) -> Result<(), StoreError> {
        let note = serde_json::to_value(streaming).unwrap_or_default();
        // Losing the note of a finished card would send the answer twice.
        let durability = if streaming.ended.is_some() { Durability::Synced } else { Durability::Written };
        self.learn(format!("growing-{thread}"), note, durability).await
    }

    /// A thread's current or last streaming card.
    pub(super) async fn streaming(&self, thread: &ThreadId) -> Option<StreamingCard> {
        serde_json::from_value(self.recall(format!("growing-{thread}")).await?).ok()
    }

    async fn learn(&self, name: String, note: Value, durability: Durability) -> Result<(), StoreError> {
        // A cached read is cheaper than a write.
        if self.recall(name.clone()).await.as_ref() == Some(&note) {
            return Ok(());
        }
        self.book.put(&name, note.clone(), durability).await?;
        self.keep(name, note);
        Ok(())
    }

    async fn recall(&self, name: String) -> Option<Value> {
        if let Some(note) = self.known().get(&name) {
            return Some(note.clone()).filter(|note| !note.is_null());
        }
        // An unreadable note counts as none.
        let note = self.book.get(&name).await.ok().flatten();
        self.keep(name, note.clone().unwrap_or_default());
        note
    }

    fn keep(&self, name: String, note: Value) {
        let mut known = self.known();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(name, note);
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, Value>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One approval may be asked in several chats.
fn question_name(approval: &ApprovalId, chat: &str) -> String {
    format!("question-{approval}@{chat}")
}
