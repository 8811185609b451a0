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
mod inbound;
mod markdown;
mod notes;
pub(crate) mod phrases;
mod press;
mod section;
mod socket;
mod streaming;
mod webhook;

pub use adapter::{FeishuAdapter, capabilities};
pub use api::FeishuApi;
pub use calls::{Bot, PastMessage};
pub use def::DEF;
pub use doctor::{CheckStatus, CheckSubject, FeishuFinding, check};
pub use fault::FeishuError;
pub use section::{FeishuMode, FeishuOptions};
