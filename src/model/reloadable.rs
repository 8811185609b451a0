//! A model that can be replaced while it is used, when its settings change.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::domain::Replaceable;
use crate::ports::{BoxFuture, Completion, Model, ModelDelta, ModelError, Prompt};

/// The newest of several models. A call in progress stays with the model that it began with.
#[derive(Debug)]
pub struct ReloadableModel {
    model: Replaceable<Arc<dyn Model>>,
}

impl ReloadableModel {
    pub fn new(model: Arc<dyn Model>) -> Arc<Self> {
        Arc::new(Self { model: Replaceable::new(model) })
    }

    /// Asks this model from the next call on.
    pub fn replace(&self, model: Arc<dyn Model>) {
        self.model.replace(model);
    }
}

impl Model for ReloadableModel {
    fn complete(
        &self,
        prompt: Prompt,
        live: mpsc::Sender<ModelDelta>,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        self.model.current().complete(prompt, live)
    }

    fn name(&self) -> &str {
        self.model.current().name()
    }
}
