//! The platform's API: every call carries a token; a call that was refused for its token is retried once with a fresh
//! one.

use std::time::Duration;

use reqwest::multipart::Part;
use reqwest::{Client, Method, RequestBuilder, Response};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::call_failure::{CallFailure, FailureKind};
use super::options::QqOptions;
use crate::adapters::chat::{Granted, TokenCache};
use crate::http_client::{BodyError, file_form, read_body, transport_error};

/// The header that names the token's app, as in the platform's own clients.
const APP_HEADER: &str = "x-union-appid";

/// Deadline of a call: the platform warns that a call may have taken effect before a slow response.
const CALL: Duration = Duration::from_secs(15);
/// Deadline of a call that carries a file.
pub(super) const UPLOAD: Duration = Duration::from_secs(50);
/// Most bytes of a response.
const LONGEST_ANSWER: usize = 4 << 20;
/// How long before its expiry a token is renewed. The platform returns the same token until its last minute.
const RENEW_EARLY: Duration = Duration::from_secs(30);
/// Lifetime of a token where the platform reports none, in seconds. A token that expires earlier is refused and then
/// replaced.
const USUAL: u64 = 7200;

#[derive(Clone, Debug)]
pub(super) struct QqApi {
    http: Client,
    base: String,
    app_id: String,
    tokens: TokenCache<CallFailure>,
}

impl QqApi {
    /// The API for one app. Opens no connection.
    pub(super) fn new(http: Client, options: &QqOptions) -> Self {
        let (base, app_id) = (options.base(), options.app_id.clone());
        let (fetch_http, url) = (http.clone(), options.token_url.clone());
        let (secret, fetch_app_id) = (options.app_secret.clone(), app_id.clone());
        let tokens = TokenCache::new(RENEW_EARLY, move || {
            let body = json!({ "appId": fetch_app_id, "clientSecret": secret.expose_secret() });
            let request = with_json(fetch_http.post(&url).timeout(CALL), Some(&body));
            Box::pin(fetch_token(request))
        });
        Self { http, base, app_id, tokens }
    }

    pub(super) const fn tokens(&self) -> &TokenCache<CallFailure> {
        &self.tokens
    }

    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, CallFailure> {
        self.call_within(CALL, method, path, body).await
    }

    /// Makes a call with this deadline.
    pub(super) async fn call_within(
        &self,
        deadline: Duration,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, CallFailure> {
        let url = format!("{}{path}", self.base);
        self.send(|| with_json(self.http.request(method.clone(), &url).timeout(deadline), body)).await
    }

    /// Makes a call with an image: API v1 takes images with the message.
    pub(super) async fn call_with_image(
        &self,
        path: &str,
        fields: &[(&'static str, String)],
        image: &[u8],
        name: &str,
    ) -> Result<Value, CallFailure> {
        let url = format!("{}{path}", self.base);
        self.send(|| {
            let part = Part::bytes(image.to_vec()).file_name(name.to_owned());
            let form = file_form(fields.iter().cloned(), "file_image", part);
            self.http.post(&url).timeout(UPLOAD).multipart(form)
        })
        .await
    }

    /// A fresh token that is refused as well may be accepted later, so the call counts as retryable.
    async fn send(&self, request: impl Fn() -> RequestBuilder) -> Result<Value, CallFailure> {
        let call = |token: SecretString| {
            let request = request().header("authorization", authorization(&token));
            answer(request.header(APP_HEADER, &self.app_id))
        };
        let refused = |failure: &CallFailure| failure.kind == FailureKind::Token;
        self.tokens.with_token(refused, call).await.map_err(|failure| match failure.kind {
            FailureKind::Token => CallFailure { kind: FailureKind::Later, ..failure },
            _ => failure,
        })
    }
}

/// The platform requires exactly this content type, without a charset.
fn with_json(request: RequestBuilder, body: Option<&Value>) -> RequestBuilder {
    match body {
        Some(body) => request.header("content-type", "application/json").body(body.to_string()),
        None => request,
    }
}

/// Sends a request and parses the response.
async fn answer(request: RequestBuilder) -> Result<Value, CallFailure> {
    let unreachable = |error: reqwest::Error| CallFailure::unreachable(transport_error(&error));
    let response = request.send().await.map_err(unreachable)?;
    let status = response.status().as_u16();
    let after = retry_after(&response);
    let trace = response.headers().get("x-tps-trace-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let bytes = read_body(response, LONGEST_ANSWER).await.map_err(|error| match error {
        BodyError::TooLong => {
            CallFailure { kind: FailureKind::Refused, what: error.to_string(), after: None }
        }
        BodyError::Broken(what) => CallFailure::unreachable(what),
    })?;
    let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    match CallFailure::of(status, &body, after) {
        None => Ok(body),
        Some(failure) => {
            tracing::debug!(status, trace, what = failure.what, "qq call refused");
            Err(failure)
        }
    }
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The token's value in a header and in gateway frames.
pub(super) fn authorization(token: &SecretString) -> String {
    format!("QQBot {}", token.expose_secret())
}

async fn fetch_token(request: RequestBuilder) -> Result<Granted, CallFailure> {
    let answer = answer(request).await?;
    let (token, good_for) = read_token(&answer).ok_or_else(|| CallFailure {
        kind: FailureKind::Later,
        what: "the platform's answer has no access token".to_owned(),
        after: None,
    })?;
    Ok(Granted { token: SecretString::from(token), good_for })
}

/// The token and its lifetime; the platform sends the number also as a string.
fn read_token(answer: &Value) -> Option<(&str, Duration)> {
    let token = answer["access_token"].as_str().filter(|token| !token.is_empty())?;
    let lasts = &answer["expires_in"];
    let seconds = lasts.as_u64().or_else(|| lasts.as_str().and_then(|text| text.trim().parse().ok()));
    Some((token, Duration::from_secs(seconds.unwrap_or(USUAL))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_read_with_its_number_as_a_text_too() {
        for (lasts, seconds) in
            [(json!("7200"), 7200), (json!(60), 60), (json!(null), 7200), (json!("x"), 7200)]
        {
            let answer = json!({ "access_token": "t", "expires_in": lasts });
            assert_eq!(read_token(&answer), Some(("t", Duration::from_secs(seconds))));
        }
        assert_eq!(read_token(&json!({ "code": 1 })), None);
        assert_eq!(read_token(&json!({ "access_token": "" })), None);
    }
}
