//! A platform that only has a name: its clients read the threads themselves, through somebody else's door.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::domain::{Capabilities, Platform};
use crate::ports::{Adapter, AdapterIo, Delivering, OutboxEntry, Receipt, Running};

/// Threads of a platform that is served by another adapter's sockets, such as `api` and `cli` by `web`.
#[derive(Clone, Debug)]
pub struct PullSurface {
    platform: Platform,
}

impl PullSurface {
    /// The surface of this name.
    pub const fn new(platform: Platform) -> Self {
        Self { platform }
    }
}

impl Adapter for PullSurface {
    fn platform(&self) -> Platform {
        self.platform.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::pull()
    }

    fn run(self: Arc<Self>, io: AdapterIo, stop: CancellationToken) -> Running {
        Box::pin(async move {
            io.health.alive(io.clock.now());
            stop.cancelled().await;
            Ok(())
        })
    }

    fn deliver(&self, _entry: OutboxEntry, _attempt: u32) -> Delivering<'_> {
        // The thread itself is what clients read: it is delivered as soon as it is written.
        Box::pin(async { Ok(Receipt::default()) })
    }
}
