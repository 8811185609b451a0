//! The platform's API: every call carries a token, and one that was refused for its token is made once more with
//! a fresh one.

use std::sync::Arc;

use serde_json::Value;

use super::http::{Http, Method, answer};
use super::token::Tokens;
use super::trouble::{Kind, Trouble};

/// The API.
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

    /// The tokens it uses.
    pub(super) const fn tokens(&self) -> &Arc<Tokens> {
        &self.tokens
    }

    /// Makes a call.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Trouble> {
        self.with_token(async |token| {
            let url = format!("{}{path}", self.base);
            self.http.json(method.clone(), &url, Some(&authorization(token)), body).await
        })
        .await
    }

    /// Makes a call with a picture: the first generation of the API takes them with the message.
    pub(super) async fn call_with_image(
        &self,
        path: &str,
        fields: &[(&'static str, String)],
        image: &[u8],
        name: &str,
    ) -> Result<Value, Trouble> {
        self.with_token(async |token| {
            let part = reqwest::multipart::Part::bytes(image.to_vec()).file_name(name.to_owned());
            let mut form = reqwest::multipart::Form::new().part("file_image", part);
            for (key, value) in fields {
                form = form.text(*key, value.clone());
            }
            let request = self.http.client().post(format!("{}{path}", self.base));
            let request = request.header("authorization", authorization(token)).timeout(super::http::CALL);
            answer(request.multipart(form)).await
        })
        .await
    }

    async fn with_token(&self, call: impl AsyncFn(&str) -> Result<Value, Trouble>) -> Result<Value, Trouble> {
        let token = self.tokens.get().await?;
        match call(&token).await {
            Err(trouble) if trouble.kind == Kind::Token => {
                tracing::info!(app_id = self.app_id, what = trouble.what, "the access token was refused");
                self.tokens.refused(&token);
                let fresh = self.tokens.get().await?;
                let second = call(&fresh).await;
                // A fresh token that is refused as well may be refused for a while only.
                second.map_err(|trouble| match trouble.kind {
                    Kind::Token => Trouble { kind: Kind::Later, ..trouble },
                    _ => trouble,
                })
            }
            other => other,
        }
    }
}

/// What a token looks like in a header or in the gateway's frames.
pub(super) fn authorization(token: &str) -> String {
    format!("QQBot {token}")
}
