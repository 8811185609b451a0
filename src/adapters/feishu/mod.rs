//! Feishu and Lark: receives over the long connection or a webhook, sends cards, posts and texts. Implements the
//! protocol without an SDK, so that reconnects, acknowledgements and retries are under our control.

mod adapter;
mod admins;
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
mod intake;
mod markdown;
mod notes;
mod options;
pub(crate) mod phrases;
mod press;
mod pressed;
mod section;
mod seen;
mod sequences;
mod socket;
mod token;
mod unpack;
mod webhook;

pub use adapter::{FeishuAdapter, capabilities};
pub use api::Api;
pub use calls::{Bot, PastMessage};
pub use def::DEF;
pub use doctor::{About, CheckStatus, Finding, check};
pub use fault::ApiError;
pub use options::{FeishuMode, FeishuOptions};
