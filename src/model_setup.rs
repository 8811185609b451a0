//! Builds the models of the settings: for turns, for the agent's own chores, and those that people may choose.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::config::{Endpoint, ModelSettings, Provider, Settings};
use crate::environment::Environment;
use crate::http_client::Http;
use crate::model::{ModelKind, ModelSpec, Shared, build};
use crate::ports::{Clock, Ids, Model, RandomIds, SystemClock};
use crate::store::State;
use crate::threads::{RedactingModel, ThreadModel, ThreadModels};

/// The models of the settings.
pub(crate) struct BuiltModels {
    /// Answers where no other model was chosen.
    pub(crate) model: Arc<dyn Model>,
    /// For the agent's own chores.
    pub(crate) helper: Arc<dyn Model>,
    /// Those of `llm.models`.
    pub(crate) named: BTreeMap<String, Arc<dyn Model>>,
}

/// Builds the models of the settings. Does no IO.
pub(crate) fn models_of(
    settings: &ModelSettings,
    http: &Http,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn Ids>,
) -> BuiltModels {
    let model = model_with(settings, http, clock, ids);
    let helper = settings.helper.as_ref().map(|provider| {
        let shared = Shared { http: http.clone(), ids: ids.clone(), clock: clock.clone() };
        build(&model_kind(provider), &[], &shared)
    });
    let helper = helper.unwrap_or_else(|| model.clone());
    let fallbacks: Vec<ModelKind> = settings.fallbacks.iter().map(model_kind).collect();
    let named = settings.named.iter().map(|(name, provider)| {
        let shared = Shared { http: http.clone(), ids: ids.clone(), clock: clock.clone() };
        (name.clone(), build(&model_kind(provider), &fallbacks, &shared))
    });
    BuiltModels { model, helper, named: named.collect() }
}

/// The model of the settings. Does no IO.
pub(crate) fn model_of(settings: &ModelSettings) -> Arc<dyn Model> {
    let (clock, ids): (Arc<dyn Clock>, Arc<dyn Ids>) = (Arc::new(SystemClock), Arc::new(RandomIds));
    model_with(settings, &Http::new(), &clock, &ids)
}

fn model_with(
    settings: &ModelSettings,
    http: &Http,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn Ids>,
) -> Arc<dyn Model> {
    let shared = Shared { http: http.clone(), ids: ids.clone(), clock: clock.clone() };
    let fallbacks: Vec<ModelKind> = settings.fallbacks.iter().map(model_kind).collect();
    build(&model_kind(&settings.provider), &fallbacks, &shared)
}

fn model_kind(provider: &Provider) -> ModelKind {
    match provider {
        Provider::Offline => ModelKind::Offline,
        Provider::OpenAi(endpoint) => ModelKind::Server(model_spec(endpoint)),
    }
}

fn model_spec(endpoint: &Endpoint) -> ModelSpec {
    ModelSpec {
        base_url: endpoint.base_url.clone(),
        api_key: endpoint.api_key.clone(),
        model: endpoint.model.clone(),
        timeout: endpoint.timeout,
        send_reasoning: endpoint.send_reasoning,
        max_output_tokens: endpoint.max_output_tokens,
        at_caps: endpoint.at_caps,
        temperature: endpoint.temperature,
    }
}

/// The models of threads, with the choices of earlier daemons.
pub(crate) fn thread_models(settings: &Settings, state: &State, environment: &Environment) -> ThreadModels {
    let patience = |provider: &Provider| match provider {
        Provider::Offline => Duration::from_secs(60),
        // A model call has its own time-outs; this is a backstop.
        Provider::OpenAi(endpoint) => endpoint.timeout.saturating_mul(12),
    };
    let fallbacks: Duration = settings.model.fallbacks.iter().map(patience).sum();
    let limited = |model: &Arc<dyn Model>, provider: &Provider, context_tokens: u64| ThreadModel {
        model: Arc::new(RedactingModel::new(model.clone(), &environment.shell.redactor)),
        context_tokens: usize::try_from(context_tokens).unwrap_or(usize::MAX),
        deadline: patience(provider) + fallbacks,
    };
    let named = settings.model.named.iter().filter_map(|(name, provider)| {
        let tokens = match provider {
            Provider::OpenAi(endpoint) => endpoint.context_tokens,
            Provider::Offline => settings.model.context_tokens,
        };
        Some((name.clone(), limited(environment.named.get(name)?, provider, tokens)))
    });
    let default = limited(&environment.model, &settings.model.provider, settings.model.context_tokens);
    ThreadModels::new(default, named.collect(), settings.model.choosers, state.notes.nested("models"))
}

/// How much the model for the agent's own chores can read.
pub(crate) fn helper_window(settings: &ModelSettings) -> usize {
    let tokens = match &settings.helper {
        Some(Provider::OpenAi(endpoint)) => endpoint.context_tokens,
        Some(Provider::Offline) | None => settings.context_tokens,
    };
    usize::try_from(tokens).unwrap_or(usize::MAX)
}
