//! What a daemon depends on outside itself: models, clock, ids, the shell's variables, HTTP. Tests replace it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::ModelSettings;
use crate::http_client::Http;
use crate::model::ReloadableModel;
use crate::model_setup::{BuiltModels, models_of};
use crate::ports::{Clock, Ids, Model, RandomIds, SystemClock};
use crate::reload::ConfigSource;
use crate::telemetry::Redactor;

/// External dependencies of the daemon; tests replace them.
#[derive(Clone, Debug)]
pub struct Environment {
    pub model: Arc<dyn Model>,
    /// The model for the agent's own chores.
    pub helper: Arc<dyn Model>,
    /// The models of `llm.models`.
    pub named: BTreeMap<String, Arc<dyn Model>>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    pub shell: ShellEnvironment,
    pub http: Http,
    /// Takes up changed settings in `model`, `helper` and `named`; `None` where a test provides them.
    pub models: Option<ReloadableModels>,
    /// Where changed settings come from; `None` keeps the first ones.
    pub source: Option<ConfigSource>,
}

/// The models of an environment, to be replaced when their settings change.
#[derive(Clone, Debug)]
pub struct ReloadableModels {
    pub model: Arc<ReloadableModel>,
    pub helper: Arc<ReloadableModel>,
    /// The models of `llm.models`.
    pub named: BTreeMap<String, Arc<ReloadableModel>>,
}

impl ReloadableModels {
    /// The models of an environment. Those that a test provides are not replaced.
    pub(crate) fn of(environment: &Environment) -> Self {
        environment.models.clone().unwrap_or_else(|| Self {
            model: ReloadableModel::new(environment.model.clone()),
            helper: ReloadableModel::new(environment.helper.clone()),
            named: BTreeMap::new(),
        })
    }
}

/// Environment variables and redaction for commands.
#[derive(Clone, Debug)]
pub struct ShellEnvironment {
    /// The daemon's environment; commands get only a small part of it.
    pub environment: Vec<(String, String)>,
    /// Redacts secrets from command output.
    pub redactor: Redactor,
}

impl Environment {
    /// The production environment for these settings. Does no IO.
    pub fn real(settings: &ModelSettings, shell: ShellEnvironment) -> Self {
        let (clock, ids): (Arc<dyn Clock>, Arc<dyn Ids>) = (Arc::new(SystemClock), Arc::new(RandomIds));
        let http = Http::new();
        let BuiltModels { model, helper, named } = models_of(settings, &http, &clock, &ids);
        let (model, helper) = (ReloadableModel::new(model), ReloadableModel::new(helper));
        let named = named.into_iter().map(|(name, model)| (name, ReloadableModel::new(model)));
        let models = ReloadableModels { model, helper, named: named.collect() };
        let named = models.named.iter().map(|(name, model)| (name.clone(), model.clone() as Arc<dyn Model>));
        Self {
            model: models.model.clone(),
            helper: models.helper.clone(),
            named: named.collect(),
            clock,
            ids,
            shell,
            http,
            models: Some(models),
            source: None,
        }
    }

    /// The same, with settings that are read again when their files change.
    #[must_use]
    pub fn reading(self, source: ConfigSource) -> Self {
        Self { source: Some(source), ..self }
    }
}
