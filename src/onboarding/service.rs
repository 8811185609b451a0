//! The onboarding of a running daemon, for the console.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use super::checks::Checks;
use super::choices::{Known, NewProject, is_template, model_answer, section_of};
use super::project_files::{IfExists, OverwriteRules, WriteResult, write_project};
use super::providers::PROVIDERS;
use super::steps::{OnboardingStep, steps_of};
use crate::config::{Env, Settings, project_env};
use crate::domain::Language;
use crate::phrases::onboarding as words;
use crate::ports::{
    AdapterTable, BoxFuture, InitValue, ModelCheck, ModelChoice, OfferedKey, OfferedPlatform,
    OfferedProvider, Onboarding, OnboardingAnswers, OnboardingError, OnboardingMode, OnboardingOffer,
    PlatformChoice, Probe,
};

/// The onboarding of a project that had no `ship.json` when its daemon started.
#[derive(Clone, Debug)]
pub(crate) struct ProjectOnboarding {
    project: PathBuf,
    /// The proposed name.
    name: String,
    mode: OnboardingMode,
    own_agent_md: bool,
    env: Env,
    adapters: AdapterTable,
    checks: Arc<dyn Checks>,
    /// Becomes true when the daemon should start over.
    applied: watch::Sender<bool>,
}

impl ProjectOnboarding {
    /// `None` where the project has a `ship.json`.
    pub(crate) fn of(
        settings: &Settings,
        env: &Env,
        adapters: &AdapterTable,
        checks: Arc<dyn Checks>,
        applied: watch::Sender<bool>,
    ) -> Option<Self> {
        let own_agent_md = !is_template(&settings.agent_md);
        let mode = if own_agent_md { OnboardingMode::Offered } else { OnboardingMode::Opened };
        (!settings.has_file).then(|| Self {
            project: settings.project.clone(),
            name: settings.name.clone(),
            mode,
            own_agent_md,
            env: env.clone(),
            adapters: adapters.clone(),
            checks,
            applied,
        })
    }

    /// Reads an answer with what the environment and `.env` have now.
    fn with_known<T>(&self, language: Language, read: impl FnOnce(Known<'_>) -> T) -> T {
        let env = project_env(&self.project, &self.env);
        read(Known { process: &self.env, env: &env, adapters: &self.adapters, language })
    }

    fn write(&self, answers: &OnboardingAnswers, language: Language) -> Result<(), OnboardingError> {
        if self.project.join("ship.json").symlink_metadata().is_ok() {
            return Err(OnboardingError::Configured);
        }
        let project = self.with_known(language, |known| NewProject::of(answers, &self.name, known))?;
        let agent_md = if self.own_agent_md { IfExists::Keep } else { IfExists::Replace };
        let rules = OverwriteRules { agent_md, ship_json: IfExists::Keep, env_example: IfExists::Keep };
        let written = write_project(&self.project, &project, rules).map_err(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "onboarding not written");
            OnboardingError::NotWritten(words::cannot_write(error.path.display(), error.source, language))
        })?;
        tracing::info!("onboarding written");
        let kept = written.iter().any(|(name, result)| *name == "ship.json" && *result == WriteResult::Kept);
        if kept { Err(OnboardingError::Configured) } else { Ok(()) }
    }
}

impl Onboarding for ProjectOnboarding {
    fn mode(&self) -> OnboardingMode {
        self.mode
    }

    fn offer(&self, language: Language) -> OnboardingOffer {
        let env = project_env(&self.project, &self.env);
        let providers = PROVIDERS.iter().map(|def| OfferedProvider {
            id: def.id,
            title: def.title(language).to_owned(),
            base_url: def.base_url,
            model: def.model,
            needs_key: def.needs_key,
            keys_at: def.keys_at,
            key_in: env.filled(def.key_variable).map(|_| def.key_variable.to_owned()),
        });
        let platforms = self.adapters.iter().map(|def| OfferedPlatform {
            name: def.name,
            title: def.title,
            keys: def
                .init
                .iter()
                .filter_map(|init| match init.value {
                    InitValue::Variable(name) => {
                        Some(OfferedKey { key: init.key, label: name.to_owned(), secret: true, default: "" })
                    }
                    InitValue::Json(_) => None,
                    InitValue::Ask { en, zh, default } => {
                        let label = if language == Language::Zh { zh } else { en };
                        Some(OfferedKey { key: init.key, label: label.to_owned(), secret: false, default })
                    }
                })
                .collect(),
        });
        OnboardingOffer {
            steps: steps_of(self.own_agent_md).map(OnboardingStep::name).collect(),
            name: self.name.clone(),
            providers: providers.collect(),
            platforms: platforms.collect(),
        }
    }

    fn check_model(
        &self,
        choice: ModelChoice,
        language: Language,
    ) -> BoxFuture<'_, Result<ModelCheck, OnboardingError>> {
        Box::pin(async move {
            let tried = self.with_known(language, |known| model_answer(&choice, known))?;
            Ok(self.checks.model(tried, language).await)
        })
    }

    fn check_platform(
        &self,
        choice: PlatformChoice,
        language: Language,
    ) -> BoxFuture<'_, Result<Vec<Probe>, OnboardingError>> {
        Box::pin(async move {
            let tried = self.with_known(language, |known| section_of(&choice, known))?;
            if !tried.missing.is_empty() {
                let why = words::values_missing(&tried.missing.join(", "), language);
                return Err(OnboardingError::Invalid { field: "platform", why });
            }
            Ok(self.checks.platform(tried.section.def, tried.filled, language).await)
        })
    }

    fn apply(
        &self,
        answers: OnboardingAnswers,
        language: Language,
    ) -> BoxFuture<'_, Result<(), OnboardingError>> {
        Box::pin(async move {
            let writer = self.clone();
            let written = tokio::task::spawn_blocking(move || writer.write(&answers, language)).await;
            written.unwrap_or_else(|error| Err(OnboardingError::NotWritten(error.to_string())))?;
            self.applied.send_replace(true);
            Ok(())
        })
    }
}
