//! The `permissions` section of `ship.json`: a part per tool.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::{Compound, Mode};

/// The `permissions` section. The schema also lists a key for each tool of this binary; other names are accepted,
/// since servers can add tools of their own.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PermissionsFile {
    /// Shell commands.
    pub exec_shell: ExecShellFile,
    /// Any other tool, by its name.
    #[serde(flatten)]
    pub tools: BTreeMap<String, ToolFile>,
}

/// What a tool may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ToolFile {
    /// Whether a call runs, asks or is refused.
    pub mode: Mode,
}

/// The `permissions.exec_shell` section.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExecShellFile {
    /// Whether a command that no rule knows runs, asks or is refused.
    pub mode: Mode,
    /// Commands that run unasked, such as "git status".
    #[schemars(extend("items" = serde_json::json!({ "type": "string", "minLength": 1, "format": "command-start" })))]
    pub allow: Vec<String>,
    /// Commands that never run, whatever else allows them.
    #[schemars(extend("items" = serde_json::json!({ "type": "string", "minLength": 1, "format": "command-start" })))]
    pub deny: Vec<String>,
    /// What happens to commands made of several.
    pub compound: Compound,
    /// Whether commands run in the system's sandbox.
    pub sandbox: Sandbox,
    /// Sockets of other programs that approved commands may connect to, such as "/run/docker.sock": absolute paths
    /// of sockets or of folders with sockets. All others outside the project are out of reach.
    #[schemars(extend("items" = serde_json::json!({ "type": "string", "format": "socket-path" })))]
    pub sockets: Vec<String>,
    /// How many seconds a command may take.
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_secs: u64,
}

impl Default for ExecShellFile {
    fn default() -> Self {
        Self {
            mode: Mode::Ask,
            allow: Vec::new(),
            deny: Vec::new(),
            compound: Compound::default(),
            sandbox: Sandbox::default(),
            sockets: Vec::new(),
            timeout_secs: 120,
        }
    }
}

/// Whether commands run in the system's sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    /// Where the kernel has one.
    #[default]
    Auto,
    /// Always; where there is none, nothing runs.
    Require,
    /// Never.
    Off,
}
