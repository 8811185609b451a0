//! The `memory` section of `ship.json`.

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::Deserialize;

use crate::domain::{AutoMemory, DmScope, HistoryReach};

/// The `memory` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MemoryFile {
    /// Which memory direct chats use: one per person and platform, one per person over the platforms that `identities`
    /// links, or one for all.
    pub dm_scope: DmScope,
    /// How far the agent may search what was said: in the thread it is asked in, or in all direct chats of the person.
    pub history: HistoryReach,
    /// Whether notes and earlier messages that fit to what a person says are shown to the model before it answers.
    pub recall: bool,
    /// A conversation is shown core memory as it was when it began. After this many minutes of silence it is read anew.
    #[schemars(range(min = 0, max = 100_000))]
    pub refresh_minutes: u64,
    /// How many of the newest turns are never summed up.
    #[schemars(range(min = 1, max = 100))]
    pub keep_runs: usize,
    /// A conversation that fills this many percent of the window is summed up once nothing else is to be done.
    #[schemars(range(min = 10, max = 100))]
    pub compact_idle_percent: usize,
    /// One that would fill this many percent is summed up before the model is asked.
    #[schemars(range(min = 10, max = 100))]
    pub compact_percent: usize,
    /// After how many turns of people a conversation is searched for what is worth remembering; 0 is never. Left out: what
    /// Agent.md says, such as "distil every 30 turns", else 30.
    #[schemars(range(min = 0, max = 10_000))]
    pub distil_every: Option<u32>,
    /// What the agent may learn without being asked to: `off` is nothing, `propose` keeps notes, which are only searched,
    /// and asks once which of them go into core memory, `write` writes core memory unasked in the owners' own direct chats.
    pub auto: AutoMemory,
    /// A model that finds texts by their meaning as well. Left out: by words alone.
    pub embeddings: Option<EmbeddingsFile>,
}

/// An embedding model. What is left out is taken from the `llm` section, but for the key: that one is only shared when the
/// server is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EmbeddingsFile {
    /// Whether it is asked.
    pub enabled: bool,
    /// The server's address, up to and including /v1 where it has one.
    #[schemars(extend("format" = "http-url"))]
    pub base_url: Option<String>,
    /// The key, best as ${VAR}.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub api_key: Option<SecretString>,
    /// The model's name, as the server calls it.
    #[schemars(length(min = 1))]
    pub model: String,
    /// How many numbers a vector has. Left out: as many as the model makes.
    #[schemars(range(min = 8, max = 8192))]
    pub dimensions: Option<u32>,
}

impl Default for MemoryFile {
    fn default() -> Self {
        Self {
            dm_scope: DmScope::default(),
            history: HistoryReach::default(),
            recall: true,
            refresh_minutes: 60,
            keep_runs: 4,
            compact_idle_percent: 70,
            compact_percent: 90,
            distil_every: None,
            auto: AutoMemory::Propose,
            embeddings: None,
        }
    }
}

impl Default for EmbeddingsFile {
    fn default() -> Self {
        Self {
            enabled: true,
            base_url: None,
            api_key: None,
            model: "text-embedding-3-small".to_owned(),
            dimensions: None,
        }
    }
}
