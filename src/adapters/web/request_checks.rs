//! The layers of requests and responses: host, origin, credential, and security headers.

use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tower_service::Service as _;

use super::hosts::Refusal;
use super::limiter::ClientAddress;
use super::problem::Problem;
use super::server::Web;

const CONTENT_SECURITY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data: blob:; media-src blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; \
     trusted-types shipagent-notices; frame-ancestors 'none'",
);

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Host => Self::new(
                StatusCode::FORBIDDEN,
                "this host name is not served: use the address the daemon prints, or add the name to adapters.web.allowedHosts",
            ),
            Refusal::Origin => Self::new(StatusCode::FORBIDDEN, "requests from other pages are refused")
                .hint("adapters.web.allowedOrigins names the pages that may call the API"),
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

/// Rejects a request without a valid credential, or of a page whose origin is not allowed. Handlers find a `Caller` in the request's
/// extensions.
pub(super) fn check_caller(
    State(web): State<Arc<Web>>,
    mut request: Request,
    next: Next,
) -> impl Future<Output = Response> {
    let origin = match web.origins.of(request.headers()) {
        Some(_) => Ok(()),
        None => web.hosts.check_origin(request.headers()).map_err(Problem::from),
    };
    let client = ClientAddress::of(request.extensions(), request.headers());
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

/// Lets through requests whose query holds only keys that are read: a misspelt one must not pass for an answer to it.
pub(super) fn check_query(
    State(known): State<Arc<[String]>>,
    request: Request,
    next: Next,
) -> impl Future<Output = Result<Response, Problem>> {
    passed(check_keys(&request, &known), request, next)
}

fn check_keys(request: &Request, known: &[String]) -> Result<(), Problem> {
    let Ok(Query(pairs)) = Query::<Vec<(String, String)>>::try_from_uri(request.uri()) else {
        return Err(Problem::bad("the query cannot be read").coded("bad-query"));
    };
    for (at, (key, _)) in pairs.iter().enumerate() {
        if !known.contains(key) {
            let hint = match known {
                [] => "this address reads no query".to_owned(),
                known => format!("known keys: {}", known.join(", ")),
            };
            let text = format!("unknown query key `{key}`");
            return Err(Problem::bad(text).coded("unknown-query-key").hint(hint));
        }
        if pairs.iter().take(at).any(|(earlier, _)| earlier == key) {
            return Err(Problem::bad(format!("the query key `{key}` is there twice")).coded("bad-query"));
        }
    }
    Ok(())
}

/// Adds to every answer what browsers must not do with it.
pub(super) fn finish(request: Request, mut next: Next) -> impl Future<Output = Response> {
    let answering = next.call(request);
    async move {
        let Ok(response) = answering.await;
        harden(response)
    }
}

/// The longest plain error text that is put into JSON; only the framework's own texts come here.
const MAX_PLAIN: usize = 4096;

/// Gives errors that a handler did not make itself the shape of all others: a bare 405, a path that is no text.
pub(super) fn shape_errors(request: Request, mut next: Next) -> impl Future<Output = Response> {
    let answering = next.call(request);
    async move {
        let Ok(response) = answering.await;
        let status = response.status();
        let json = HeaderValue::from_static("application/json");
        let is_shaped = response.headers().get(header::CONTENT_TYPE) == Some(&json);
        if is_shaped || !(status.is_client_error() || status.is_server_error()) {
            return response;
        }
        let (mut parts, body) = response.into_parts();
        let text = to_bytes(body, MAX_PLAIN).await.unwrap_or_default();
        let problem = match String::from_utf8_lossy(&text).trim() {
            _ if status == StatusCode::METHOD_NOT_ALLOWED => {
                Problem::new(status, "this address does not know this method")
                    .hint("the header `Allow` names those it knows")
            }
            "" => Problem::new(status, status.canonical_reason().unwrap_or("refused").to_lowercase()),
            text => Problem::new(status, text),
        };
        // The length is of the old body.
        parts.headers.remove(header::CONTENT_LENGTH);
        let (shaped, body) = problem.into_response().into_parts();
        parts.headers.extend(shaped.headers);
        Response::from_parts(parts, body)
    }
}

/// The answer to a request whose handler panicked.
pub(super) fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    tracing::error!("a request handler panicked");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "something went wrong inside the daemon")
        .hint("the daemon's log says more")
        .into_response()
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
