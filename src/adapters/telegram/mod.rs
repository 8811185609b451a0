//! Telegram: what people write there goes through the door, and answers go back as it can show them.
//!
//! - `api`: calls to the server, and whether they took effect; `classify`: what a refusal means;
//! - `post`: messages into chats, around obstacles, no faster than `limits` allow;
//! - `deliver`, `question`, `attach`: the outbox; `paint`, `live`: what a running turn shows;
//! - `html`, `keyboard`, `menu`: how things look; `place`, `aliases`: where they go.

mod aliases;
mod api;
mod attach;
mod classify;
mod deliver;
pub mod html;
mod keyboard;
mod limits;
mod live;
mod menu;
mod paint;
mod place;
mod post;
mod question;

pub use aliases::Aliases;
pub use api::{Api, ApiError, Upload};
pub use deliver::Sender;
pub use place::Place;
