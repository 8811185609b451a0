//! Search of memory and history: by the model's own calls, and before a turn.

mod embeddings;
mod isolation;
mod quiet;
pub(crate) mod scene;
mod search;
