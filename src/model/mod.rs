//! Implementations of the model port: OpenAI-compatible servers, and the built-in offline model.
//!
//! The path of a call: `request` makes the body, `transport` sends it through async-openai, `wire` parses the response
//! tolerantly, `metering` has each attempt counted, `assemble` joins the pieces, `receive` enforces the deadlines, `failure` determines the error kind,
//! `retry` decides about a retry and `fallback` calls another model. Only `transport`, `receive`, `openai` and
//! `fallback` do IO; the rest are pure functions. Nothing here knows threads, files or platforms.

mod answer_limit;
mod assemble;
mod build;
mod calls;
mod embeddings;
mod endpoint;
mod error_body;
mod failure;
mod fallback;
mod file_part;
mod listing;
mod lossy;
mod metering;
mod offline;
mod openai;
mod probe;
mod quirks;
mod receive;
mod reloadable;
mod request;
mod retry;
mod think;
mod transport;
mod wire;

pub use build::{ModelKind, ModelSpec, Shared, build};
pub use embeddings::{EmbeddingSpec, OpenAiEmbedder};
pub use fallback::FallbackModel;
pub use listing::{ListedModel, alternatives, chat_models, days_until, list_models};
pub use offline::{OfflineModel, TypingSpeed};
pub use openai::OpenAiModel;
pub use probe::probe;
pub use reloadable::ReloadableModel;
