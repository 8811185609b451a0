//! What is remembered, for the model and for people: about the project everywhere, about a person only in private
//! threads.

use super::actor::Actor;
use crate::domain::{ChatKind, IngressEvent, MemoryScope, Remembered};
use crate::ports::StoreError;
use crate::render::MemoryPhrase;

/// What is remembered for each of these, in their order.
type Found = Vec<(MemoryScope, Option<Remembered>)>;

impl Actor {
    /// The words for `/memory`.
    pub(super) async fn tell_memory(&self, event: &IngressEvent) -> String {
        let own = (event.chat == ChatKind::Direct).then(|| MemoryScope::Person(event.author.id.clone()));
        let found = self.recall([MemoryScope::Project].into_iter().chain(own).collect()).await;
        self.told(found.map(MemoryPhrase::Here))
    }

    /// The words for `/tasks`.
    pub(super) async fn tell_tasks(&self) -> String {
        self.told(self.runtime.memory.tasks().await.map(MemoryPhrase::Tasks))
    }

    /// What the model is told for the run in flight: about the project, and about the one person it speaks with.
    pub(super) async fn remembered(&self) -> (Option<String>, Option<String>) {
        let own = self.conversation.private_with().map(MemoryScope::Person);
        let project = self.recall_one(MemoryScope::Project).await;
        let person = match own {
            Some(own) => self.recall_one(own).await,
            None => None,
        };
        (project, person)
    }

    /// What is remembered for one, as far as it can be read: the other needs it no less.
    async fn recall_one(&self, scope: MemoryScope) -> Option<String> {
        let found = self.recall(vec![scope]).await.unwrap_or_else(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "memory is out of reach");
            Vec::new()
        });
        found.into_iter().find_map(|(_, found)| found).map(|found| found.text)
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
            tracing::error!(error = &error as &dyn std::error::Error, "memory or tasks cannot be read");
            MemoryPhrase::Unreadable
        });
        self.runtime.redactor.apply(&phrase.say(self.conversation.language())).into_owned()
    }
}
