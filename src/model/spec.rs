//! The settings of a model on a server.

use std::time::Duration;

use secrecy::SecretString;

/// A model on an OpenAI-compatible server.
#[derive(Clone, Debug)]
pub struct ModelSpec {
    /// The address up to the version, e.g. `https://api.openai.com/v1`.
    pub base_url: String,
    /// Local servers often need none.
    pub api_key: Option<SecretString>,
    /// The model's name on that server.
    pub model: String,
    /// How long to wait for the first output, including retries, and between two chunks after it.
    pub timeout: Duration,
    /// Whether the model's earlier reasoning is sent back to it.
    pub send_reasoning: bool,
    /// Most tokens of an answer; `None` means the server's default.
    pub max_output_tokens: Option<u32>,
    /// `None` means the server's default.
    pub temperature: Option<f64>,
}

impl ModelSpec {
    /// A model without a key, with a time-out of two minutes.
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

    /// Sets the key; an empty one counts as none.
    #[must_use]
    pub fn with_key(mut self, key: &str) -> Self {
        self.api_key = (!key.trim().is_empty()).then(|| SecretString::from(key.trim()));
        self
    }
}
