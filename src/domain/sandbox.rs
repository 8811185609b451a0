//! The state of the sandbox, as reported to people.

use serde::Serialize;

/// The level of isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
