//! Feishu and Lark: receives over the long connection or a webhook, sends cards, posts and texts. Implements the
//! protocol without an SDK, so that reconnects, acknowledgements and retries are under our control.

mod adapter;
mod api;
mod attachments;
mod calls;
mod card;
mod connection;
mod content;
mod def;
mod delivery;
mod doctor;
mod event;
mod fault;
mod fragments;
mod frame;
mod growing;
mod hook;
mod inbound;
mod markdown;
mod notes;
mod options;
pub(crate) mod phrases;
mod press;
mod reactions;
mod section;
mod sequences;
mod socket;
mod webhook;

pub use adapter::{FeishuAdapter, capabilities};
pub use api::Api;
pub use calls::{Bot, PastMessage};
pub use def::DEF;
pub use doctor::{About, CheckStatus, Finding, check};
pub use fault::ApiError;
pub use options::{FeishuMode, FeishuOptions};
