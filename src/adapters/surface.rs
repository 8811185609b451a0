//! A platform without sockets of its own: its clients read the threads through another adapter.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::domain::{Capabilities, Platform};
use crate::ports::{Adapter, AdapterIo, Attempt, Delivering, OutboxEntry, Receipt, Running};

/// Threads of a platform that another adapter's sockets serve, such as `api` and `cli` by `web`.
#[derive(Clone, Debug)]
pub struct PullSurface {
    platform: Platform,
    capabilities: Capabilities,
}

impl PullSurface {
    pub const fn new(platform: Platform) -> Self {
        Self { platform, capabilities: Capabilities::pull() }
    }

    /// The threads of scheduled tasks, perhaps without people in them.
    pub const fn unattended(platform: Platform) -> Self {
        Self { platform, capabilities: Capabilities { unattended: true, ..Capabilities::pull() } }
    }
}

impl Adapter for PullSurface {
    fn platform(&self) -> Platform {
        self.platform.clone()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn run(self: Arc<Self>, io: AdapterIo, stop: CancellationToken) -> Running {
        Box::pin(async move {
            io.health.alive(io.clock.now());
            stop.cancelled().await;
            Ok(())
        })
    }

    fn deliver(&self, _entry: OutboxEntry, _attempt: Attempt) -> Delivering<'_> {
        // Clients read the thread itself: an entry is delivered as soon as it is stored.
        Box::pin(async { Ok(Receipt::default()) })
    }
}
