//! A fake Feishu: real HTTP, a real websocket with protobuf frames, the platform's own error codes, and simulated
//! people. It outlives the daemons that use it.

mod api;
mod cards;
mod multipart;
pub(crate) mod people;
pub(crate) mod server;
mod socket;
mod wire;
pub(crate) mod world;

pub(crate) const APP_ID: &str = "cli_0123456789abcdef";
pub(crate) const APP_SECRET: &str = "feishu-secret-canary-1";
/// The app's own open id.
pub(crate) const BOT: &str = "ou_ship";
