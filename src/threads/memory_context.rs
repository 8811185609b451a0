//! Memory in the system prompt, of the scopes that the messages of the turn may read; and `/tasks`.

use super::actor::Actor;
use super::frozen_memory::{CoreMemory, FreezeKey};
use crate::domain::{ChatKind, IngressEvent, MemoryScope};
use crate::ports::{StoreError, TaskViewer};
use crate::render::MemoryPhrase;

impl Actor {
    /// The memory that a message may use.
    pub(super) fn scope_of(&self, event: &IngressEvent) -> MemoryScope {
        let scope = MemoryScope::resolve(
            &event.author.id,
            event.chat,
            &event.thread,
            &self.runtime.settings().scopes,
        );
        if self.conversation.is_private_for(&event.author.id) { scope } else { scope.without_person() }
    }

    /// The reply text of `/tasks`.
    pub(super) async fn tell_tasks(&self, words: &str, event: &IngressEvent) -> String {
        let author = &event.author;
        let operator = event.chat == ChatKind::Operator;
        let viewer = TaskViewer {
            author: Some(author.id.clone()),
            owner: operator
                || self.runtime.settings().approval_rules.rights.is_owner(&author.id, author.role),
            thread: self.id.clone(),
            group: event.chat == ChatKind::Group,
        };
        let answer = self.runtime.tasks.answer(words, viewer, self.conversation.language()).await;
        self.runtime.redactor.apply(&answer).into_owned()
    }

    /// Core memory for the run in flight.
    pub(super) async fn remembered(&self) -> CoreMemory {
        let now = self.runtime.clock.now();
        let scope = self.conversation.memory_scope();
        let removal = self.runtime.memory.newest_removal(scope.read()).await.unwrap_or_else(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "ledger unavailable");
            0
        });
        let start = self.conversation.start().cloned();
        let key = FreezeKey { scopes: scope.read().to_vec(), removal, start };
        if let Some(frozen) = self.runtime.frozen.get(&self.id, &key, now) {
            return frozen;
        }
        let mut readable = true;
        let mut memory = CoreMemory::new();
        for scope in scope.read() {
            match self.runtime.memory.core(scope).await {
                Ok(file) => memory.push((scope.clone(), file.text)),
                // One scope is used even where another cannot be read.
                Err(error) => {
                    readable = false;
                    tracing::error!(error = &error as &dyn std::error::Error, %scope, "memory unavailable");
                }
            }
        }
        if readable {
            self.runtime.frozen.put(&self.id, key, memory.clone(), now);
        }
        memory
    }

    pub(super) fn told(&self, phrase: Result<MemoryPhrase, StoreError>) -> String {
        let phrase = phrase.unwrap_or_else(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "memory or tasks unavailable");
            MemoryPhrase::Unreadable
        });
        self.runtime.redactor.apply(&phrase.say(self.conversation.language())).into_owned()
    }
}
