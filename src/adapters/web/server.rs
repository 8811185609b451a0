//! The routes and the layers before them.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;

use super::body::MAX_BODY;
use super::cors::{self, AllowedOrigins};
use super::credentials::Credentials;
use super::enrichment::EnrichingMessages;
use super::hosts::Hosts;
use super::limiter::FailureLimiter;
use super::login::{LoginCodes, project_id};
use super::operation::{Access, Shape};
use super::problem::Problem;
use super::request_checks::{
    check_caller, check_host, check_origin, check_query, finish, panicked, shape_errors,
};
use super::routes::operations;
use super::sse::{MAX_STREAMS, MAX_WATCHERS};
use super::{WebOptions, WebParts, hooks, page};
use crate::ports::{AdapterIo, Clock, ThreadsHandle};

/// The state that every request is served from.
#[derive(Debug)]
pub(super) struct Web {
    pub(super) options: WebOptions,
    pub(super) parts: WebParts,
    pub(super) threads: ThreadsHandle,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) credentials: Credentials,
    pub(super) login_codes: LoginCodes,
    pub(super) hosts: Hosts,
    pub(super) origins: AllowedOrigins,
    pub(super) failures: FailureLimiter,
    /// Lets the page choose the stored login of this project, when several projects use one address in turn.
    pub(super) project: String,
    /// Permits for streamed answers.
    pub(super) streams: Arc<Semaphore>,
    pub(super) enriching: EnrichingMessages,
    /// Permits for event streams, separate so that watchers cannot block answers.
    pub(super) watchers: Arc<Semaphore>,
    pub(super) stop: CancellationToken,
}

impl Web {
    /// `bound` is the address with its real port.
    pub(super) fn new(
        options: WebOptions,
        parts: WebParts,
        io: &AdapterIo,
        bound: SocketAddr,
        stop: CancellationToken,
    ) -> Self {
        Self {
            credentials: Credentials::new(&options.token),
            enriching: EnrichingMessages::default(),
            login_codes: LoginCodes::default(),
            hosts: Hosts::new(bound, &options.allowed_hosts),
            origins: AllowedOrigins::new(&options.allowed_origins),
            failures: FailureLimiter::default(),
            project: project_id(&options.project),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            watchers: Arc::new(Semaphore::new(MAX_WATCHERS)),
            threads: io.threads.clone(),
            clock: Arc::clone(&io.clock),
            options,
            parts,
            stop,
        }
    }
}

/// All routes. Every route under `/api` needs a credential, by construction: the login and the files behind signed
/// links are outside.
pub(super) fn router(web: Arc<Web>) -> Router {
    let guard = from_fn_with_state(Arc::clone(&web), check_caller);
    let origin = from_fn_with_state(Arc::clone(&web), check_origin);
    let host = from_fn_with_state(Arc::clone(&web), check_host);
    let share = from_fn_with_state(Arc::clone(&web), cors::share);

    let (mut api, mut metrics, mut entrance) = (Router::new(), Router::new(), Router::new());
    for operation in operations() {
        let keys: Arc<[String]> = operation.query.map(Shape::keys).unwrap_or_default().into();
        let serve = operation.serve.route_layer(from_fn_with_state(keys, check_query));
        match (operation.access, operation.path.strip_prefix("/api")) {
            (Access::Credential, Some(path)) => api = api.route(path, serve),
            (Access::Credential, None) => metrics = metrics.route(operation.path, serve),
            (Access::OwnProof, _) => entrance = entrance.route(operation.path, serve),
            (Access::Open, _) => {}
        }
    }
    let api = api.fallback(nowhere).layer(guard.clone()).layer(share);

    Router::new()
        .nest("/api", api)
        .merge(metrics.layer(guard))
        .merge(entrance.layer(origin))
        .merge(page::routes())
        .fallback(nowhere)
        .layer(host)
        .layer(from_fn(shape_errors))
        .merge(hooks::routes(&web.parts.hooks))
        .merge(probes())
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(finish))
        .with_state(web)
}

/// Probes may use any host name; their responses are one word.
fn probes() -> Router<Arc<Web>> {
    let open = operations().into_iter().filter(|operation| operation.access == Access::Open);
    open.fold(Router::new(), |routes, operation| routes.route(operation.path, operation.serve))
}

/// The routes of a connection beyond the limit: the probes, and a 503 for everything else.
pub(super) fn crowded(web: Arc<Web>) -> Router {
    probes().fallback(no_place).layer(from_fn(finish)).with_state(web)
}

async fn no_place() -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many clients are connected: try again in a moment")
        .after(5)
}

async fn nowhere() -> Problem {
    Problem::not_found("page")
}
