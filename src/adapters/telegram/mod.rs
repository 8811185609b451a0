//! Telegram: what people write there goes through the door, and answers go back as it can show them.

mod api;
pub mod html;

pub use api::{Api, ApiError, Upload};
