//! Takes up changes of `ship.json` and `.env` while the daemon runs, and changes these files for the console.
//!
//! An invalid file changes nothing: the settings before it still count, and its mistakes are reported. Keys that are read
//! once, at the start, are named.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::adapter_setup::{AdapterInput, build_adapter};
use crate::adapters::ReloadableAdapter;
use crate::config::{
    ConfigEdit, ConfigErrors, ConfigProblem, ConfigWriteError, Env, FileStamps, KeyDigests, NewValue,
    Settings, describe_config, is_editable, needs_restart, write_config,
};
use crate::domain::{Language, Owners};
use crate::environment::ReloadableModels;
use crate::group_setup;
use crate::http_client::Http;
use crate::metrics::Metrics;
use crate::model_setup::{BuiltModels, models_of};
use crate::policy::shell::BadRule;
use crate::policy_setup::{project_judge, redact, rights};
use crate::ports::{
    Adapter as _, AdapterTable, BoxFuture, Clock, Configuration, ConfigurationChanged, ConfigurationError,
    ConfigurationKeys, ConfigurationProblem, ConfigurationState, EnrichStep, Ids, KeyChange, Model as _,
    Tasks, ToolBox,
};
use crate::sandbox::ProbeResult;
use crate::store::State;
use crate::telemetry::Redactor;
use crate::threads::{ApprovalRules, Groups, Learning, RecallSettings, Runtime, TurnSettings};
use crate::turn::CompactionRules;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Where the configuration comes from.
#[derive(Clone, Debug)]
pub struct ConfigSource {
    pub project: PathBuf,
    /// The environment of the process, without `.env`.
    pub env: Env,
    pub adapters: AdapterTable,
}

/// The parts that take up new settings.
pub(crate) struct LiveParts {
    pub(crate) models: ReloadableModels,
    pub(crate) owners: Owners,
    pub(crate) http: Http,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) redactor: Redactor,
    pub(crate) tools: ToolBox,
    pub(crate) state: State,
    pub(crate) tasks: Arc<dyn Tasks>,
    pub(crate) sandbox: ProbeResult,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) enrich: Arc<[Arc<dyn EnrichStep>]>,
    pub(crate) groups: Arc<Groups>,
    /// The chat platforms that run.
    pub(crate) adapters: BTreeMap<&'static str, Arc<ReloadableAdapter>>,
}

/// The configuration of a running daemon. Clones share it.
#[derive(Clone)]
pub(crate) struct LiveConfiguration(Arc<Inner>);

struct Inner {
    /// `None` where the settings were made by a program.
    source: Option<ConfigSource>,
    parts: LiveParts,
    /// Set once the threads are there.
    runtime: OnceLock<Arc<Runtime>>,
    started: KeyDigests,
    taken_up: Mutex<TakenUp>,
    /// One reading at a time.
    turn: Semaphore,
}

/// What the daemon runs with.
struct TakenUp {
    /// The files as they were read last.
    stamps: Option<FileStamps>,
    digests: KeyDigests,
    secrets: Vec<SecretString>,
    state: ConfigurationState,
}

impl std::fmt::Debug for LiveConfiguration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveConfiguration").field("source", &self.0.source).finish_non_exhaustive()
    }
}

/// The settings of threads.
pub(crate) fn turn_settings(settings: &Settings, parts: &LiveParts) -> Result<TurnSettings, BadRule> {
    let judge = project_judge(
        settings,
        &parts.tools,
        parts.clock.clone(),
        &parts.state,
        parts.tasks.clone(),
        redact(&parts.redactor),
        parts.sandbox.clone(),
    )?;
    Ok(TurnSettings {
        judge: Arc::new(judge),
        scopes: settings.memory.scopes.clone(),
        recall: RecallSettings { quiet: settings.memory.recall, reach: settings.memory.history },
        compaction: CompactionRules {
            keep_runs: settings.memory.keep_runs,
            idle_percent: settings.memory.compact_idle_percent,
            call_percent: settings.memory.compact_percent,
        },
        // Only a model of its own is cheap enough for it.
        titles: settings.model.titles && settings.model.helper.is_some(),
        learning: Learning { auto: settings.memory.auto, distil_every: settings.memory.distil_every },
        approval_rules: ApprovalRules {
            rights: rights(settings),
            expire: settings.approvals.expire,
            while_waiting: settings.approvals.while_waiting,
            read_replies: settings.approvals.read_replies,
        },
        language: settings.language,
        max_steps: settings.model.max_steps,
        merge_ms: u64::try_from(settings.queue.merge.as_millis()).unwrap_or(u64::MAX),
        while_running: settings.queue.while_running,
    })
}

impl LiveConfiguration {
    /// `token` is the one of the console, a secret that is in no file.
    pub(crate) fn new(
        source: Option<ConfigSource>,
        settings: &Settings,
        token: Option<&SecretString>,
        parts: LiveParts,
    ) -> Self {
        let taken_up = TakenUp {
            stamps: None,
            digests: settings.digests.clone(),
            secrets: settings.secrets.iter().chain(token).cloned().collect(),
            state: ConfigurationState::default(),
        };
        Self(Arc::new(Inner {
            source,
            parts,
            runtime: OnceLock::new(),
            started: settings.digests.clone(),
            taken_up: Mutex::new(taken_up),
            turn: Semaphore::new(1),
        }))
    }

    pub(crate) fn parts(&self) -> &LiveParts {
        &self.0.parts
    }

    /// Gives new settings to these threads.
    pub(crate) fn serve(&self, runtime: Arc<Runtime>) {
        // Called once, by the composition root.
        let _first = self.0.runtime.set(runtime).is_ok();
    }

    /// Takes up changes of the files until told to stop.
    pub(crate) async fn follow(self, stop: CancellationToken) {
        let Some(source) = &self.0.source else { return };
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            let project = source.project.clone();
            let found = tokio::task::spawn_blocking(move || FileStamps::of(&project)).await;
            if found.is_ok_and(|found| self.0.taken_up().stamps != Some(found)) {
                self.0.take_up().await;
            }
        }
    }
}

impl Inner {
    fn taken_up(&self) -> MutexGuard<'_, TakenUp> {
        self.taken_up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the files again and takes up what differs.
    async fn take_up(&self) {
        let (Some(source), Ok(_turn)) = (self.source.clone(), self.turn.acquire().await) else { return };
        let read = tokio::task::spawn_blocking(move || {
            // Before the files: a change in between is seen the next time.
            let stamps = FileStamps::of(&source.project);
            (stamps, Settings::load(&source.project, &source.env, &source.adapters))
        });
        let Ok((stamps, loaded)) = read.await else { return };
        let problems = match loaded {
            Ok(settings) => match self.apply(&settings) {
                Ok(()) => Vec::new(),
                Err(rule) => vec![problem_of_rule(&rule)],
            },
            Err(errors) => problems_of(&errors),
        };
        let mut taken_up = self.taken_up();
        taken_up.stamps = Some(stamps);
        if taken_up.state.problems != problems {
            for ConfigurationProblem { file, line, key, message, fix } in &problems {
                tracing::warn!(file, line, key, message, fix, "configuration invalid, earlier settings kept");
            }
        }
        taken_up.state.problems = problems;
    }

    fn apply(&self, settings: &Settings) -> Result<(), BadRule> {
        let changed = self.taken_up().digests.differing(&settings.digests);
        if !changed.is_empty() {
            self.learn_secrets(settings);
            let is_changed = |section: &str| changed.iter().any(|key| is_in(key, section));
            let turn_settings = turn_settings(settings, &self.parts)?;
            if is_changed("llm") {
                self.replace_models(settings);
            }
            if let Some(runtime) = self.runtime.get() {
                runtime.settings.replace(turn_settings);
            }
            if is_changed("owners") {
                self.parts.owners.replace(settings.owners.clone());
            }
            self.parts.groups.change(group_setup::changed_rules(settings, &self.parts.groups));
            if is_changed("groups") {
                self.tell_adapters_of_bots();
            }
        }
        let mut restart: Vec<String> = self.started.differing(&settings.digests);
        restart.retain(|key| needs_restart(key));
        restart.extend(self.fixed_models(settings));
        restart.extend(self.replace_adapters(settings, &changed));
        restart.sort();
        restart.dedup();
        if !changed.is_empty() {
            tracing::info!(changed = ?changed, restart = ?restart, "configuration read again");
        }
        let mut taken_up = self.taken_up();
        taken_up.digests = settings.digests.clone();
        taken_up.state.restart = restart;
        Ok(())
    }

    fn replace_models(&self, settings: &Settings) {
        let running = &self.parts.models;
        let BuiltModels { model, helper, mut named } =
            models_of(&settings.model, &self.parts.http, &self.parts.clock, &self.parts.ids);
        running.model.replace(model);
        running.helper.replace(helper);
        for (name, model) in &running.named {
            // A model whose name is gone answers its threads until the restart.
            if let Some(new) = named.remove(name) {
                model.replace(new);
            }
        }
    }

    /// Tells whether bots are heard. The others of a roster, if there is one, are told as they come and go.
    fn tell_adapters_of_bots(&self) {
        let groups = &self.parts.groups;
        if !groups.is_shared() {
            let peers = groups.unread_peers();
            self.parts.adapters.values().for_each(|adapter| adapter.know_peers(&peers));
        }
    }

    /// The models of `llm.models` that only a restart adds or removes.
    fn fixed_models(&self, settings: &Settings) -> Vec<String> {
        let (running, wanted) = (&self.parts.models.named, &settings.model.named);
        let gone = running.keys().filter(|name| !wanted.contains_key(*name));
        let new = wanted.keys().filter(|name| !running.contains_key(*name));
        gone.chain(new).map(|name| format!("llm.models.{name}")).collect()
    }

    /// Earlier secrets stay known: they may still be in texts.
    fn learn_secrets(&self, settings: &Settings) {
        let mut taken_up = self.taken_up();
        for secret in &settings.secrets {
            if !taken_up.secrets.iter().any(|known| known.expose_secret() == secret.expose_secret()) {
                taken_up.secrets.push(secret.clone());
            }
        }
        let secrets = taken_up.secrets.iter().map(ExposeSecret::expose_secret);
        if let Err(error) = self.parts.redactor.replace_secrets(secrets) {
            tracing::error!(%error, "new secrets are not redacted");
        }
    }

    /// Gives new settings to the platforms that run. Returns the platforms that only a restart starts or ends.
    fn replace_adapters(&self, settings: &Settings, changed: &[String]) -> Vec<String> {
        let input = AdapterInput {
            settings,
            state: self.parts.state.clone(),
            metrics: self.parts.metrics.clone(),
            clock: self.parts.clock.clone(),
            ids: self.parts.ids.clone(),
            http: self.parts.http.clone(),
            enrich: self.parts.enrich.clone(),
        };
        let of_all = ["owners", "approvals.approvers", "language"];
        let shared = changed.iter().any(|key| of_all.iter().any(|section| is_in(key, section)));
        let mut restart = Vec::new();
        for (name, running) in &self.parts.adapters {
            let section = format!("adapters.{name}");
            let Some(adapter) = settings.adapters.iter().find(|adapter| adapter.def.name == *name) else {
                restart.push(section);
                continue;
            };
            if !shared && !changed.iter().any(|key| is_in(key, &section)) {
                continue;
            }
            match build_adapter(&input, adapter) {
                Ok(Some(built)) if running.serves(&built) => running.replace(built),
                Ok(_) => restart.push(section),
                Err(error) => {
                    tracing::error!(adapter = name, %error, "adapter keeps its earlier settings");
                    restart.push(section);
                }
            }
        }
        let new =
            settings.adapters.iter().filter(|adapter| !self.parts.adapters.contains_key(adapter.def.name));
        restart.extend(new.map(|adapter| format!("adapters.{}", adapter.def.name)));
        restart
    }

    async fn change(&self, changes: Vec<KeyChange>) -> Result<ConfigurationChanged, ConfigurationError> {
        if let Some(fixed) = changes.iter().find(|change| !is_editable(&change.key)) {
            return Err(ConfigurationError::NotHere(fixed.key.clone()));
        }
        let Some(source) = self.source.clone() else { return Err(not_from_files()) };
        let edits: Vec<ConfigEdit> = changes
            .into_iter()
            .map(|KeyChange { key, value }| ConfigEdit {
                key,
                value: value.map_or(NewValue::Removed, NewValue::Json),
            })
            .collect();
        let work = move || write_config(&source.project, &source.env, &source.adapters, &edits);
        let written = tokio::task::spawn_blocking(work).await.map_err(|_| cut_off())?;
        let written = written.map_err(|error| match error {
            ConfigWriteError::Invalid { problems, language } => {
                ConfigurationError::Invalid(problems.iter().map(|problem| told(problem, language)).collect())
            }
            ConfigWriteError::Io { .. } => ConfigurationError::Failed(error.to_string()),
        })?;
        self.take_up().await;
        let state = self.taken_up().state.clone();
        Ok(ConfigurationChanged {
            changed: written.changed,
            variables: written.variables,
            overridden: written.overridden,
            state,
        })
    }

    async fn keys(&self) -> Result<ConfigurationKeys, ConfigurationError> {
        let Some(source) = self.source.clone() else { return Err(not_from_files()) };
        let work = move || describe_config(&source.project, &source.env, &source.adapters);
        let view = tokio::task::spawn_blocking(work).await.map_err(|_| cut_off())?;
        let keys = view.keys.iter().filter_map(|key| {
            let mut told = serde_json::to_value(key).ok()?;
            let facts = told.as_object_mut()?;
            facts.insert("restart".to_owned(), needs_restart(&key.key).into());
            facts.insert("editable".to_owned(), is_editable(&key.key).into());
            Some(self.redacted(told))
        });
        let keys = keys.collect();
        Ok(ConfigurationKeys { file: view.has_file, keys, state: self.taken_up().state.clone() })
    }

    /// A value without the secrets that texts may hold, such as the password in an address.
    fn redacted(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.parts.redactor.apply(&text).into_owned()),
            Value::Array(values) => values.into_iter().map(|value| self.redacted(value)).collect(),
            Value::Object(keys) => {
                Value::Object(keys.into_iter().map(|(key, value)| (key, self.redacted(value))).collect())
            }
            other => other,
        }
    }
}

impl Configuration for LiveConfiguration {
    fn state(&self) -> ConfigurationState {
        self.0.taken_up().state.clone()
    }

    fn model(&self) -> String {
        self.0.parts.models.model.name().to_owned()
    }

    fn keys(&self) -> BoxFuture<'_, Result<ConfigurationKeys, ConfigurationError>> {
        Box::pin(self.0.keys())
    }

    fn change(
        &self,
        changes: Vec<KeyChange>,
    ) -> BoxFuture<'_, Result<ConfigurationChanged, ConfigurationError>> {
        Box::pin(self.0.change(changes))
    }
}

fn is_in(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn not_from_files() -> ConfigurationError {
    ConfigurationError::Failed("the settings of this daemon come from no files".to_owned())
}

fn cut_off() -> ConfigurationError {
    ConfigurationError::Failed("the files could not be read".to_owned())
}

fn told(problem: &ConfigProblem, language: Language) -> ConfigurationProblem {
    let words = problem.words(language);
    ConfigurationProblem {
        file: problem.file.to_owned(),
        line: problem.at.and_then(|at| u64::try_from(at.line).ok()),
        key: problem.path.clone(),
        message: words.message,
        fix: words.fix,
    }
}

fn problems_of(errors: &ConfigErrors) -> Vec<ConfigurationProblem> {
    let agent_md = errors.agent_md.iter().map(|error| ConfigurationProblem {
        file: "Agent.md".to_owned(),
        line: None,
        key: String::new(),
        message: error.words(errors.language),
        fix: String::new(),
    });
    agent_md.chain(errors.problems.iter().map(|problem| told(problem, errors.language))).collect()
}

fn problem_of_rule(rule: &BadRule) -> ConfigurationProblem {
    ConfigurationProblem {
        file: "ship.json".to_owned(),
        line: None,
        key: "permissions.exec_shell".to_owned(),
        message: rule.to_string(),
        fix: String::new(),
    }
}
