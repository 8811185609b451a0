//! Feishu and Lark: the long connection or a webhook in, cards, posts and texts out. Speaks the wire itself, with no
//! SDK, so that reconnects, acknowledgements and retries are ours.

mod api;
mod card;
mod connection;
mod content;
mod event;
mod fault;
mod fragments;
mod frame;
mod markdown;
mod options;
mod token;
mod webhook;

pub use api::Api;
pub use fault::ApiError;
pub use options::{FeishuMode, FeishuOptions};
