//! Fitting a conversation into the model's window, and the effect on the provider's cache.

mod kills;
mod prefix;
pub(crate) mod scene;
mod triggers;
mod troubles;
