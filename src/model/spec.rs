//! What has to be known of a server to ask its model.

use std::time::Duration;

use secrecy::SecretString;

/// A model on an OpenAI-compatible server.
#[derive(Clone, Debug)]
pub struct ModelSpec {
    /// The address up to the version, e.g. `https://api.openai.com/v1`.
    pub base_url: String,
    /// The key. Servers at home often want none.
    pub api_key: Option<SecretString>,
    /// The model's name on that server.
    pub model: String,
    /// How long to wait for the first word, all retries included, and between two signs of life after it.
    pub timeout: Duration,
    /// Whether the model's earlier thinking is sent back to it.
    pub send_reasoning: bool,
    /// How many tokens an answer may have; nothing leaves it to the server.
    pub max_output_tokens: Option<u32>,
    /// How freely words are chosen; nothing leaves it to the server.
    pub temperature: Option<f64>,
}

impl ModelSpec {
    /// A model without a key, with two minutes' patience.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: None,
            model: model.into(),
            timeout: Duration::from_secs(120),
            send_reasoning: true,
            max_output_tokens: None,
            temperature: None,
        }
    }

    /// The same with a key; an empty one counts as none.
    #[must_use]
    pub fn with_key(mut self, key: &str) -> Self {
        self.api_key = (!key.trim().is_empty()).then(|| SecretString::from(key.trim()));
        self
    }
}
