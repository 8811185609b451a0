//! `/model` and `/usage` in a chat: which model answers here, the choice of another one, and what was spent.

use super::actor::Actor;
use crate::domain::{AuthorRole, ChatKind, IngressEvent, ModelChoosers};
use crate::ports::{AuditEvent, AuditLine, ModelChoices as _, StoreError, UsageViewer};
use crate::render::ModelPhrase;

impl Actor {
    /// The name of the model that answers this thread.
    pub(super) async fn model_name(&self) -> String {
        let task = self.conversation.task_model();
        self.runtime.models.of(&self.id, task.as_deref()).await.model.name().to_owned()
    }

    /// Executes a `/model` command and returns the reply text.
    pub(super) async fn model_command(&self, words: &str, event: &IngressEvent) -> String {
        let name = words.trim().to_lowercase();
        let said =
            if name.is_empty() { self.show_models().await } else { self.choose_model(&name, event).await };
        let said = said.unwrap_or_else(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "model choice not stored");
            ModelPhrase::Unavailable
        });
        said.say(self.conversation.language())
    }

    async fn show_models(&self) -> Result<ModelPhrase, StoreError> {
        let models = &self.runtime.models;
        let named = models.named().into_iter().map(|one| (one.name, one.model)).collect();
        let chosen = models.chosen(&self.id).await?.map(|one| one.name);
        Ok(ModelPhrase::Models { default: models.default_model().to_owned(), named, chosen })
    }

    async fn choose_model(&self, name: &str, event: &IngressEvent) -> Result<ModelPhrase, StoreError> {
        let models = &self.runtime.models;
        let name = Some(name).filter(|name| !["default", "默认"].contains(name));
        if !self.may_choose_model(event) {
            tracing::warn!(by = %event.author.id, thread = %self.id, "model choice denied");
            return Ok(ModelPhrase::NotTheirs);
        }
        if !models.choose(&self.id, name).await? {
            let known = models.named().into_iter().map(|one| one.name).collect();
            return Ok(ModelPhrase::Unknown { name: name.unwrap_or_default().to_owned(), known });
        }
        self.runtime.audit.record(AuditLine {
            thread: Some(self.id.clone()),
            author: Some(event.author.id.clone()),
            via: Some("text".to_owned()),
            reason: Some(name.unwrap_or("default").to_owned()),
            ..AuditLine::new(AuditEvent::ModelChosen, self.runtime.clock.now())
        });
        let chosen = models.chosen(&self.id).await?;
        Ok(match chosen {
            Some(one) => ModelPhrase::Chosen { name: one.name, model: one.model },
            None => ModelPhrase::Default(models.default_model().to_owned()),
        })
    }

    /// The answer to `/usage`.
    pub(super) async fn usage_command(&self, event: &IngressEvent) -> String {
        self.runtime.spending.tell(self.usage_viewer(event), self.conversation.language()).await
    }

    /// What was spent, in one line.
    pub(super) fn spent_line(&self, event: &IngressEvent) -> Option<String> {
        self.runtime.spending.line(&self.usage_viewer(event), self.conversation.language())
    }

    fn usage_viewer(&self, event: &IngressEvent) -> UsageViewer {
        let (thread, author) = (self.id.clone(), event.author.id.clone());
        UsageViewer { thread, author, owner: self.is_owner(event) }
    }

    pub(super) fn is_owner(&self, event: &IngressEvent) -> bool {
        let author = &event.author;
        event.chat == ChatKind::Operator
            || self.runtime.settings().approval_rules.rights.is_owner(&author.id, author.role)
    }

    fn may_choose_model(&self, event: &IngressEvent) -> bool {
        let owner = self.is_owner(event);
        let author = &event.author;
        let guest = matches!(author.role, AuthorRole::Guest | AuthorRole::Anonymous);
        owner || (self.runtime.models.choosers() == ModelChoosers::Members && !guest)
    }
}
