//! Tries a model and a platform out. Each check ends in bounded time and stores nothing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use serde_json::Value;

use super::choices::ModelAnswered;
use crate::domain::{ErrorKind, Language};
use crate::http_client::Http;
use crate::model::{ModelKind, ModelSpec, Shared, build, chat_models, list_models, probe};
use crate::phrases::onboarding as words;
use crate::ports::{
    AdapterDef, BoxFuture, Clock, Ids, ModelCheck, ModelError, ModelTrouble, Probe, ProbeLevel, ProbeParts,
};

/// Deadline of the call of a model; shorter than that of a request of the console.
const MODEL_DEADLINE: Duration = Duration::from_secs(15);
/// Deadline of a platform.
const PLATFORM_DEADLINE: Duration = Duration::from_secs(15);
/// Most models of a server that are offered.
const MAX_MODELS: usize = 200;

/// Asks servers whether the answers work; tests replace it.
pub(crate) trait Checks: Send + Sync + std::fmt::Debug {
    fn model(&self, tried: ModelAnswered, language: Language) -> BoxFuture<'_, ModelCheck>;

    /// `section` has the values themselves.
    fn platform(&self, def: AdapterDef, section: Value, language: Language) -> BoxFuture<'_, Vec<Probe>>;
}

/// The checks over the network.
#[derive(Clone, Debug)]
pub(crate) struct RealChecks {
    pub(crate) http: Http,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
}

impl RealChecks {
    /// Calls the model with an output limit of one token, and without one where the server refuses that.
    async fn call(&self, tried: &ModelAnswered) -> Result<(), ModelError> {
        let shared = Shared { http: self.http.clone(), ids: self.ids.clone(), clock: self.clock.clone() };
        let spec = ModelSpec {
            api_key: tried.key.clone(),
            timeout: MODEL_DEADLINE,
            ..ModelSpec::new(&tried.base_url, &tried.model)
        };
        let limited = ModelSpec { max_output_tokens: Some(1), ..spec.clone() };
        match probe(&*build(&ModelKind::Server(limited), &[], &shared)).await {
            Err(ModelError { kind: ErrorKind::BadRequest, .. }) => {
                probe(&*build(&ModelKind::Server(spec), &[], &shared)).await
            }
            other => other,
        }
    }
}

impl Checks for RealChecks {
    fn model(&self, tried: ModelAnswered, language: Language) -> BoxFuture<'_, ModelCheck> {
        Box::pin(async move {
            let call = tokio::time::timeout(MODEL_DEADLINE, self.call(&tried));
            let list = list_models(&self.http, &tried.base_url, tried.key.as_ref());
            let (called, listed) = join(call, list).await;
            // A server need not list its models.
            let models = chat_models(&listed.unwrap_or_default(), MAX_MODELS);
            let failed = match called {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some((error.kind, error.detail)),
                Err(_) => Some((ErrorKind::Timeout, String::new())),
            };
            let trouble = failed.map(|(kind, detail)| {
                let unknown = kind == ErrorKind::BadRequest
                    && !models.is_empty()
                    && models.iter().all(|listed| *listed != tried.model);
                let message = if unknown {
                    words::no_such_model(&tried.model, language)
                } else {
                    words::model_trouble(kind, language).to_owned()
                };
                // The name of the model stands before it, which may be a default.
                let detail = detail.strip_prefix(&format!("{}: ", tried.model)).unwrap_or(&detail).to_owned();
                ModelTrouble { kind, message, detail }
            });
            ModelCheck { model: tried.model, trouble, models }
        })
    }

    fn platform(&self, def: AdapterDef, section: Value, language: Language) -> BoxFuture<'_, Vec<Probe>> {
        Box::pin(async move {
            let failed = |message: String| vec![Probe { level: ProbeLevel::Error, message, advice: None }];
            let section = match (def.parse)(section) {
                Ok(section) => section,
                Err(error) => return failed(words::section_invalid(error, language)),
            };
            let http = match self.http.client(section.server()) {
                Ok(http) => http,
                Err(error) => return failed(words::platform_unreachable(error, language)),
            };
            let with = ProbeParts { http, clock: self.clock.clone(), language };
            let probed = tokio::time::timeout(PLATFORM_DEADLINE, section.probe(with)).await;
            let mut found = probed
                .unwrap_or_else(|_| failed(words::platform_silent(PLATFORM_DEADLINE.as_secs(), language)));
            found.dedup();
            found
        })
    }
}
