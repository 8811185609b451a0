//! The models that may answer a thread, and which of them was chosen for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::domain::{ModelChoosers, ThreadId};
use crate::ports::{BoxFuture, Durability, KeyValueStore, Model, ModelChoices, NamedModel, StoreError};

/// A model with its limits.
#[derive(Clone, Debug)]
pub struct ThreadModel {
    pub model: Arc<dyn Model>,
    /// The size of its context window.
    pub context_tokens: usize,
    /// Deadline of one call.
    pub deadline: Duration,
}

/// The models of a daemon. Clones share the choices.
#[derive(Clone, Debug)]
pub struct ThreadModels(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    default: ThreadModel,
    named: BTreeMap<String, ThreadModel>,
    choosers: ModelChoosers,
    notes: Arc<dyn KeyValueStore>,
    /// The names that were chosen; `None` before they are read.
    chosen: Mutex<Option<BTreeMap<ThreadId, String>>>,
    /// One change at a time.
    turn: Semaphore,
}

impl ThreadModels {
    /// `notes` keep the choices, one note for each thread that has another model than the default one.
    pub fn new(
        default: ThreadModel,
        named: BTreeMap<String, ThreadModel>,
        choosers: ModelChoosers,
        notes: Arc<dyn KeyValueStore>,
    ) -> Self {
        let (chosen, turn) = (Mutex::default(), Semaphore::new(1));
        Self(Arc::new(Inner { default, named, choosers, notes, chosen, turn }))
    }

    pub(super) fn choosers(&self) -> ModelChoosers {
        self.0.choosers
    }

    /// The model that answers a thread: that of its task, else the chosen one, else the default.
    pub(super) async fn of(&self, thread: &ThreadId, task: Option<&str>) -> ThreadModel {
        let name = match task {
            Some(name) => Some(name.to_owned()),
            None => self.0.chosen_name(thread).await.unwrap_or_else(|error| {
                tracing::error!(error = &error as &dyn std::error::Error, "model choices not read");
                None
            }),
        };
        let Some(name) = name else { return self.0.default.clone() };
        self.0.named.get(&name).cloned().unwrap_or_else(|| {
            tracing::warn!(%thread, name, "no model of this name is configured: the default one answers");
            self.0.default.clone()
        })
    }
}

impl Inner {
    fn chosen(&self) -> MutexGuard<'_, Option<BTreeMap<ThreadId, String>>> {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn load(&self) -> Result<(), StoreError> {
        if self.chosen().is_some() {
            return Ok(());
        }
        let stored = self.notes.all().await?;
        let choice = |(thread, note): (String, Value)| {
            Some((thread.parse().ok()?, note.get("model")?.as_str()?.to_owned()))
        };
        // A choice may have been made while the notes were read.
        self.chosen().get_or_insert_with(|| stored.into_iter().filter_map(choice).collect());
        Ok(())
    }

    async fn chosen_name(&self, thread: &ThreadId) -> Result<Option<String>, StoreError> {
        self.load().await?;
        Ok(self.chosen().as_ref().and_then(|chosen| chosen.get(thread).cloned()))
    }
}

impl ModelChoices for ThreadModels {
    fn named(&self) -> Vec<NamedModel> {
        let named = self.0.named.iter();
        named
            .map(|(name, one)| NamedModel { name: name.clone(), model: one.model.name().to_owned() })
            .collect()
    }

    fn default_model(&self) -> &str {
        self.0.default.model.name()
    }

    fn chosen<'a>(&'a self, thread: &'a ThreadId) -> BoxFuture<'a, Result<Option<NamedModel>, StoreError>> {
        Box::pin(async move {
            let Some(name) = self.0.chosen_name(thread).await? else { return Ok(None) };
            let model = self.0.named.get(&name).map(|one| one.model.name().to_owned());
            Ok(model.map(|model| NamedModel { name, model }))
        })
    }

    fn choose<'a>(
        &'a self,
        thread: &'a ThreadId,
        name: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            if name.is_some_and(|name| !self.0.named.contains_key(name)) {
                return Ok(false);
            }
            let _turn = self.0.turn.acquire().await.map_err(|_| StoreError::closed())?;
            self.0.load().await?;
            match name {
                Some(name) => {
                    let chosen = json!({ "model": name });
                    self.0.notes.put(thread.as_str(), chosen, Durability::Synced).await?;
                }
                None => self.0.notes.remove(thread.as_str()).await?,
            }
            if let Some(chosen) = self.0.chosen().as_mut() {
                match name {
                    Some(name) => chosen.insert(thread.clone(), name.to_owned()),
                    None => chosen.remove(thread),
                };
            }
            Ok(true)
        })
    }
}
