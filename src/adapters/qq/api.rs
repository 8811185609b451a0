//! The platform's API: every call carries a token; a call that was refused for its token is retried once with a fresh
//! one.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::call_failure::{CallFailure, FailureKind};
use super::http::{CALL, Method, QqHttp, UPLOAD, answer};
use super::options::QqOptions;
use crate::adapters::chat::{Granted, TokenCache};

/// The header that names the token's app, as in the platform's own clients.
const APP_HEADER: &str = "x-union-appid";

/// How long before its expiry a token is renewed. The platform returns the same token until its last minute.
const RENEW_EARLY: Duration = Duration::from_secs(30);
/// Lifetime of a token where the platform reports none, in seconds. A token that expires earlier is refused and then
/// replaced.
const USUAL: u64 = 7200;

#[derive(Clone, Debug)]
pub(super) struct QqApi {
    http: QqHttp,
    base: String,
    app_id: String,
    tokens: TokenCache<CallFailure>,
}

impl QqApi {
    /// The API for one app. Opens no connection.
    pub(super) fn new(http: reqwest::Client, options: &QqOptions) -> Self {
        let (http, base, app_id) = (QqHttp::new(http), options.base(), options.app_id.clone());
        let (fetch_http, url) = (http.clone(), options.token_url.clone());
        let secret = options.app_secret.clone();
        let body = move |app_id: &str| json!({ "appId": app_id, "clientSecret": secret.expose_secret() });
        let fetch_app_id = app_id.clone();
        let tokens = TokenCache::new(RENEW_EARLY, move || {
            let (http, url, body) = (fetch_http.clone(), url.clone(), body(&fetch_app_id));
            Box::pin(async move { fetch_token(&http, &url, &body).await })
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
        let token = self.tokens.get().await?;
        let first = self.once(method.clone(), &url, &token, body, deadline).await;
        let Some(fresh) = self.fresh_after(&token, &first).await? else { return first };
        no_third_try(self.once(method, &url, &fresh, body, deadline).await)
    }

    async fn once(
        &self,
        method: Method,
        url: &str,
        token: &SecretString,
        body: Option<&Value>,
        deadline: Duration,
    ) -> Result<Value, CallFailure> {
        let authorization = authorization(token);
        let headers = [("authorization", authorization.as_str()), (APP_HEADER, self.app_id.as_str())];
        self.http.json(method, url, &headers, body, deadline).await
    }

    /// Makes a call with an image: API v1 takes images with the message.
    pub(super) async fn call_with_image(
        &self,
        path: &str,
        fields: &[(&'static str, String)],
        image: &[u8],
        name: &str,
    ) -> Result<Value, CallFailure> {
        let request = |token: &SecretString| {
            let part = reqwest::multipart::Part::bytes(image.to_vec()).file_name(name.to_owned());
            let form = reqwest::multipart::Form::new().part("file_image", part);
            let form = fields.iter().fold(form, |form, (key, value)| form.text(*key, value.clone()));
            let request = self.http.client().post(format!("{}{path}", self.base));
            let request = request.header("authorization", authorization(token));
            request.header(APP_HEADER, self.app_id.as_str()).timeout(UPLOAD).multipart(form)
        };
        let token = self.tokens.get().await?;
        let first = answer(request(&token)).await;
        let Some(fresh) = self.fresh_after(&token, &first).await? else { return first };
        no_third_try(answer(request(&fresh)).await)
    }

    /// A fresh token, where a call was refused for its token.
    async fn fresh_after(
        &self,
        token: &SecretString,
        result: &Result<Value, CallFailure>,
    ) -> Result<Option<SecretString>, CallFailure> {
        match result {
            Err(trouble) if trouble.kind == FailureKind::Token => {
                tracing::info!(app_id = self.app_id, what = trouble.what, "access token refused");
                self.tokens.reject(token);
                self.tokens.get().await.map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// A fresh token that is refused as well may be accepted later, so the call counts as retryable.
fn no_third_try(second: Result<Value, CallFailure>) -> Result<Value, CallFailure> {
    second.map_err(|trouble| match trouble.kind {
        FailureKind::Token => CallFailure { kind: FailureKind::Later, ..trouble },
        _ => trouble,
    })
}

/// The token's value in a header and in gateway frames.
pub(super) fn authorization(token: &SecretString) -> String {
    format!("QQBot {}", token.expose_secret())
}

async fn fetch_token(http: &QqHttp, url: &str, body: &Value) -> Result<Granted, CallFailure> {
    let answer = http.json(Method::POST, url, &[], Some(body), CALL).await?;
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
