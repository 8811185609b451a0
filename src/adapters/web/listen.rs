//! The listener: binds the socket and serves connections.
//!
//! Connections are bounded in number and in the time for a request's head, so that a few slow clients cannot block
//! others.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

use super::limiter::Peer;

/// Most connections, where the system allows as many.
const MAX_CONNECTIONS: usize = 4096;

/// Most further connections, which only get a 503.
const MAX_OVERFLOW: usize = 32;

/// Deadline of a request's head, and of an idle connection.
const HEAD_DEADLINE: Duration = Duration::from_secs(30);

/// The same for a connection beyond the limit.
const SHORT_DEADLINE: Duration = Duration::from_secs(2);

/// Most bytes of a request's head.
const MAX_HEAD: usize = 64 * 1024;

/// Wait when the system has no file descriptor left.
const ACCEPT_RETRY: Duration = Duration::from_millis(200);

/// Why the address cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("{0} is in use by another program: stop it, or set adapters.web.listen to another port")]
    InUse(SocketAddr),
    #[error("not allowed to listen on {0}: ports below 1024 need privileges")]
    NotPermitted(SocketAddr),
    #[error("cannot listen on {addr}")]
    Other { addr: SocketAddr, source: io::Error },
}

/// Binds the address. Clients are served only once the listener is passed to an adapter, but they may connect and queue
/// from here on.
pub(super) fn bind(addr: SocketAddr) -> Result<StdListener, BindError> {
    let listener = StdListener::bind(addr).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse(addr),
        io::ErrorKind::PermissionDenied => BindError::NotPermitted(addr),
        _ => BindError::Other { addr, source },
    })
}

/// The routers and the number of connections.
#[derive(Debug)]
pub(super) struct Service {
    /// For connections within the limit.
    pub(super) router: Router,
    /// For connections beyond it.
    pub(super) crowded: Router,
    pub(super) places: usize,
}

/// The connection limit. The threads and their files need file descriptors as well.
pub(super) fn places() -> usize {
    let allowed = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let allowed = allowed.and_then(|allowed| usize::try_from(allowed).ok()).unwrap_or(usize::MAX);
    MAX_CONNECTIONS.min(allowed / 4 * 3).max(1)
}

/// Serves until stopped, then lets open requests finish within `grace`. Dropping the future aborts them all.
pub(super) async fn serve(
    listener: TcpListener,
    service: Service,
    stop: &CancellationToken,
    grace: Duration,
) -> io::Result<()> {
    let mut connections = JoinSet::new();
    let places = Arc::new(Semaphore::new(service.places));
    let overflow = Arc::new(Semaphore::new(MAX_OVERFLOW));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "connection task failed");
                }
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let permit = |permits: &Arc<Semaphore>| Arc::clone(permits).try_acquire_owned().ok();
                let (place, options) = match permit(&places) {
                    Some(place) => {
                        (place, ConnectionOptions { router: service.router.clone(), peer, stays: true })
                    }
                    None => match permit(&overflow) {
                        Some(place) => {
                            (place, ConnectionOptions { router: service.crowded.clone(), peer, stays: false })
                        }
                        // Beyond both limits: the connection is closed without a response.
                        None => continue,
                    },
                };
                let stop = stop.clone();
                connections.spawn(async move {
                    connection(stream, options, stop).await;
                    drop(place);
                });
            }
            Err(error) if is_passing(&error) => {
                tracing::warn!(%error, "accept failed");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
            Err(error) => return Err(error),
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(grace, drained).await.is_err() {
        tracing::warn!(left = connections.len(), "connections aborted at shutdown");
    }
    Ok(())
}

/// Whether the listener is still usable after this error: a client's error, or a temporary shortage.
fn is_passing(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported | io::ErrorKind::NotConnected
    )
}

/// How a connection is served.
struct ConnectionOptions {
    router: Router,
    peer: SocketAddr,
    /// Whether it may send several requests with the full deadline.
    stays: bool,
}

async fn connection(stream: TcpStream, options: ConnectionOptions, stop: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "setting nodelay failed");
    }
    let (router, peer) = (options.router, Peer(options.peer.ip()));
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer);
        // A router is always ready.
        router.clone().call(request)
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(if options.stays { HEAD_DEADLINE } else { SHORT_DEADLINE })
        .keep_alive(options.stays)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut serving = std::pin::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection failed");
    }
}
