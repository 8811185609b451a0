//! From settings to a model.

use std::sync::Arc;

use super::{FallbackModel, ModelSpec, OpenAiModel};
use crate::http::Http;
use crate::ports::{Clock, Ids, Model};

/// What all models of a process share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The connections.
    pub http: Http,
    /// Ids for tool calls that came without one.
    pub ids: Arc<dyn Ids>,
    /// The time, for servers that name a date to come back at.
    pub clock: Arc<dyn Clock>,
}

/// A model that asks `primary`, and where that fails the `fallbacks` in their order. Does no IO.
pub fn build(primary: &ModelSpec, fallbacks: &[ModelSpec], shared: &Shared) -> Arc<dyn Model> {
    let first: Arc<dyn Model> = Arc::new(OpenAiModel::new(primary.clone(), shared.clone()));
    if fallbacks.is_empty() {
        return first;
    }
    let others = fallbacks
        .iter()
        .map(|spec| -> Arc<dyn Model> { Arc::new(OpenAiModel::new(spec.clone(), shared.clone())) })
        .collect();
    Arc::new(FallbackModel::new(first, others))
}
