//! The model port: OpenAI-compatible servers, and the built-in offline model.
