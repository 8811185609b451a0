//! The web adapter: composition, and the `Adapter` implementation.

use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::listen::{BindError, Service, bind, places, serve};
use super::server::{Web, crowded, router};
use super::{WebOptions, WebParts};
use crate::domain::{Capabilities, Platform};
use crate::ports::{Adapter, AdapterError, AdapterIo, Attempt, Delivering, OutboxEntry, Receipt, Running};

/// The HTTP interface and the console.
#[derive(Debug)]
pub struct WebAdapter {
    platform: Platform,
    options: WebOptions,
    parts: WebParts,
    /// For the first run; a restart binds again.
    listener: Mutex<Option<StdListener>>,
}

impl WebAdapter {
    /// Binds the address, so that a port in use is reported before anything else starts.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub fn bind(addr: SocketAddr) -> Result<StdListener, BindError> {
        bind(addr)
    }

    /// An adapter with this platform name on a bound listener.
    pub fn new(platform: Platform, options: WebOptions, parts: WebParts, listener: StdListener) -> Self {
        Self { platform, options, parts, listener: Mutex::new(Some(listener)) }
    }

    fn listener(&self) -> Result<StdListener, AdapterError> {
        let bound = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        match bound {
            Some(listener) => Ok(listener),
            None => bind(self.options.listen).map_err(|error| AdapterError::Broken(error.to_string())),
        }
    }
}

impl Adapter for WebAdapter {
    fn platform(&self) -> Platform {
        self.platform.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::pull()
    }

    fn run(self: Arc<Self>, io: AdapterIo, stop: CancellationToken) -> Running {
        Box::pin(async move {
            let broken = |error: std::io::Error| AdapterError::Broken(error.to_string());
            let listener = TcpListener::from_std(self.listener()?).map_err(broken)?;
            let bound = listener.local_addr().map_err(broken)?;
            let web = Arc::new(Web::new(self.options.clone(), self.parts.clone(), &io, bound, stop.clone()));
            let service =
                Service { router: router(Arc::clone(&web)), crowded: crowded(web), places: places() };
            io.health.alive(io.clock.now());
            tracing::info!(%bound, "web adapter listening");
            serve(listener, service, &stop, self.options.stop_grace).await.map_err(broken)
        })
    }

    fn deliver(&self, _entry: OutboxEntry, _attempt: Attempt) -> Delivering<'_> {
        // Clients read the thread itself: an entry is delivered as soon as it is stored.
        Box::pin(async { Ok(Receipt::default()) })
    }
}
