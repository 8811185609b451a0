//! The `memory` section of `ship.json`.

use schemars::JsonSchema;
use serde::Deserialize;

/// The `memory` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MemoryFile {
    /// A conversation is shown core memory as it was when it began. After this many minutes of silence it is read anew.
    #[schemars(range(min = 0, max = 100_000))]
    pub refresh_minutes: u64,
}

impl Default for MemoryFile {
    fn default() -> Self {
        Self { refresh_minutes: 60 }
    }
}
