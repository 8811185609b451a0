//! Webhooks of the platforms. They know neither our token nor our host name; each hook authenticates its caller itself.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;

use super::problem::Problem;
use super::server::Web;
use crate::ports::{Hook, HookRequest};

/// Deadline of a hook.
const DEADLINE: Duration = Duration::from_secs(60);

pub(super) fn routes(hooks: &[Arc<dyn Hook>]) -> Router<Arc<Web>> {
    hooks.iter().fold(Router::new(), |routes, hook| {
        let called = hook.clone();
        let call = move |headers: HeaderMap, body: Result<Bytes, BytesRejection>| {
            call(called.clone(), headers, body)
        };
        routes.route(hook.path(), post(call))
    })
}

async fn call(hook: Arc<dyn Hook>, headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(rejection) => return Problem::new(rejection.status(), rejection.body_text()).into_response(),
    };
    let request = HookRequest { headers, body: body.into() };
    let Ok(answer) = tokio::time::timeout(DEADLINE, hook.call(request)).await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if answer.body.is_empty() {
        return status.into_response();
    }
    (status, [(header::CONTENT_TYPE, "application/json")], answer.body).into_response()
}
