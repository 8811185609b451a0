//! The port of the checks that `shipagent doctor` makes, for the console.

use schemars::JsonSchema;
use serde::Serialize;

use super::BoxFuture;
use crate::domain::Language;

/// One finding, in the operator's language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// What was checked: `model`, `disk`.
    pub check: String,
    /// `ok`, `warning` or `error`.
    pub status: String,
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Checks everything that the agent needs.
pub trait Checkup: Send + Sync + std::fmt::Debug {
    /// Runs all checks, and says in this language what was found; some ask servers. The caller sets the deadline.
    fn run(&self, language: Language) -> BoxFuture<'_, Vec<Finding>>;
}
