//! The operator's choices for a tool. Their names in the file belong to the settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happens to a call that no rule knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It runs unasked.
    Allow,
    /// A person is asked first.
    #[default]
    Ask,
    /// It never runs.
    Deny,
}

/// What happens to a command line made of several commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Compound {
    /// A person is asked.
    #[default]
    Ask,
    /// Each part is judged by itself, and the worst verdict counts.
    Analyze,
}
