//! The menu of commands that Telegram shows beside the field where people write.

use super::api::Api;

/// Tells Telegram which commands there are, as well as it can.
#[expect(clippy::unused_async, reason = "the call site is what counts until the menu is there")]
pub(super) async fn register(_api: &Api) {}
