//! States that people are shown: of a thread, and of the sandbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The level of isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxLevel {
    Full,
    /// Isolated, except for the gaps in `reasons`.
    Partial,
    /// Not isolated: this machine has no means for it.
    Unavailable,
    /// Not isolated: turned off in the settings.
    Off,
}

/// The state of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxReport {
    pub level: SandboxLevel,
    /// The mechanism: `namespaces`, `rules`, `nothing`.
    pub by: &'static str,
    /// The Landlock version; 0 without Landlock.
    pub landlock: u8,
    /// Whether commands are refused where there is no isolation.
    pub required: bool,
    /// Why the level is not higher.
    pub reasons: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadState {
    /// Idle; the next message starts a turn.
    #[default]
    Idle,
    /// A turn is in flight.
    Running,
    /// A turn waits for an approval.
    AwaitingApproval,
}
