//! Pages of other origins: `adapters.web.allowedOrigins` names those that may call the API from a browser. They send the
//! token like every client; browsers are never told to send credentials of their own.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tower_service::Service as _;

use super::server::Web;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
const REQUEST_HEADERS: HeaderValue =
    HeaderValue::from_static("authorization, content-type, idempotency-key, accept-language");
const RESPONSE_HEADERS: HeaderValue = HeaderValue::from_static(
    "content-disposition, retry-after, www-authenticate, x-vercel-ai-ui-message-stream",
);
/// How long a browser may remember a permission, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The origins of the operator's choice.
#[derive(Debug)]
pub(super) struct AllowedOrigins(Vec<HeaderValue>);

impl AllowedOrigins {
    pub(super) fn new(origins: &[String]) -> Self {
        Self(origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect())
    }

    /// The allowed origin that a request names. Browsers write an origin in one form, so it is compared as it stands.
    pub(super) fn of<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let mut named = headers.get_all(header::ORIGIN).iter();
        let origin = named.next()?;
        (named.next().is_none() && self.0.contains(origin)).then_some(origin)
    }
}

/// Answers preflight requests of allowed origins, and tells browsers that such a page may read the response, also a
/// refusal.
pub(super) fn share(
    State(web): State<Arc<Web>>,
    request: Request,
    mut next: Next,
) -> impl Future<Output = Response> {
    let origin = web.origins.of(request.headers()).cloned();
    let asks = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let preflight = asks && origin.is_some();
    let answering = (!preflight).then(|| next.call(request));
    async move {
        let mut response = match answering {
            Some(answering) => {
                let Ok(response) = answering.await;
                response
            }
            None => permission(),
        };
        if !web.origins.0.is_empty() {
            response.headers_mut().append(header::VARY, HeaderValue::from_static("origin"));
        }
        if let Some(origin) = origin {
            response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            response.headers_mut().insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, RESPONSE_HEADERS);
        }
        response
    }
}

/// The answer to a preflight request.
fn permission() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS),
        (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_allowed_exactly_as_it_is_configured() {
        let origins =
            AllowedOrigins::new(&["https://app.example".to_owned(), "http://127.0.0.1:3000".to_owned()]);
        for (named, allowed) in [
            (&["https://app.example"][..], true),
            (&["http://127.0.0.1:3000"], true),
            (&["http://app.example"], false),
            (&["https://app.example:8443"], false),
            (&["https://app.example.evil.example"], false),
            (&["https://sub.app.example"], false),
            (&["http://127.0.0.1:3001"], false),
            (&["null"], false),
            (&["*"], false),
            (&[""], false),
            (&[], false),
            (&["https://app.example", "https://app.example"], false),
        ] {
            let mut headers = HeaderMap::new();
            for origin in named {
                headers.append(header::ORIGIN, origin.parse().unwrap());
            }
            assert_eq!(origins.of(&headers).is_some(), allowed, "{named:?}");
        }
    }
}
