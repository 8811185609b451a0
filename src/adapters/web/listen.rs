//! The socket: binding it, and serving whoever connects.
//!
//! Connections are bounded in number and in how long they may take to say what they want, so that a few slow
//! ones cannot keep everybody else out.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How many clients may be connected at once.
const MAX_CONNECTIONS: usize = 1024;

/// How long a client may take to send the head of a request, and how long it may stay without one.
const HEAD_DEADLINE: Duration = Duration::from_secs(30);

/// Largest head of a request.
const MAX_HEAD: usize = 64 * 1024;

/// How long to wait when the system has no socket left to give.
const BREATH: Duration = Duration::from_millis(200);

/// Why the address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else does.
    #[error("{0} is in use by another program: stop it, or set adapters.web.listen to another port")]
    InUse(SocketAddr),
    /// The system does not allow it.
    #[error("not allowed to listen on {0}: ports below 1024 need privileges")]
    NotPermitted(SocketAddr),
    /// Anything else.
    #[error("cannot listen on {addr}")]
    Other {
        /// Where.
        addr: SocketAddr,
        /// The system's words.
        source: io::Error,
    },
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

/// Serves until told to stop, then lets open requests end within `grace`. Dropping the future cuts them all.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    stop: &CancellationToken,
    grace: Duration,
) -> io::Result<()> {
    let mut connections = JoinSet::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accept = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            () = stop.cancelled() => break,
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a connection's task died");
                }
                continue;
            }
            accepted = accept => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (router, stop) = (router.clone(), stop.clone());
                connections.spawn(async move {
                    connection(stream, router, stop).await;
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

async fn connection(stream: TcpStream, router: Router, stop: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot turn off delays on a connection");
    }
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
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
