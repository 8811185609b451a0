//! What common models cost: a small dated table. Pure data.
//!
//! Where a price depends on the hour or on the length of a prompt of up to 256,000 tokens, the table has the dear side: a
//! cap that stops early is right. What longer prompts cost is in `LONG_PROMPTS`.

/// When the table was last checked.
pub const PRICES_AS_OF: &str = "2026-11-19";

/// US dollars for a million tokens: input, cached input, output. The price of a cache write is the input's, except where
/// `CACHE_WRITES` says otherwise.
pub(super) const MODELS: &[(&str, f64, f64, f64)] = &[
    ("gpt-6.1-sol", 2.0, 0.10, 10.0),
    ("gpt-6.1-terra", 1.0, 0.05, 5.0),
    ("gpt-6-astra", 10.0, 1.0, 50.0),
    ("gpt-6-sol", 2.0, 0.20, 10.0),
    ("gpt-6-luna", 0.10, 0.01, 0.50),
    ("gpt-5.6", 4.0, 0.40, 20.0),
    ("gpt-5.6-sol", 4.0, 0.40, 20.0),
    ("gpt-5.6-terra", 2.0, 0.20, 12.0),
    ("gpt-5.6-luna", 0.20, 0.02, 1.20),
    ("gpt-5.5", 5.0, 0.50, 30.0),
    ("gpt-5.4", 2.50, 0.25, 15.0),
    ("gpt-5.4-mini", 0.75, 0.075, 4.50),
    ("gpt-5.4-nano", 0.20, 0.02, 1.25),
    ("gpt-5.2", 1.75, 0.175, 14.0),
    ("gpt-5.1", 1.25, 0.125, 10.0),
    ("gpt-5", 1.25, 0.125, 10.0),
    ("gpt-5-mini", 0.25, 0.025, 2.0),
    ("gpt-5-nano", 0.05, 0.005, 0.40),
    ("gpt-4.1", 2.0, 0.50, 8.0),
    ("gpt-4.1-mini", 0.40, 0.10, 1.60),
    ("gpt-4.1-nano", 0.10, 0.025, 0.40),
    ("gpt-4o", 2.50, 1.25, 10.0),
    ("gpt-4o-mini", 0.15, 0.075, 0.60),
    ("o3", 2.0, 0.50, 8.0),
    ("o4-mini", 1.10, 0.275, 4.40),
    ("gpt-oss-120b", 0.15, 0.075, 0.60),
    ("gpt-oss-20b", 0.075, 0.0375, 0.30),
    ("deepseek-flash", 0.30, 0.006, 1.20),
    ("deepseek-v4-flash", 0.30, 0.04, 1.20),
    ("deepseek-v4-pro", 2.40, 0.20, 4.80),
    ("kimi-k2.5", 0.60, 0.10, 3.0),
    ("kimi-k2.6", 0.95, 0.16, 4.0),
    ("kimi-k2.7-code", 0.95, 0.19, 4.0),
    ("kimi-k3", 3.0, 0.30, 15.0),
    ("kimi-k3.1-pro", 2.0, 0.20, 10.0),
    ("glm-4.5", 0.60, 0.11, 2.20),
    ("glm-4.5-air", 0.20, 0.20, 1.10),
    ("glm-4.6", 0.60, 0.11, 2.20),
    ("glm-4.7", 0.60, 0.11, 2.20),
    ("glm-5", 1.0, 0.20, 3.20),
    ("glm-5.1", 1.40, 0.26, 4.40),
    ("glm-5.2", 1.40, 0.28, 4.40),
    ("glm-5.3", 1.40, 0.26, 4.40),
    ("glm-5.3-flash", 0.15, 0.03, 0.50),
    ("qwen-plus", 0.40, 0.40, 1.20),
    ("qwen-turbo", 0.05, 0.05, 0.20),
    ("qwen-max", 1.60, 1.60, 6.40),
    ("qwen-flash", 0.05, 0.05, 0.40),
    ("qwen3-max", 3.0, 3.0, 15.0),
    ("qwen3-coder-plus", 3.0, 0.30, 15.0),
    ("qwen3-coder-flash", 0.80, 0.20, 4.0),
    ("qwen3.5-plus", 0.40, 0.40, 2.40),
    ("qwen3.7-plus", 0.40, 0.08, 1.60),
    ("qwen3.7-max", 2.50, 0.50, 7.50),
    ("qwen3.8-flash", 0.15, 0.016, 0.47),
    ("qwen3.8-max", 2.0, 0.25, 6.0),
    ("qwq-plus", 0.80, 0.80, 2.40),
    ("grok-4.3", 2.50, 0.40, 5.0),
    ("grok-4.20", 2.50, 0.40, 5.0),
    ("grok-4.5", 4.0, 0.60, 12.0),
    ("grok-4.6", 4.0, 1.0, 12.0),
    ("grok-4.7", 4.0, 1.0, 12.0),
    ("grok-code-fast-1", 2.0, 0.40, 4.0),
    ("mistral-large", 1.36, 0.14, 4.18),
    ("mistral-large-4", 1.36, 0.14, 4.18),
    ("mistral-medium", 1.50, 0.15, 7.50),
    ("mistral-small", 0.15, 0.015, 0.60),
    ("magistral-medium", 1.50, 0.15, 7.50),
    ("devstral-medium", 0.40, 0.04, 2.0),
    ("codestral", 0.30, 0.03, 0.90),
    ("llama-3.3-70b-versatile", 0.59, 0.59, 0.79),
    ("llama-3.1-8b-instant", 0.05, 0.05, 0.08),
    ("gemini-2.5-flash", 0.30, 0.03, 2.50),
    ("gemini-2.5-flash-lite", 0.10, 0.01, 0.40),
    ("gemini-2.5-pro", 2.50, 0.25, 15.0),
    ("gemini-3-flash", 0.50, 0.05, 3.0),
    ("gemini-3.1-flash-lite", 0.25, 0.025, 1.50),
    ("gemini-3.1-pro", 4.0, 0.40, 18.0),
    ("gemini-3.5-flash", 1.50, 0.15, 9.0),
    ("gemini-3.5-flash-lite", 0.30, 0.03, 2.50),
    ("gemini-3.6-flash", 0.75, 0.075, 3.75),
    ("gemini-3.7-flash", 0.75, 0.075, 3.75),
    ("gemini-3.8-flash", 0.75, 0.075, 3.75),
    ("claude-fable-5", 10.0, 1.0, 50.0),
    ("claude-opus-5-5", 4.0, 0.20, 20.0),
    ("claude-opus-5", 5.0, 0.50, 25.0),
    ("claude-opus-4-8", 5.0, 0.50, 25.0),
    ("claude-opus-4-7", 5.0, 0.50, 25.0),
    ("claude-opus-4-6", 5.0, 0.50, 25.0),
    ("claude-opus-4-5", 5.0, 0.50, 25.0),
    ("claude-opus-4-1", 15.0, 1.50, 75.0),
    ("claude-sonnet-5-5", 2.0, 0.10, 10.0),
    ("claude-sonnet-5", 2.0, 0.20, 10.0),
    ("claude-sonnet-4-6", 6.0, 0.60, 22.50),
    ("claude-sonnet-4-5", 6.0, 0.60, 22.50),
    ("claude-sonnet-4", 6.0, 0.60, 22.50),
    ("claude-haiku-5-5", 0.50, 0.05, 2.50),
    ("claude-haiku-4-5", 1.0, 0.10, 5.0),
    ("sonar", 1.0, 1.0, 1.0),
    ("sonar-pro", 3.0, 3.0, 15.0),
    ("sonar-reasoning-pro", 2.0, 2.0, 8.0),
];

/// Cache writes that cost more than input, as a share of the input's price, by the beginning of the name.
pub(super) const CACHE_WRITES: &[(&str, f64)] =
    &[("gpt-5.6", 2.0), ("gpt-6", 2.0), ("claude-", 2.0), ("kimi-k3", 1.25), ("qwen3", 1.34)];

/// Models whose calls cost more as a whole where the prompt is longer: by the beginning of the name, the tokens of the
/// longest prompt at the price above, and how many times the price of input and of output it is beyond. The first that
/// fits counts.
pub(super) const LONG_PROMPTS: &[(&str, u64, f64, f64)] = &[
    ("gpt-5.4-mini", u64::MAX, 1.0, 1.0),
    ("gpt-5.4-nano", u64::MAX, 1.0, 1.0),
    ("gpt-5.4", 272_000, 2.0, 1.5),
    ("gpt-5.5", 272_000, 2.0, 1.5),
    ("gpt-5.6", 272_000, 2.0, 1.5),
    ("gpt-6", 272_000, 2.0, 1.5),
    ("qwen-plus", 256_000, 3.0, 3.0),
    ("qwen-flash", 256_000, 5.0, 5.0),
    ("qwen3-coder-plus", 256_000, 2.0, 4.0),
    ("qwen3-coder-flash", 256_000, 2.0, 2.4),
];

/// US dollars for a million tokens that are turned into vectors.
pub(super) const EMBEDDINGS: &[(&str, f64)] = &[
    ("text-embedding-3-small", 0.02),
    ("text-embedding-3-large", 0.13),
    ("text-embedding-ada-002", 0.10),
    ("text-embedding-v3", 0.07),
    ("text-embedding-v4", 0.07),
    ("mistral-embed", 0.10),
    ("codestral-embed", 0.15),
    ("gemini-embedding-001", 0.15),
    ("gemini-embedding-2", 0.20),
];

/// US dollars for an hour of sound that is turned into text.
pub(super) const HEARING: &[(&str, f64)] = &[
    ("gpt-transcribe", 0.27),
    ("gpt-4o-transcribe", 0.36),
    ("gpt-4o-mini-transcribe", 0.18),
    ("whisper-1", 0.36),
    ("whisper-large-v3", 0.111),
    ("whisper-large-v3-turbo", 0.04),
    ("voxtral-mini", 0.21),
    ("voxtral-small-transcribe-3", 0.24),
];

/// US dollars for a million characters that are spoken.
pub(super) const SPEAKING: &[(&str, f64)] = &[
    ("tts-1", 15.0),
    ("tts-1-hd", 30.0),
    // 0.015 dollars a minute, of at least 600 characters.
    ("gpt-4o-mini-tts", 25.0),
    ("qwen3-tts-flash", 10.0),
    ("orpheus-v1-english", 22.0),
    ("voxtral-mini-tts", 16.0),
];
