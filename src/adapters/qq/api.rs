//! The platform's API: every call carries a token; a call that was refused for its token is retried once with a fresh
//! one.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::http::{CALL, Http, Method, UPLOAD, answer};
use super::token::Tokens;
use super::trouble::{Kind, Trouble};

/// The header that names the token's app, as in the platform's own clients.
const APP_HEADER: &str = "x-union-appid";

#[derive(Clone, Debug)]
pub(super) struct Api {
    http: Http,
    base: String,
    app_id: String,
    tokens: Arc<Tokens>,
}

impl Api {
    pub(super) const fn new(http: Http, base: String, app_id: String, tokens: Arc<Tokens>) -> Self {
        Self { http, base, app_id, tokens }
    }

    pub(super) const fn tokens(&self) -> &Arc<Tokens> {
        &self.tokens
    }

    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Trouble> {
        self.call_within(CALL, method, path, body).await
    }

    /// Makes a call with this deadline.
    pub(super) async fn call_within(
        &self,
        deadline: Duration,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Trouble> {
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
        token: &str,
        body: Option<&Value>,
        deadline: Duration,
    ) -> Result<Value, Trouble> {
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
    ) -> Result<Value, Trouble> {
        let request = |token: &str| {
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
        token: &str,
        result: &Result<Value, Trouble>,
    ) -> Result<Option<Arc<str>>, Trouble> {
        match result {
            Err(trouble) if trouble.kind == Kind::Token => {
                tracing::info!(app_id = self.app_id, what = trouble.what, "access token refused");
                self.tokens.refused(token);
                self.tokens.get().await.map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// A fresh token that is refused as well may be accepted later, so the call counts as retryable.
fn no_third_try(second: Result<Value, Trouble>) -> Result<Value, Trouble> {
    second.map_err(|trouble| match trouble.kind {
        Kind::Token => Trouble { kind: Kind::Later, ..trouble },
        _ => trouble,
    })
}

/// The token's value in a header and in gateway frames.
pub(super) fn authorization(token: &str) -> String {
    format!("QQBot {token}")
}
