//! The direct chats of owners, kept in the key-value store: notices and results of tasks go there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::domain::{AuthorId, CorrelationId, Intent, Owners, ThreadId, ToolCallId};
use crate::ports::{
    Acceptance, BoxFuture, DirectChats, Durability, KeyValueStore, RunMessage, RunMessageSource,
    ThreadsHandle,
};

/// Direct chats by person. Owners are few, so all of them are cached.
#[derive(Debug)]
pub struct StoredDirectChats {
    store: Arc<dyn KeyValueStore>,
    known: Mutex<BTreeMap<AuthorId, ThreadId>>,
}

impl StoredDirectChats {
    pub fn new(store: Arc<dyn KeyValueStore>) -> Self {
        Self { store, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<AuthorId, ThreadId>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DirectChats for StoredDirectChats {
    fn of(&self, person: &AuthorId) -> BoxFuture<'_, Option<ThreadId>> {
        let person = person.clone();
        Box::pin(async move {
            if let Some(thread) = self.known().get(&person) {
                return Some(thread.clone());
            }
            let stored = self.store.get(person.as_str()).await.ok()??;
            stored.as_str()?.parse().ok()
        })
    }

    fn note(&self, person: &AuthorId, thread: &ThreadId) -> BoxFuture<'_, ()> {
        let before = self.known().insert(person.clone(), thread.clone());
        let (person, thread) = (person.clone(), thread.clone());
        Box::pin(async move {
            if before.as_ref() == Some(&thread) {
                return;
            }
            let address = Value::String(thread.as_str().to_owned());
            if let Err(error) = self.store.put(person.as_str(), address, Durability::Written).await {
                tracing::warn!(%error, "direct chat of an owner not recorded");
            }
        })
    }
}

/// What owners are told in their direct chats.
#[derive(Debug)]
pub(super) struct OwnerNotice {
    /// The thread in whose name they are told.
    pub(super) from: ThreadId,
    pub(super) correlation: CorrelationId,
    pub(super) name: &'static str,
    pub(super) text: String,
}

/// Tells every owner whose direct chat is known.
pub(super) async fn tell_owners(
    threads: &ThreadsHandle,
    direct: &dyn DirectChats,
    owners: &Owners,
    notice: OwnerNotice,
) {
    let OwnerNotice { from, correlation, name, text } = notice;
    let run_message = RunMessage {
        from,
        correlation,
        source: RunMessageSource::Call(ToolCallId::made("", name)),
        intent: Intent::AssistantText { text },
    };
    for owner in owners.current() {
        let Some(chat) = direct.of(owner).await else { continue };
        let told = threads.say(chat, run_message.clone()).await;
        if !matches!(told, Acceptance::Accepted { .. } | Acceptance::Duplicate { .. }) {
            tracing::warn!(%owner, ?told, name, "notice to an owner not delivered");
        }
    }
}
