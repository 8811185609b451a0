//! The `groups` section of `ship.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `groups` section: groups with several agents.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GroupsFile {
    /// A directory outside of the project, the same for all agents of this user on this machine, in which they share what
    /// is said in groups. Without it, agents hear only what the platform sends them.
    pub shared_dir: String,
    /// For how many days it keeps what was said.
    #[schemars(range(min = 1, max = 365))]
    pub keep_days: u64,
    /// What the agent is for, in a sentence for other agents. Without it, the first paragraph of Agent.md.
    #[schemars(length(max = 200))]
    pub purpose: String,
    /// Further names that people call the agent by.
    pub aliases: Vec<String>,
    /// Chats that no id joins, by a name that all agents give the same chat: each as "platform:account:chat", such as
    /// "qq:APP_ID:GROUP_OPENID".
    pub rooms: BTreeMap<String, Vec<String>>,
    /// Whether the agent answers other agents: never, or when they name it. Without sharedDir it hears few of them.
    pub bots: BotsChoice,
    /// How many messages of agents may follow each other before a person has to speak.
    #[schemars(range(min = 1, max = 5))]
    pub bot_depth: u32,
    /// How messages that name nobody are judged, where an adapter's `groups.respond` is "relevant".
    pub gate: GateFile,
}

impl Default for GroupsFile {
    fn default() -> Self {
        Self {
            shared_dir: String::new(),
            keep_days: 14,
            purpose: String::new(),
            aliases: Vec::new(),
            rooms: BTreeMap::new(),
            bots: BotsChoice::default(),
            bot_depth: 2,
            gate: GateFile::default(),
        }
    }
}

/// Whether the agent answers other agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BotsChoice {
    /// Named where sharedDir is set, else ignore.
    #[default]
    Auto,
    /// Never.
    Ignore,
    /// When they name it.
    Named,
}

/// The `groups.gate` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GateFile {
    /// How many milliseconds a message waits, so that several in a row are judged once.
    #[schemars(range(min = 0, max = 10_000))]
    pub settle_ms: u64,
    /// How sure the model has to be that the agent should answer, from 0 to 100.
    #[schemars(range(min = 0, max = 100))]
    pub threshold: u32,
}

impl Default for GateFile {
    fn default() -> Self {
        Self { settle_ms: 1_000, threshold: 60 }
    }
}
