//! How a conversation is kept inside the model's window, and what that leaves to the provider's cache.

mod kills;
mod prefix;
mod scene;
mod triggers;
mod troubles;
