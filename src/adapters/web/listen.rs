//! The socket: binding it, and serving whoever connects.
//!
//! Connections are bounded in number and in how long they may take to say what they want, so that a few slow
//! ones cannot keep everybody else out.

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

/// How many clients may be connected at once, where the system allows as many.
const MAX_CONNECTIONS: usize = 4096;

/// How many more are let in to be told that there is no place.
const MAX_TURNED_AWAY: usize = 32;

/// How long a client may take to send the head of a request, and how long it may stay without one.
const HEAD_DEADLINE: Duration = Duration::from_secs(30);

/// The same, where there is no place for it.
const SHORT_DEADLINE: Duration = Duration::from_secs(2);

/// Largest head of a request.
const MAX_HEAD: usize = 64 * 1024;

/// How long to wait when the system has no socket left to give.
const BREATH: Duration = Duration::from_millis(200);

/// Why the address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("{0} is in use by another program: stop it, or set adapters.web.listen to another port")]
    InUse(SocketAddr),
    /// The system does not allow it.
    #[error("not allowed to listen on {0}: ports below 1024 need privileges")]
    NotPermitted(SocketAddr),
    #[error("cannot listen on {addr}")]
    Other { addr: SocketAddr, source: io::Error },
}

/// Takes the address. Nobody is served before the listener is handed to an adapter, but from here on the
/// address is ours and clients may queue up.
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

/// What is served, and to how many at once.
#[derive(Debug)]
pub(super) struct Service {
    /// To those who have a place.
    pub(super) router: Router,
    /// To those who have none.
    pub(super) crowded: Router,
    /// How many places there are.
    pub(super) places: usize,
}

/// How many connections there may be. The threads and their files need descriptors as well.
pub(super) fn places() -> usize {
    let allowed = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let allowed = allowed.and_then(|allowed| usize::try_from(allowed).ok()).unwrap_or(usize::MAX);
    MAX_CONNECTIONS.min(allowed / 4 * 3).max(1)
}

/// Serves until told to stop, then lets open requests end within `grace`. Dropping the future cuts them all.
pub(super) async fn serve(
    listener: TcpListener,
    service: Service,
    stop: &CancellationToken,
    grace: Duration,
) -> io::Result<()> {
    let mut connections = JoinSet::new();
    let places = Arc::new(Semaphore::new(service.places));
    let doorstep = Arc::new(Semaphore::new(MAX_TURNED_AWAY));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a connection's task died");
                }
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let seat = |seats: &Arc<Semaphore>| Arc::clone(seats).try_acquire_owned().ok();
                let (place, visit) = match seat(&places) {
                    Some(place) => (place, Visit { router: service.router.clone(), peer, stays: true }),
                    None => match seat(&doorstep) {
                        Some(place) => (place, Visit { router: service.crowded.clone(), peer, stays: false }),
                        // Not even a word can be had: the line is closed.
                        None => continue,
                    },
                };
                let stop = stop.clone();
                connections.spawn(async move {
                    connection(stream, visit, stop).await;
                    drop(place);
                });
            }
            Err(error) if is_passing(&error) => {
                tracing::warn!(%error, "cannot accept a connection right now");
                tokio::time::sleep(BREATH).await;
            }
            Err(error) => return Err(error),
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(grace, drained).await.is_err() {
        tracing::warn!(left = connections.len(), "connections did not end in time");
    }
    Ok(())
}

/// Whether the listener is still good after this error: the client's fault, or a shortage that passes.
fn is_passing(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported | io::ErrorKind::NotConnected
    )
}

/// How a client is served.
struct Visit {
    router: Router,
    peer: SocketAddr,
    /// Whether it may ask more than once, and take its time.
    stays: bool,
}

async fn connection(stream: TcpStream, visit: Visit, stop: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot turn off delays on a connection");
    }
    let (router, peer) = (visit.router, Peer(visit.peer.ip()));
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer);
        // A router is always ready.
        router.clone().call(request)
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(if visit.stays { HEAD_DEADLINE } else { SHORT_DEADLINE })
        .keep_alive(visit.stays)
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
        tracing::debug!(%error, "a connection broke");
    }
}
