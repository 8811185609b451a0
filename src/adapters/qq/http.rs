//! One HTTP call with a deadline. Knows nothing of tokens.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;

pub(super) use reqwest::Method;

use super::call_failure::{CallFailure, FailureKind};
use crate::http_client::with_causes;

/// Deadline of a call: the platform warns that a call may have taken effect before a slow response.
pub(super) const CALL: Duration = Duration::from_secs(15);
/// Deadline of a call that carries a file.
pub(super) const UPLOAD: Duration = Duration::from_secs(50);
/// Most bytes of a response.
const LONGEST_ANSWER: usize = 4 << 20;

#[derive(Clone, Debug)]
pub(super) struct QqHttp {
    client: Client,
}

impl QqHttp {
    pub(super) const fn new(client: Client) -> Self {
        Self { client }
    }

    /// The client, for calls of another shape.
    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    /// Sends JSON and parses a JSON response.
    pub(super) async fn json(
        &self,
        method: Method,
        url: &str,
        headers: &[(&'static str, &str)],
        body: Option<&Value>,
        deadline: Duration,
    ) -> Result<Value, CallFailure> {
        let mut request = self.client.request(method, url).timeout(deadline);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            // The platform requires exactly this type, without a charset.
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        answer(request).await
    }
}

/// Sends a request and parses the response.
pub(super) async fn answer(request: RequestBuilder) -> Result<Value, CallFailure> {
    let unreachable = |error: reqwest::Error| CallFailure::unreachable(story(&error));
    let response = request.send().await.map_err(unreachable)?;
    let status = response.status().as_u16();
    let after = wait_of(&response);
    let trace = response.headers().get("x-tps-trace-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let bytes = bounded(response).await?;
    let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    match CallFailure::of(status, &body, after) {
        None => Ok(body),
        Some(trouble) => {
            tracing::debug!(status, trace, what = trouble.what, "qq call refused");
            Err(trouble)
        }
    }
}

async fn bounded(mut response: Response) -> Result<Vec<u8>, CallFailure> {
    let mut bytes = Vec::new();
    while let Some(more) = response.chunk().await.map_err(|error| CallFailure::unreachable(story(&error)))? {
        bytes.extend_from_slice(&more);
        if bytes.len() > LONGEST_ANSWER {
            let what = "the platform's answer is too long".to_owned();
            return Err(CallFailure { kind: FailureKind::Refused, what, after: None });
        }
    }
    Ok(bytes)
}

fn wait_of(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// An error with its causes, without the URL: a URL may carry secrets.
fn story(error: &reqwest::Error) -> String {
    with_causes(if error.is_timeout() { "no answer in time" } else { "no connection" }, error)
}
