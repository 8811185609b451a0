//! One call of the platform's API: token, response envelope, deadline, and one retry with a fresh token. Never logs a
//! secret or message text.

use std::sync::Arc;
use std::time::Duration;

use reqwest::multipart::Part;
use reqwest::{Client, Method, RequestBuilder, Response, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::attachments::FETCH_WITHIN;
use super::fault::FeishuError;
use crate::adapters::chat::{Granted, TokenCache};
use crate::http_client::{BodyError, file_form, read_body, transport_error};

/// Deadline of an ordinary call.
const DEADLINE: Duration = Duration::from_secs(15);
/// Deadline of a call that carries a file.
const LONG_DEADLINE: Duration = Duration::from_secs(50);
/// How long before its expiry a token is renewed.
const RENEW_EARLY: Duration = Duration::from_secs(600);
/// Most bytes of a response.
const MOST_BYTES: usize = 8 << 20;

/// A client of the platform's API for one app. Cheap to clone.
#[derive(Clone, Debug)]
pub struct FeishuApi {
    base: Arc<str>,
    http: Client,
    tokens: TokenCache<FeishuError>,
}

#[derive(Debug)]
pub(super) struct ApiCall {
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Empty,
    Json(Value),
    Upload(FileUpload),
}

/// A file to upload, with its form fields.
#[derive(Clone, Debug)]
pub(super) struct FileUpload {
    pub(super) fields: Vec<(&'static str, String)>,
    /// The form field of the file itself.
    pub(super) field: &'static str,
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

impl ApiCall {
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), query: Vec::new(), body: Body::Empty }
    }

    pub(super) fn new(method: Method, path: impl Into<String>, body: Value) -> Self {
        Self { method, path: path.into(), query: Vec::new(), body: Body::Json(body) }
    }

    pub(super) fn upload(path: impl Into<String>, upload: FileUpload) -> Self {
        Self { method: Method::POST, path: path.into(), query: Vec::new(), body: Body::Upload(upload) }
    }

    pub(super) fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.query.push((key, value.into()));
        self
    }
}

impl FeishuApi {
    /// The API at `base` for one app. Opens no connection.
    pub fn new(http: Client, base: &str, app_id: &str, secret: &SecretString) -> Self {
        let base: Arc<str> = base.trim_end_matches('/').into();
        let (fetch_http, fetch_base) = (http.clone(), base.clone());
        let (app_id, secret) = (app_id.to_owned(), secret.clone());
        let tokens = TokenCache::new(RENEW_EARLY, move || {
            let (http, base) = (fetch_http.clone(), fetch_base.clone());
            let (app_id, secret) = (app_id.clone(), secret.clone());
            Box::pin(async move { fetch_token(&http, &base, &app_id, &secret).await })
        });
        Self { base, http, tokens }
    }

    /// Makes a call and returns the whole envelope of a success.
    pub(super) async fn call(&self, call: ApiCall) -> Result<Value, FeishuError> {
        let response = self.with_token(&call, ResponseReading::Json).await?;
        match response {
            ApiResponse::Json(envelope) => Ok(envelope),
            ApiResponse::Bytes(_) => Err(FeishuError::Network("an answer that is no json".to_owned())),
        }
    }

    /// Makes a call and returns the response, to be read as a file.
    pub(super) async fn open(&self, call: ApiCall) -> Result<Response, FeishuError> {
        match self.with_token(&call, ResponseReading::File).await? {
            ApiResponse::Bytes(response) => Ok(*response),
            ApiResponse::Json(_) => Err(FeishuError::Network("an answer that is no file".to_owned())),
        }
    }

    /// A call without a token and with an envelope of its own: returns status and body.
    pub(super) async fn bare(&self, path: &str, body: &Value) -> Result<(u16, Vec<u8>), FeishuError> {
        let request = self.http.post(format!("{}{path}", self.base)).timeout(DEADLINE);
        let request = request.header("locale", "zh").json(body);
        let response = request.send().await.map_err(|error| network(&error))?;
        let status = response.status().as_u16();
        Ok((status, read_body(response, MOST_BYTES).await?))
    }

    async fn with_token(&self, call: &ApiCall, reading: ResponseReading) -> Result<ApiResponse, FeishuError> {
        let once = |token| self.once(call, token, reading);
        self.tokens.with_token(FeishuError::wants_fresh_token, once).await
    }

    async fn once(
        &self,
        call: &ApiCall,
        token: SecretString,
        reading: ResponseReading,
    ) -> Result<ApiResponse, FeishuError> {
        let began = Instant::now();
        let result = self.answer(call, &token, reading).await;
        let took = began.elapsed().as_millis();
        match &result {
            Ok(_) => tracing::debug!(method = %call.method, path = call.path, took, "feishu call"),
            Err(error) => {
                tracing::warn!(method = %call.method, path = call.path, took, %error, "feishu call failed");
            }
        }
        result
    }

    async fn answer(
        &self,
        call: &ApiCall,
        token: &SecretString,
        reading: ResponseReading,
    ) -> Result<ApiResponse, FeishuError> {
        let response = self.request(call, token, reading)?.send().await.map_err(|error| network(&error))?;
        let status = response.status();
        let is_json = response
            .headers()
            .get("content-type")
            .and_then(|value| value.to_str().ok())
            .is_some_and(|kind| kind.contains("json"));
        if reading == ResponseReading::File && status.is_success() && !is_json {
            return Ok(ApiResponse::Bytes(Box::new(response)));
        }
        let header = |name: &str| {
            response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let log = header("x-tt-logid").unwrap_or_default();
        let after = header("x-ogw-ratelimit-reset").and_then(|text| text.parse().ok());
        let body = read_body(response, MOST_BYTES).await?;
        read_envelope(status.as_u16(), &body, after.map(Duration::from_secs), &log).map(ApiResponse::Json)
    }

    fn request(
        &self,
        call: &ApiCall,
        token: &SecretString,
        reading: ResponseReading,
    ) -> Result<RequestBuilder, FeishuError> {
        let mut url = Url::parse(&format!("{}{}", self.base, call.path))
            .map_err(|error| FeishuError::Network(format!("not an address: {error}")))?;
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        let request = self.http.request(call.method.clone(), url);
        let deadline = if reading == ResponseReading::File { FETCH_WITHIN } else { DEADLINE };
        let request = request.bearer_auth(token.expose_secret()).timeout(deadline);
        Ok(match &call.body {
            Body::Empty => request,
            Body::Json(body) => {
                request.header("content-type", "application/json; charset=utf-8").body(body.to_string())
            }
            Body::Upload(FileUpload { fields, field, name, bytes }) => {
                let part = Part::bytes(bytes.clone()).file_name(name.clone());
                request.multipart(file_form(fields.clone(), field, part)).timeout(LONG_DEADLINE)
            }
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseReading {
    Json,
    File,
}

#[derive(Debug)]
enum ApiResponse {
    Json(Value),
    Bytes(Box<Response>),
}

/// Parses a response: the envelope of a success, else the error.
fn read_envelope(status: u16, body: &[u8], after: Option<Duration>, log: &str) -> Result<Value, FeishuError> {
    let Ok(envelope) = serde_json::from_slice::<Value>(body) else {
        return Err(FeishuError::codeless(status, after));
    };
    match envelope.get("code").and_then(Value::as_i64) {
        Some(0) => Ok(envelope),
        Some(code) => {
            let words = envelope.get("msg").and_then(Value::as_str).unwrap_or_default();
            let words: String = words.chars().take(600).collect();
            let words = if log.is_empty() { words } else { format!("{words} (log {log})") };
            Err(FeishuError::of(code, words, after))
        }
        None => Err(FeishuError::codeless(status, after)),
    }
}

async fn fetch_token(
    http: &Client,
    base: &str,
    app_id: &str,
    secret: &SecretString,
) -> Result<Granted, FeishuError> {
    let url = format!("{base}/open-apis/auth/v3/tenant_access_token/internal");
    let body = json!({ "app_id": app_id, "app_secret": secret.expose_secret() });
    let request = http.post(url).timeout(DEADLINE).json(&body);
    let response = request.send().await.map_err(|error| network(&error))?;
    let status = response.status().as_u16();
    let answer = read_envelope(status, &read_body(response, MOST_BYTES).await?, None, "")?;
    let token = answer.get("tenant_access_token").and_then(Value::as_str).unwrap_or_default();
    if token.is_empty() {
        return Err(FeishuError::Network("an answer without a token".to_owned()));
    }
    let good_for = Duration::from_secs(answer.get("expire").and_then(Value::as_u64).unwrap_or(60));
    Ok(Granted { token: token.to_owned().into(), good_for })
}

impl From<BodyError> for FeishuError {
    fn from(error: BodyError) -> Self {
        Self::Network(error.to_string())
    }
}

fn network(error: &reqwest::Error) -> FeishuError {
    FeishuError::Network(transport_error(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_judged_by_its_code_and_not_by_its_status() {
        let read = |status, body: &str| read_envelope(status, body.as_bytes(), None, "L1");
        assert_eq!(read(200, r#"{"code":0,"data":{"a":1}}"#).unwrap()["data"]["a"], 1);
        assert_eq!(read(400, r#"{"code":0}"#).unwrap()["code"], 0);
        let refused = read(200, r#"{"code":230002,"msg":"not in the chat"}"#).unwrap_err();
        assert_eq!(
            refused,
            FeishuError::Refused { code: 230_002, words: "not in the chat (log L1)".to_owned() }
        );
        assert!(matches!(read(502, "<html>"), Err(FeishuError::Network(_))));
        assert!(matches!(read(500, "{}"), Err(FeishuError::Network(_))));
        for body in ["404 page not found", r#"{"detail":"Not Found"}"#] {
            assert!(matches!(read(404, body), Err(FeishuError::Refused { code: 404, .. })), "{body}");
        }
        for status in [403, 407, 408] {
            assert!(matches!(read(status, "<html>"), Err(FeishuError::Network(_))), "{status}");
        }
        assert!(read(400, "<html>").unwrap_err().is_codeless());
        assert!(!read(400, r#"{"code":400,"msg":"unknown"}"#).unwrap_err().is_codeless());
        assert!(matches!(read(429, "slow"), Err(FeishuError::Busy { .. })));
        let after = Some(Duration::from_secs(9));
        let busy = read_envelope(429, br#"{"code":99991400,"msg":"slow"}"#, after, "");
        assert_eq!(busy, Err(FeishuError::Busy { code: 99_991_400, after, words: "slow".to_owned() }));
    }

    #[test]
    fn nothing_secret_is_printed() {
        crate::http_client::install_tls();
        let api = FeishuApi::new(Client::new(), "http://127.0.0.1:1", "cli_a", &"canary".to_owned().into());
        assert!(!format!("{api:?}").contains("canary"));
    }
}
