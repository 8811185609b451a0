//! What all speech servers share: address, key, bounded answers, and the many shapes of their errors.

use std::time::Duration;

use reqwest::{RequestBuilder, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::http_client::whole_story;

/// Most characters of a server's words that go to the log.
const MOST_DETAIL: usize = 300;

/// A server of speech recognition or synthesis.
#[derive(Clone, Debug)]
pub struct SpeechServer {
    pub http: reqwest::Client,
    /// Without a trailing slash.
    pub base_url: String,
    pub api_key: Option<SecretString>,
    pub model: String,
}

/// A response of a server, with any status.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

impl SpeechServer {
    pub(super) fn host(&self) -> &str {
        let rest = self.base_url.split_once("://").map_or(self.base_url.as_str(), |(_, rest)| rest);
        rest.split('/').next().unwrap_or_default()
    }

    pub(super) fn post(&self, path: &str) -> RequestBuilder {
        let request = self.http.post(format!("{}{path}", self.base_url));
        match &self.api_key {
            Some(key) => request.bearer_auth(key.expose_secret()),
            None => request,
        }
    }

    /// Sends a request and reads at most `most` bytes of the answer.
    ///
    /// # Errors
    /// When the server cannot be reached, breaks off, or answers more. The text is for the log.
    pub(super) async fn send(&self, request: RequestBuilder, most: usize) -> Result<Answer, String> {
        let told = |error: reqwest::Error| whole_story(&error.without_url());
        let mut response = request.send().await.map_err(told)?;
        let seconds =
            response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        let (status, retry_after) = (response.status(), seconds.map(Duration::from_secs));
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(told)? {
            if body.len() + piece.len() > most {
                return Err(format!("the answer is longer than {most} bytes"));
            }
            body.extend_from_slice(&piece);
        }
        Ok(Answer { status, retry_after, body })
    }
}

impl Answer {
    /// The server's own words about an error, shortened.
    pub(super) fn detail(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let parsed = serde_json::from_str::<Value>(&text).ok();
        let told = parsed.as_ref().and_then(error_text).unwrap_or_else(|| text.trim().to_owned());
        let short: String = told.chars().take(MOST_DETAIL).collect();
        format!("{}: {short}", self.status.as_u16())
    }

    /// Whether another try may succeed.
    pub(super) fn is_temporary(&self) -> bool {
        self.status.is_server_error() || matches!(self.status.as_u16(), 408 | 425 | 429)
    }
}

/// The message of an error in one of the shapes that servers use; `None` for JSON that is no error.
pub(super) fn error_text(json: &Value) -> Option<String> {
    let error = json.get("error").filter(|error| !error.is_null());
    let told = match error {
        Some(Value::String(text)) => Some(text.clone()),
        Some(error) => {
            error.get("message").and_then(Value::as_str).map(str::to_owned).or(Some(error.to_string()))
        }
        None => None,
    };
    let coded = || {
        let code = json.get("code").filter(|code| !code.is_null())?;
        let message = json.get("message").and_then(Value::as_str)?;
        Some(format!("{code} {message}"))
    };
    let detail =
        || json.get("detail").map(|detail| detail.as_str().map_or(detail.to_string(), str::to_owned));
    told.or_else(coded).or_else(detail)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_are_found_in_every_shape() {
        for (json, expected) in [
            (json!({ "error": { "message": "no such model", "type": "x" } }), Some("no such model")),
            (json!({ "error": "busy" }), Some("busy")),
            (json!({ "error": { "kind": 1 } }), Some(r#"{"kind":1}"#)),
            (
                json!({ "code": 20012, "message": "Model disabled", "data": null }),
                Some("20012 Model disabled"),
            ),
            (json!({ "detail": "Not Found" }), Some("Not Found")),
            (json!({ "text": "hello", "error": null }), None),
            (json!({ "text": "hello" }), None),
        ] {
            assert_eq!(error_text(&json).as_deref(), expected, "{json}");
        }
    }
}
