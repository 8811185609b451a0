//! Builds a model from settings.

use std::sync::Arc;

use super::{FallbackModel, ModelSpec, OfflineModel, OpenAiModel, Pace};
use crate::http_client::Http;
use crate::ports::{Clock, Ids, Model};

/// What all models of a process share.
#[derive(Clone, Debug)]
pub struct Shared {
    pub http: Http,
    /// Ids for tool calls without one.
    pub ids: Arc<dyn Ids>,
    /// For `Retry-After` headers with a date.
    pub clock: Arc<dyn Clock>,
}

#[derive(Clone, Debug)]
pub enum ModelKind {
    Offline,
    /// A model on a server.
    Server(ModelSpec),
}

/// A model that calls `primary`, and on failure the `fallbacks` in order. Does no IO.
pub fn build(primary: &ModelKind, fallbacks: &[ModelKind], shared: &Shared) -> Arc<dyn Model> {
    let first = one(primary, shared);
    if fallbacks.is_empty() {
        return first;
    }
    Arc::new(FallbackModel::new(first, fallbacks.iter().map(|kind| one(kind, shared)).collect()))
}

fn one(kind: &ModelKind, shared: &Shared) -> Arc<dyn Model> {
    match kind {
        ModelKind::Offline => Arc::new(OfflineModel::new(shared.ids.clone(), Pace::default())),
        ModelKind::Server(spec) => Arc::new(OpenAiModel::new(spec.clone(), shared.clone())),
    }
}
