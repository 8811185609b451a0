//! What is kept about the tasks, in a nested key-value store.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::definition::TaskId;
use super::state::TaskState;
use crate::ports::{Durability, KeyValueStore, StoreError, StoreErrorKind};

/// The states of the tasks by id. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TaskStates(pub Arc<dyn KeyValueStore>);

impl TaskStates {
    /// All states at once, as they are stored; `None` where one of them cannot be read.
    pub(super) async fn all(&self) -> Option<BTreeMap<String, Value>> {
        match self.0.all().await {
            Ok(all) => Some(all.into_iter().collect()),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "task states unavailable");
                None
            }
        }
    }

    pub(super) async fn get(&self, id: &TaskId) -> Result<Option<TaskState>, StoreError> {
        read(id, self.0.get(id.as_str()).await?)
    }

    pub(super) async fn put(&self, id: &TaskId, state: &TaskState) -> Result<(), StoreError> {
        let state = serde_json::to_value(state).unwrap_or_default();
        self.0.put(id.as_str(), state, Durability::Written).await
    }

    pub(super) async fn remove(&self, id: &TaskId) -> Result<(), StoreError> {
        self.0.remove(id.as_str()).await
    }
}

/// A state as it is stored. One of another shape is not guessed.
pub(super) fn read(id: &TaskId, stored: Option<Value>) -> Result<Option<TaskState>, StoreError> {
    let read = stored.map(serde_json::from_value).transpose();
    read.map_err(|error| StoreError::new(StoreErrorKind::Invalid, format!("the state of task {id}"), error))
}
