//! The top level of `ship.json`, and its small sections.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::{BudgetFile, GroupsFile, LlmFile, MemoryFile, PermissionsFile, VoiceFile};
use crate::domain::{ReadReplies, WhileRunning, WhileWaiting};

/// Configuration of a shipagent project. Comments and trailing commas are allowed; `${VAR}` and
/// `${VAR:-default}` in any text stand for variables of the environment or of the project's `.env`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ShipFile {
    /// The JSON Schema of this file, for editors.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// The agent's name. Without it, the name of the project directory.
    #[schemars(length(min = 1, max = 80))]
    pub name: Option<String>,
    /// The language of the daemon's own words; auto follows the people who write.
    pub language: LanguageChoice,
    /// The time zone of tasks and dates, such as Asia/Shanghai. Without it, that of the machine.
    #[schemars(extend("format" = "time-zone"))]
    pub timezone: Option<String>,
    /// The people the agent belongs to, as platform:user:id. They may approve what the agent asks for.
    #[schemars(extend("items" = serde_json::json!({ "type": "string", "format": "author-id" })))]
    pub owners: Vec<String>,
    /// Which identities belong to one person: a name, and ids such as telegram:user:123456. Used by memory.dmScope
    /// "per-peer".
    #[schemars(extend("additionalProperties" = serde_json::json!({
        "type": "array", "items": { "type": "string", "format": "author-id" },
    })))]
    pub identities: BTreeMap<String, Vec<String>>,
    /// The language model.
    pub llm: LlmFile,
    /// Where people talk to the agent. An adapter runs when its section is here and its credentials are set.
    pub adapters: AdaptersFile,
    /// What each tool may do: a section per tool name.
    pub permissions: PermissionsFile,
    /// Who approves what the agent asks for, and for how long they are asked.
    pub approvals: ApprovalsFile,
    /// What happens to messages that arrive close together.
    pub queue: QueueFile,
    /// Bounds of the daemon.
    pub limits: LimitsFile,
    /// What is remembered, and how a conversation is kept inside the model's window.
    pub memory: MemoryFile,
    /// Groups with several agents.
    pub groups: GroupsFile,
    /// Spoken messages and spoken answers.
    pub voice: VoiceFile,
    /// What model calls may cost.
    pub budget: BudgetFile,
}

/// A language, or the choice to follow the people who write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LanguageChoice {
    /// The language of whoever writes.
    #[default]
    Auto,
    /// Chinese.
    Zh,
    /// English.
    En,
}

/// The `approvals` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ApprovalsFile {
    /// Who may decide: "requester", "owners", "admins", or ids such as telegram:user:123456.
    #[schemars(extend("items" = serde_json::json!({ "type": "string", "format": "approver" })))]
    pub approvers: Vec<String>,
    /// After how many minutes an undecided request lapses.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub expire_minutes: f64,
    /// What a new message does while a decision is awaited.
    pub while_waiting: WhileWaiting,
    /// Who reads a reply: rules alone, or also a model where the rules fail. A model never decides, it can only make
    /// the daemon ask back.
    pub read_replies: ReadReplies,
}

impl Default for ApprovalsFile {
    fn default() -> Self {
        Self {
            approvers: vec!["requester".to_owned(), "owners".to_owned()],
            expire_minutes: 1440.0,
            while_waiting: WhileWaiting::default(),
            read_replies: ReadReplies::default(),
        }
    }
}

/// The `queue` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct QueueFile {
    /// Messages this many milliseconds apart are answered together; 0 turns it off.
    #[schemars(range(min = 0, max = 2000))]
    pub merge_ms: u64,
    /// What a message does that arrives while a turn runs.
    pub while_running: WhileRunning,
}

impl Default for QueueFile {
    fn default() -> Self {
        Self { merge_ms: 600, while_running: WhileRunning::default() }
    }
}

/// The `limits` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LimitsFile {
    /// How many threads may work at the same time. Most of them wait for a model.
    #[schemars(range(min = 1, max = 1024))]
    pub max_concurrent_runs: usize,
    /// How many shell commands may run at the same time; further ones wait their turn.
    #[schemars(range(min = 1, max = 256))]
    pub max_processes: usize,
    /// How many messages may wait in one thread; more are refused with a word.
    #[schemars(range(min = 1, max = 65536))]
    pub mailbox: usize,
    /// How many megabytes of memory the histories of idle threads may take together.
    #[schemars(range(min = 1, max = 65536))]
    pub history_cache_mb: usize,
    /// How many seconds running turns get to end when the daemon is told to stop.
    #[schemars(range(min = 0, max = 600))]
    pub stop_secs: u64,
    /// How many megabytes of memory one command may use; left out, half of the machine's.
    #[schemars(range(min = 16, max = 16777216))]
    pub command_memory_mb: Option<u64>,
}

impl Default for LimitsFile {
    fn default() -> Self {
        Self {
            max_concurrent_runs: 256,
            max_processes: 8,
            mailbox: 256,
            history_cache_mb: 64,
            stop_secs: 10,
            command_memory_mb: None,
        }
    }
}

/// The `adapters` section, without the sections of the adapter table: those are read by their adapters.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AdaptersFile {
    /// The web console and the HTTP API; on unless turned off.
    pub web: WebFile,
}

/// The `adapters.web` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WebFile {
    /// Whether the console and the API are served. With no other adapter on, they are served anyway.
    pub enabled: bool,
    /// Address and port; port 0 takes a free one.
    #[schemars(extend("format" = "listen-address"))]
    pub listen: String,
    /// The token that opens the console and the API, best as ${VAR}. Without it, one is made and kept in .ship/run.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub token: Option<SecretString>,
    /// Further host names the console is reached by, for example behind a proxy.
    #[schemars(extend("items" = serde_json::json!({ "type": "string", "format": "host-name" })))]
    pub allowed_hosts: Vec<String>,
    /// Origins of other web pages that may call the API from a browser, such as `https://app.example.org`. They need the
    /// token like every client.
    #[schemars(extend("items" = serde_json::json!({ "type": "string", "format": "web-origin" })))]
    pub allowed_origins: Vec<String>,
}

impl Default for WebFile {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: "127.0.0.1:7717".to_owned(),
            token: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
        }
    }
}
