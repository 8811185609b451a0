//! The port of the onboarding: the first configuration of a project, made in the console.

use std::fmt;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::{BoxFuture, Probe};
use crate::domain::{ErrorKind, Language};

/// How the console presents the onboarding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnboardingMode {
    /// The console opens it: nothing in the project was written by its owner.
    Opened,
    /// The console offers it beside the chat.
    Offered,
}

/// What the steps offer, in the language of the request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OnboardingOffer {
    /// The steps in their order.
    pub steps: Vec<&'static str>,
    /// The proposed name of the agent.
    pub name: String,
    pub providers: Vec<OfferedProvider>,
    pub platforms: Vec<OfferedPlatform>,
}

/// A provider of models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfferedProvider {
    pub id: &'static str,
    pub title: String,
    /// Empty where the person gives it.
    pub base_url: &'static str,
    /// The proposed model; empty where there is none.
    pub model: &'static str,
    pub needs_key: bool,
    /// The page on which a key is made.
    pub keys_at: &'static str,
    /// The variable of the key that the daemon's environment or `.env` has.
    pub key_in: Option<String>,
}

/// A chat platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfferedPlatform {
    pub name: &'static str,
    pub title: &'static str,
    pub keys: Vec<OfferedKey>,
}

/// One value that a platform needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfferedKey {
    pub key: &'static str,
    /// The question, or the name of the variable.
    pub label: String,
    /// Whether the value is hidden and stored in `.env`.
    pub secret: bool,
    pub default: &'static str,
}

/// The model that a person chose.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelChoice {
    /// The id of an [`OfferedProvider`].
    pub provider: String,
    /// Absent: the provider's.
    #[serde(default)]
    pub base_url: Option<String>,
    /// Absent: the provider's.
    #[serde(default)]
    pub model: Option<String>,
    /// Absent: the one in the environment or in `.env`, if there is one.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub key: Option<SecretString>,
}

/// A value for one key of a platform's section.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlatformValue {
    pub key: String,
    #[schemars(with = "String", extend("writeOnly" = true))]
    pub value: SecretString,
}

/// The chat platform that a person chose.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlatformChoice {
    /// The name of an [`OfferedPlatform`].
    pub name: String,
    #[serde(default)]
    pub values: Vec<PlatformValue>,
}

/// All answers of the onboarding. What is absent was skipped.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OnboardingAnswers {
    #[serde(default)]
    pub language: Option<Language>,
    #[serde(default)]
    pub name: Option<String>,
    /// What the agent is for, for a new `Agent.md`.
    #[serde(default)]
    pub purpose: Option<String>,
    #[serde(default)]
    pub model: Option<ModelChoice>,
    #[serde(default)]
    pub platform: Option<PlatformChoice>,
}

/// What a model's server said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCheck {
    /// The model that was called.
    pub model: String,
    /// Absent: the call succeeded.
    pub trouble: Option<ModelTrouble>,
    /// The chat models that the server lists; empty where it lists none.
    pub models: Vec<String>,
}

impl ModelCheck {
    /// Whether the server refused the request and lists its models: the key is right, the model is not.
    pub fn lists_others(&self) -> bool {
        let refused = self.trouble.as_ref().is_some_and(|trouble| trouble.kind == ErrorKind::BadRequest);
        refused && !self.models.is_empty()
    }
}

/// Why the call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelTrouble {
    pub kind: ErrorKind,
    /// What is wrong, in the person's language.
    pub message: String,
    /// What the server or the network said, without the key.
    pub detail: String,
}

/// Why answers cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OnboardingError {
    /// An answer is not valid; why, in the person's language.
    #[error("{field}: {why}")]
    Invalid { field: &'static str, why: String },
    /// The project has a `ship.json` by now.
    #[error("the project has a ship.json already")]
    Configured,
    /// A file cannot be written.
    #[error("{0}")]
    NotWritten(String),
}

/// The first configuration of a project that has no `ship.json`.
pub trait Onboarding: Send + Sync + fmt::Debug {
    fn mode(&self) -> OnboardingMode;

    fn offer(&self, language: Language) -> OnboardingOffer;

    /// Calls the model once and lists the server's models. Ends in bounded time and stores nothing.
    fn check_model(
        &self,
        choice: ModelChoice,
        language: Language,
    ) -> BoxFuture<'_, Result<ModelCheck, OnboardingError>>;

    /// Asks the platform for the bot's identity. Ends in bounded time, sends nothing to people and stores nothing.
    fn check_platform(
        &self,
        choice: PlatformChoice,
        language: Language,
    ) -> BoxFuture<'_, Result<Vec<Probe>, OnboardingError>>;

    /// Writes the files, `ship.json` last, and has the daemon start over with them.
    fn apply(
        &self,
        answers: OnboardingAnswers,
        language: Language,
    ) -> BoxFuture<'_, Result<(), OnboardingError>>;
}
