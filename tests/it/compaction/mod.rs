//! How a conversation is kept inside the model's window, and what that leaves to the provider's cache.

mod prefix;
