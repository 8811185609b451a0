//! A platform that sends its events to us, through the one listener there is.

use super::BoxFuture;

/// What a platform sent.
#[derive(Clone, Debug, Default)]
pub struct HookRequest {
    pub headers: http::HeaderMap,
    /// Its body, within the listener's limit.
    pub body: Vec<u8>,
}

/// What the platform is answered: JSON, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl HookAnswer {
    /// A status without a body.
    pub const fn of(status: u16) -> Self {
        Self { status, body: Vec::new() }
    }
}

/// Takes what a platform sends. Nobody has checked who is calling: that is its first duty. It answers that something
/// was received only after the door has accepted it.
pub trait Hook: Send + Sync + std::fmt::Debug {
    /// The path it is called at, such as `/hooks/telegram`.
    fn path(&self) -> &str;

    /// Takes a call. Ends in bounded time.
    fn call(&self, request: HookRequest) -> BoxFuture<'_, HookAnswer>;
}
