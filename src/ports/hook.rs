//! The port of a platform that sends its events to the daemon's HTTP listener.

use super::BoxFuture;

#[derive(Clone, Debug, Default)]
pub struct HookRequest {
    pub headers: http::HeaderMap,
    pub body: Vec<u8>,
}

/// The response: JSON, or no body.
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

/// Handles webhook requests. The listener does not authenticate the caller: the hook must do that first. It confirms an
/// event only after the threads have accepted it.
pub trait Hook: Send + Sync + std::fmt::Debug {
    /// The path it is served at, such as `/hooks/telegram`.
    fn path(&self) -> &str;

    /// Handles a request. Ends in bounded time.
    fn call(&self, request: HookRequest) -> BoxFuture<'_, HookAnswer>;
}
