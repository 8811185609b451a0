//! The `llm` section of `ship.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::domain::ModelChoosers;

/// The server that is asked where the file names no other.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// Which kind of model answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderChoice {
    /// `openai` when an API key or another base URL is given, else `offline`.
    #[default]
    Auto,
    /// Any server that speaks the OpenAI chat protocol.
    Openai,
    /// The small built-in model: no network, no key, for trying things out.
    Offline,
}

/// The `llm` section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LlmFile {
    /// Which kind of model answers.
    pub provider: ProviderChoice,
    /// The server's address, up to and including /v1 where it has one.
    #[schemars(extend("format" = "http-url"))]
    pub base_url: String,
    /// The key, best as ${VAR}. Servers of your own may need none.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub api_key: Option<SecretString>,
    /// The model's name, as the server calls it.
    #[schemars(length(min = 1))]
    pub model: String,
    /// How many tokens fit into the model's window.
    #[schemars(range(min = 512, max = 100_000_000))]
    pub context_tokens: u64,
    /// How many times the model may be called in one turn.
    #[schemars(range(min = 1, max = 1000))]
    pub max_steps: u32,
    /// How many seconds one call may take.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_secs: u64,
    /// Whether the model's earlier thinking is sent back to it in a tool loop; some servers demand it.
    pub send_reasoning: bool,
    /// How freely the model chooses its words. Without it, the server's default.
    #[schemars(range(min = 0, max = 2))]
    pub temperature: Option<f64>,
    /// The longest answer in tokens. Without it, the server's default.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub max_output_tokens: Option<u32>,
    /// Models that are asked, in this order, when the one above fails.
    pub fallbacks: Vec<FallbackFile>,
    /// A cheaper model for the agent's own chores, such as summing up long conversations. Left out: the one above.
    pub helper: Option<FallbackFile>,
    /// Whether the helper gives each conversation a title after its first answer, in one short call. Without `llm.helper`, and
    /// where a person has named it, the first message stays the title.
    pub titles: bool,
    /// Further models by name, for `/model NAME` and for the `model` of a task. When one fails, the fallbacks are asked.
    pub models: BTreeMap<String, FallbackFile>,
    /// Who may choose among them in a conversation.
    pub model_choice: ModelChoosers,
}

impl Default for LlmFile {
    fn default() -> Self {
        Self {
            provider: ProviderChoice::Auto,
            base_url: DEFAULT_BASE_URL.to_owned(),
            api_key: None,
            model: "gpt-6-luna".to_owned(),
            context_tokens: 128_000,
            max_steps: 40,
            timeout_secs: 120,
            send_reasoning: true,
            temperature: None,
            max_output_tokens: None,
            fallbacks: Vec::new(),
            helper: None,
            titles: false,
            models: BTreeMap::new(),
            model_choice: ModelChoosers::default(),
        }
    }
}

/// A further model. What is left out is taken from the `llm` section, but for the key: that one is only shared
/// when the server is.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FallbackFile {
    /// Which kind of model answers.
    pub provider: ProviderChoice,
    /// The server's address, up to and including /v1 where it has one.
    #[schemars(extend("format" = "http-url"))]
    pub base_url: Option<String>,
    /// The key, best as ${VAR}.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    pub api_key: Option<SecretString>,
    /// The model's name, as the server calls it.
    #[schemars(length(min = 1))]
    pub model: Option<String>,
    /// How many tokens fit into the model's window.
    #[schemars(range(min = 512, max = 100_000_000))]
    pub context_tokens: Option<u64>,
    /// Allowed so that a section can be copied whole; steps are counted by the `llm` section's own.
    #[schemars(range(min = 1, max = 1000))]
    pub max_steps: Option<u32>,
    /// How many seconds one call may take.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_secs: Option<u64>,
    /// Whether the model's earlier thinking is sent back to it in a tool loop.
    pub send_reasoning: Option<bool>,
    /// How freely the model chooses its words.
    #[schemars(range(min = 0, max = 2))]
    pub temperature: Option<f64>,
    /// The longest answer in tokens.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub max_output_tokens: Option<u32>,
    /// Whether it is called when the model above does not fit into a spend cap and budget.onLimit is "fallback".
    pub budget: Option<bool>,
}
