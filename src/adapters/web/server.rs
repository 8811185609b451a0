//! The routes and the layers before them.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{delete, get, post};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;

use super::body::MAX_BODY;
use super::chat::MAX_CHAT_BODY;
use super::credentials::Credentials;
use super::hosts::Hosts;
use super::limiter::FailureLimiter;
use super::login::{login, project_id, renew};
use super::problem::Problem;
use super::request_checks::{
    check_caller, check_host, check_origin, check_query, finish, panicked, shape_errors,
};
use super::sse::{MAX_STREAMS, MAX_WATCHERS};
use super::{
    WebOptions, WebParts, access, all_events, approvals, chat, events, execute, files, grants, health, hooks,
    memory, page, tasks, threads,
};
use crate::blocking::PoolProbe;
use crate::ports::{AdapterIo, Clock, ThreadsHandle};

/// The state that every request is served from.
#[derive(Debug)]
pub(super) struct Web {
    pub(super) options: WebOptions,
    pub(super) parts: WebParts,
    pub(super) threads: ThreadsHandle,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) credentials: Credentials,
    pub(super) hosts: Hosts,
    pub(super) failures: FailureLimiter,
    /// Lets the page choose the stored login of this project, when several projects use one address in turn.
    pub(super) project: String,
    /// Permits for streamed answers.
    pub(super) streams: Arc<Semaphore>,
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
            hosts: Hosts::new(bound, &options.allowed_hosts),
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

    let api = Router::new()
        .route("/execute", post(execute::execute))
        .route("/chat", post(chat::chat).layer(DefaultBodyLimit::max(MAX_CHAT_BODY)))
        .route("/chat/{id}/stream", get(chat::resume))
        .route("/threads", get(threads::list))
        .route("/threads/{id}/messages", get(threads::messages).post(threads::say))
        .route("/threads/{id}/events", get(events::events))
        .route("/threads/{id}/stop", post(threads::stop))
        .route("/events", get(all_events::events))
        .route("/approvals", get(approvals::list))
        .route("/approvals/{id}", post(approvals::decide))
        .route("/grants", get(grants::list))
        .route("/grants/{id}", delete(grants::revoke))
        .route("/memory", get(memory::show).post(memory::change))
        .route("/memory/ledger", get(memory::ledger))
        .route("/memory/search", get(memory::search))
        .route("/access", get(access::list))
        .route("/access/approve", post(access::approve))
        .route("/access/invite", post(access::invite))
        .route("/access/{who}", post(access::change_role).delete(access::revoke))
        .route("/tasks", get(tasks::list))
        .route("/tasks/check", post(tasks::check))
        .route("/tasks/{id}", get(tasks::show).put(tasks::write).delete(tasks::remove))
        .route("/tasks/{id}/run", post(tasks::run))
        .route("/tasks/{id}/pause", post(tasks::pause))
        .route("/tasks/{id}/resume", post(tasks::resume))
        .route("/files/{thread}/{name}", get(files::file))
        .route("/files/{thread}/{name}/link", post(files::link))
        .route("/session", post(renew))
        .route("/info", get(health::info))
        .fallback(nowhere)
        .layer(from_fn(check_query))
        .layer(guard.clone());
    let metrics = Router::new().route("/metrics", get(health::metrics)).layer(guard);
    let entrance = Router::new()
        .route("/api/login", post(login))
        .route("/files/{thread}/{name}", get(files::linked))
        .layer(origin);

    Router::new()
        .nest("/api", api)
        .merge(metrics)
        .merge(entrance)
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
    let pool = PoolProbe::default();
    Router::new()
        .route("/healthz", get(move || health::healthz(pool.clone())))
        .route("/readyz", get(health::readyz))
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
