//! Search of memory and history: by the model's own calls, and before a turn.

mod isolation;
mod quiet;
mod scene;
mod search;
