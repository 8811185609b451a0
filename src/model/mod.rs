//! The model port: OpenAI-compatible servers, and the built-in offline model.
//!
//! The way of a call: `request` makes the body, `transport` sends it through async-openai, `wire` reads what
//! comes back however odd it is, `assemble` joins the pieces, `receive` watches the time, `classify` names the
//! trouble, `retry` says whether to try again and `fallback` asks another model. Only `transport`, `receive`,
//! `openai` and `fallback` do anything; the rest are plain functions. Nothing here knows threads, files or
//! platforms.

mod assemble;
mod build;
mod calls;
mod classify;
mod endpoint;
mod failure;
mod fallback;
mod file_part;
mod listing;
mod lossy;
mod offline;
mod openai;
mod quirks;
mod receive;
mod request;
mod retry;
mod said;
mod spec;
mod think;
mod transport;
mod wire;

pub use build::{ModelKind, Shared, build};
pub use fallback::FallbackModel;
pub use listing::{ListedModel, alternatives, days_until, list_models};
pub use offline::{OfflineModel, Pace};
pub use openai::OpenAiModel;
pub use spec::ModelSpec;
