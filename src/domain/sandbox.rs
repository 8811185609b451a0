//! What keeps commands in, as people are told it.

use serde::Serialize;

/// How well commands are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxLevel {
    Full,
    /// Kept in, with the gaps that the reasons name.
    Partial,
    /// Not at all: this machine has nothing to do it with.
    Unavailable,
    /// Not at all: the operator wants it so.
    Off,
}

/// What keeps commands in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxReport {
    pub level: SandboxLevel,
    /// By what, in a word: `namespaces`, `rules`, `nothing`.
    pub by: &'static str,
    /// The version of Landlock; 0 without.
    pub landlock: u8,
    /// Whether commands do not run at all where nothing keeps them in.
    pub required: bool,
    /// Why it is not more.
    pub reasons: Vec<String>,
}
