//! Memory in the system prompt and in `/memory`: of the project in every thread, of a person only in private threads.

use super::actor::Actor;
use super::frozen_memory::{CoreMemory, FreezeKey};
use crate::domain::{ChatKind, IngressEvent, MemoryScope, Remembered};
use crate::ports::StoreError;
use crate::render::MemoryPhrase;

/// The entry of each scope, in the order of the request.
type Found = Vec<(MemoryScope, Option<Remembered>)>;

impl Actor {
    /// The reply text of `/memory`.
    pub(super) async fn tell_memory(&self, event: &IngressEvent) -> String {
        let own = (event.chat == ChatKind::Direct).then(|| MemoryScope::Person(event.author.id.clone()));
        let found = self.recall([MemoryScope::Project].into_iter().chain(own).collect()).await;
        self.told(found.map(MemoryPhrase::Here))
    }

    /// The reply text of `/tasks`.
    pub(super) async fn tell_tasks(&self) -> String {
        self.told(self.runtime.memory.tasks().await.map(MemoryPhrase::Tasks))
    }

    /// The memory for the run in flight: of the project, and of the person in a private thread.
    pub(super) async fn remembered(&self) -> CoreMemory {
        let now = self.runtime.clock.now();
        let person = self.conversation.private_with();
        let key = FreezeKey { person: person.clone(), start: self.conversation.start().cloned() };
        if let Some(frozen) = self.runtime.frozen.get(&self.id, &key, now) {
            return frozen;
        }
        let project = self.recall_one(MemoryScope::Project).await;
        let own = match person {
            Some(own) => self.recall_one(MemoryScope::Person(own)).await,
            None => Ok(None),
        };
        let readable = project.is_ok() && own.is_ok();
        // One scope is used even where the other cannot be read.
        let memory = CoreMemory { project: project.unwrap_or_default(), person: own.unwrap_or_default() };
        if readable {
            self.runtime.frozen.put(&self.id, key, memory.clone(), now);
        }
        memory
    }

    async fn recall_one(&self, scope: MemoryScope) -> Result<Option<String>, StoreError> {
        let found = self.recall(vec![scope]).await.inspect_err(|error| {
            tracing::error!(error = error as &dyn std::error::Error, "memory unavailable");
        })?;
        Ok(found.into_iter().find_map(|(_, found)| found).map(|found| found.text))
    }

    async fn recall(&self, scopes: Vec<MemoryScope>) -> Result<Found, StoreError> {
        let mut all = Found::new();
        for scope in scopes {
            let found = self.runtime.memory.recall(&scope).await?;
            all.push((scope, found));
        }
        Ok(all)
    }

    fn told(&self, phrase: Result<MemoryPhrase, StoreError>) -> String {
        let phrase = phrase.unwrap_or_else(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "memory or tasks unavailable");
            MemoryPhrase::Unreadable
        });
        self.runtime.redactor.apply(&phrase.say(self.conversation.language())).into_owned()
    }
}
