//! The port of the models that a thread may be answered by.

use super::{BoxFuture, StoreError};
use crate::domain::ThreadId;

/// A model that can be chosen by its name.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct NamedModel {
    /// The name in `llm.models`.
    pub name: String,
    /// What its server calls it.
    pub model: String,
}

/// Which model answers a thread. A choice survives restarts.
pub trait ModelChoices: Send + Sync + std::fmt::Debug {
    /// The models that can be chosen, by name.
    fn named(&self) -> Vec<NamedModel>;

    /// What the server of the default model calls it.
    fn default_model(&self) -> &str;

    /// The name of the model that was chosen for a thread; `None` is the default model.
    fn chosen<'a>(&'a self, thread: &'a ThreadId) -> BoxFuture<'a, Result<Option<NamedModel>, StoreError>>;

    /// Chooses the model of a thread durably; `None` gives it the default model again. Returns whether there is a model
    /// of this name.
    fn choose<'a>(
        &'a self,
        thread: &'a ThreadId,
        name: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
}
