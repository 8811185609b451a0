//! The configuration of the running daemon, for the operator's console.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::BoxFuture;

/// What the daemon runs with, and what it could not take up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationState {
    /// The changed keys that count only after a restart.
    pub restart: Vec<String>,
    /// Why the files are not used; the settings before them still count.
    pub problems: Vec<ConfigurationProblem>,
}

/// A mistake in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConfigurationProblem {
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(rename = "path")]
    pub key: String,
    pub message: String,
    pub fix: String,
}

/// A change of one key; `None` removes it from the file.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyChange {
    pub key: String,
    pub value: Option<Value>,
}

/// All keys, as the settings page shows them.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationKeys {
    /// Whether there is a `ship.json`.
    pub file: bool,
    /// One object for each key; secrets are left out.
    pub keys: Vec<Value>,
    #[serde(flatten)]
    pub state: ConfigurationState,
}

/// What a change did.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationChanged {
    pub changed: bool,
    /// The variables that were written to `.env`.
    pub variables: Vec<String>,
    /// Those of them that the environment of the daemon sets to something else, which counts.
    pub overridden: Vec<String>,
    #[serde(flatten)]
    pub state: ConfigurationState,
}

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    /// The files would be invalid.
    #[error("the configuration would be invalid")]
    Invalid(Vec<ConfigurationProblem>),
    /// This key is only changed on the machine itself.
    #[error("{0} is not changed here")]
    NotHere(String),
    #[error("{0}")]
    Failed(String),
}

/// The configuration files and what the daemon has taken up from them.
pub trait Configuration: Send + Sync + std::fmt::Debug {
    fn state(&self) -> ConfigurationState;

    /// The model that answers now.
    fn model(&self) -> String;

    fn keys(&self) -> BoxFuture<'_, Result<ConfigurationKeys, ConfigurationError>>;

    /// Makes all of these changes in the files, or none, and takes them up.
    fn change(
        &self,
        changes: Vec<KeyChange>,
    ) -> BoxFuture<'_, Result<ConfigurationChanged, ConfigurationError>>;
}
