//! The layers every request passes, and the way to get the cookie.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use tokio::time::Instant;
use tower_service::Service as _;

use super::auth::Refusal;
use super::body::JsonBody;
use super::problem::Problem;
use super::server::Web;

const CONTENT_SECURITY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// How many wrong tokens are looked at within a window.
const TRIES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Host => Self::new(
                StatusCode::FORBIDDEN,
                "this host name is not served: use the address the daemon prints, or add the name to adapters.web.allowedHosts",
            ),
            Refusal::Origin => Self::new(StatusCode::FORBIDDEN, "requests from other pages are refused"),
            Refusal::Token => Self::new(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong: send `Authorization: Bearer <token>`",
            ),
        }
    }
}

// None of these is an `async fn`: that would keep room for the request until the answer is there, in each layer, and
// answers may take minutes.

/// Lets through what is meant for this daemon.
pub(super) fn check_host(
    State(web): State<Arc<Web>>,
    request: Request,
    next: Next,
) -> impl Future<Output = Result<Response, Problem>> {
    passed(web.hosts.check_host(request.uri(), request.headers()), request, next)
}

/// Lets through what no foreign page has sent.
pub(super) fn check_origin(
    State(web): State<Arc<Web>>,
    request: Request,
    next: Next,
) -> impl Future<Output = Result<Response, Problem>> {
    let answering = passed(web.hosts.check_origin(request.headers()), request, next);
    async move { Ok(no_store(answering.await?)) }
}

/// Lets through whoever knows the token, from no foreign page.
pub(super) fn check_caller(
    State(web): State<Arc<Web>>,
    request: Request,
    next: Next,
) -> impl Future<Output = Result<Response, Problem>> {
    let origin = web.hosts.check_origin(request.headers());
    let answering = origin.map(|()| passed(web.keys.check(request.headers()), request, next));
    async move { Ok(no_store(answering?.await.into_response())) }
}

fn passed(
    checked: Result<(), Refusal>,
    request: Request,
    mut next: Next,
) -> impl Future<Output = Result<Response, Problem>> {
    let answering = checked.map(|()| next.call(request));
    async move {
        let Ok(response) = answering?.await;
        Ok(response)
    }
}

/// What is true now need not be true later; a stream has said so in its own words already.
fn no_store(mut response: Response) -> Response {
    let own = response.headers_mut().entry(header::CACHE_CONTROL);
    own.or_insert(HeaderValue::from_static("no-store"));
    response
}

/// What every answer passes on its way out.
pub(super) fn finish(request: Request, mut next: Next) -> impl Future<Output = Response> {
    let answering = next.call(request);
    async move {
        let Ok(response) = answering.await;
        harden(explain(response))
    }
}

/// Says in words that an address has no such method: by itself the router sends a bare status, and afterwards a
/// header with the methods there are.
fn explain(response: Response) -> Response {
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        return response;
    }
    let text = "this address does not know this method: the header `Allow` names those it knows";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, text).into_response()
}

/// Tells browsers what they must not do with any of our answers.
fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(CONTENT_SECURITY);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

#[derive(Deserialize)]
pub(super) struct Login {
    token: String,
}

/// Gives the cookie to whoever knows the token.
pub(super) async fn login(
    State(web): State<Arc<Web>>,
    JsonBody(login): JsonBody<Login>,
) -> Result<Response, Problem> {
    let cookie = try_token(&web, &login.token)?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

/// The cookie, if this is the token. Guesses are few: after some wrong ones no token is looked at for a while.
pub(super) fn try_token(web: &Web, token: &str) -> Result<String, Problem> {
    let now = Instant::now();
    if let Some(wait) = web.throttle.closed_for(now) {
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens: wait a little");
        return Err(problem.after(wait.as_secs().max(1)));
    }
    if web.keys.token_is(token) {
        return Ok(web.keys.set_cookie());
    }
    web.throttle.count(now);
    tracing::warn!("somebody tried a wrong token");
    Err(Problem::new(StatusCode::UNAUTHORIZED, "this is not the token"))
}

/// Counts wrong tokens.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    window: Mutex<Option<(Instant, u32)>>,
}

impl Throttle {
    fn closed_for(&self, now: Instant) -> Option<Duration> {
        let window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let (began, tries) = (*window)?;
        let left = WINDOW.saturating_sub(now.duration_since(began));
        (tries >= TRIES && !left.is_zero()).then_some(left)
    }

    fn count(&self, now: Instant) {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        *window = match *window {
            Some((began, tries)) if now.duration_since(began) < WINDOW => Some((began, tries + 1)),
            _ => Some((now, 1)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_some_wrong_tokens_the_door_stays_closed_for_the_rest_of_the_window() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        for _ in 0..TRIES {
            assert_eq!(throttle.closed_for(start), None);
            throttle.count(start);
        }
        assert_eq!(throttle.closed_for(start + Duration::from_secs(20)), Some(Duration::from_secs(40)));
        assert_eq!(throttle.closed_for(start + WINDOW), None);
        throttle.count(start + WINDOW);
        assert_eq!(throttle.closed_for(start + WINDOW), None);
    }
}
