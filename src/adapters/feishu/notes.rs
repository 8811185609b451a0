//! The adapter's stored facts: the kinds of chats, and a message of each topic.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::domain::ChatKind;
use crate::ports::{Durability, KeyValueStore, StoreError};

/// Most cached notes.
const MOST: usize = 10_000;

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
        self.learn(format!("chat-{chat}"), Value::Bool(kind == ChatKind::Direct)).await
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
        self.learn(name, Value::String(message.to_owned())).await
    }

    pub(super) async fn topic(&self, topic: &str) -> Option<String> {
        self.recall(format!("topic-{topic}")).await?.as_str().map(str::to_owned)
    }

    async fn learn(&self, name: String, note: Value) -> Result<(), StoreError> {
        // A cached read is cheaper than a write.
        if self.recall(name.clone()).await.as_ref() == Some(&note) {
            return Ok(());
        }
        self.book.put(&name, note.clone(), Durability::Synced).await?;
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
