//! The settings of a model, and the model that they describe.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::{FallbackModel, OfflineModel, OpenAiModel, TypingSpeed};
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
        ModelKind::Offline => Arc::new(OfflineModel::new(shared.ids.clone(), TypingSpeed::default())),
        ModelKind::Server(spec) => Arc::new(OpenAiModel::new(spec.clone(), shared.clone())),
    }
}

/// A model on an OpenAI-compatible server.
#[derive(Clone, Debug)]
pub struct ModelSpec {
    /// The address up to the version, e.g. `https://api.openai.com/v1`.
    pub base_url: String,
    /// Local servers often need none.
    pub api_key: Option<SecretString>,
    /// The model's name on that server.
    pub model: String,
    /// How long to wait for the first output, including retries, and between two chunks after it.
    pub timeout: Duration,
    /// Whether the model's earlier reasoning is sent back to it.
    pub send_reasoning: bool,
    /// Most tokens of an answer; `None` means the server's default.
    pub max_output_tokens: Option<u32>,
    /// `None` means the server's default.
    pub temperature: Option<f64>,
    /// Whether it is called where the first choice does not fit into a spend cap.
    pub at_caps: bool,
}

impl ModelSpec {
    /// A model without a key, with a time-out of two minutes.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: None,
            model: model.into(),
            timeout: Duration::from_secs(120),
            send_reasoning: true,
            max_output_tokens: None,
            temperature: None,
            at_caps: false,
        }
    }

    /// Sets the key; an empty one counts as none.
    #[must_use]
    pub fn with_key(mut self, key: &str) -> Self {
        self.api_key = (!key.trim().is_empty()).then(|| SecretString::from(key.trim()));
        self
    }
}
