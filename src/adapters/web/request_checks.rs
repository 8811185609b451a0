//! The layers of requests and responses: host, origin, credential, and security headers.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tower_service::Service as _;

use super::hosts::Refusal;
use super::limiter::Client;
use super::problem::Problem;
use super::server::Web;

const CONTENT_SECURITY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; \
     trusted-types 'none'; frame-ancestors 'none'",
);

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Host => Self::new(
                StatusCode::FORBIDDEN,
                "this host name is not served: use the address the daemon prints, or add the name to adapters.web.allowedHosts",
            ),
            Refusal::Origin => Self::new(StatusCode::FORBIDDEN, "requests from other pages are refused"),
        }
    }
}

// None of these is an `async fn`: its future would hold the request until the response is ready, in each layer, and a
// response may take minutes.

/// Rejects a request for another host.
pub(super) fn check_host(
    State(web): State<Arc<Web>>,
    request: Request,
    next: Next,
) -> impl Future<Output = Result<Response, Problem>> {
    passed(web.hosts.check_host(request.uri(), request.headers()).map_err(Problem::from), request, next)
}

/// Rejects a request of a foreign page.
pub(super) fn check_origin(
    State(web): State<Arc<Web>>,
    request: Request,
    next: Next,
) -> impl Future<Output = Result<Response, Problem>> {
    let origin = web.hosts.check_origin(request.headers()).map_err(Problem::from);
    let answering = passed(origin, request, next);
    async move { Ok(no_store(answering.await?)) }
}

/// Rejects a request without a valid credential or of a foreign page. Handlers find a `Caller` in the request's
/// extensions.
pub(super) fn check_caller(
    State(web): State<Arc<Web>>,
    mut request: Request,
    next: Next,
) -> impl Future<Output = Response> {
    let origin = web.hosts.check_origin(request.headers()).map_err(Problem::from);
    let client = Client::of(request.extensions(), request.headers());
    let caller = origin.and_then(|()| web.authenticate(&client, request.headers()));
    let admitted = caller.map(|caller| {
        request.extensions_mut().insert(caller);
    });
    let answering = passed(admitted, request, next);
    async move { no_store(answering.await.into_response()) }
}

fn passed(
    checked: Result<(), Problem>,
    request: Request,
    mut next: Next,
) -> impl Future<Output = Result<Response, Problem>> {
    let answering = checked.map(|()| next.call(request));
    async move {
        let Ok(response) = answering?.await;
        Ok(response)
    }
}

/// Forbids caching, unless the response has its own `Cache-Control`, as a stream does.
fn no_store(mut response: Response) -> Response {
    let own = response.headers_mut().entry(header::CACHE_CONTROL);
    own.or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The layer of every response.
pub(super) fn finish(request: Request, mut next: Next) -> impl Future<Output = Response> {
    let answering = next.call(request);
    async move {
        let Ok(response) = answering.await;
        harden(explain(response))
    }
}

/// Adds a text to a 405: the router itself sends a bare status, and afterwards an `Allow` header.
fn explain(response: Response) -> Response {
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        return response;
    }
    let text = "this address does not know this method: the header `Allow` names those it knows";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, text).into_response()
}

/// Adds the security headers for browsers.
fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(CONTENT_SECURITY);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    response
}
