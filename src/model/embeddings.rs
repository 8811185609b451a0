//! Embeddings of any OpenAI-compatible server: `POST /embeddings`.

use std::sync::Arc;
use std::time::Duration;

use async_openai::config::Config as _;
use http::header::CONTENT_TYPE;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;

use super::ModelSpec;
use super::endpoint::{BadKey, EndpointUrl};
use super::failure::{Failure, classify};
use super::metering::MeteredAttempt;
use crate::domain::tokens::estimate_tokens;
use crate::domain::{Payer, Purpose};
use crate::http_client::{Http, whole_story};
use crate::ports::{Account, BoxFuture, Embedder, MOST_EMBEDDED, Meter, ModelError, Prompt};
use crate::usage::{Dialect, usage_of};

/// Largest answer: 64 vectors of 4,096 numbers in digits.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// How much of a refusal is read.
const MOST_REFUSAL: usize = 64 * 1024;

/// An embedding model on a server.
#[derive(Clone, Debug)]
pub struct EmbeddingSpec {
    pub base_url: String,
    pub api_key: Option<SecretString>,
    pub model: String,
    /// `None` means as many as the model makes.
    pub dimensions: Option<u32>,
    /// How long one call may take.
    pub timeout: Duration,
}

/// Asks an embedding model on a server.
#[derive(Debug)]
pub struct OpenAiEmbedder {
    spec: EmbeddingSpec,
    name: String,
    http: Http,
    meter: Arc<dyn Meter>,
    endpoint: Result<EndpointUrl, BadKey>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    data: Vec<Item>,
    #[serde(default)]
    usage: serde_json::Value,
}

#[derive(Debug, Deserialize)]
struct Item {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl OpenAiEmbedder {
    /// Does no IO; an invalid key is reported at the first call.
    pub fn new(spec: EmbeddingSpec, http: Http, meter: Arc<dyn Meter>) -> Self {
        let endpoint = EndpointUrl::new(&spec.base_url, spec.api_key.as_ref());
        let name = match spec.dimensions {
            Some(dimensions) => format!("{}/{dimensions}", spec.model),
            None => spec.model.clone(),
        };
        Self { spec, name, http, meter, endpoint }
    }

    /// Asks the server; the call is reserved before and settled after, however it ends.
    async fn metered(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Failure> {
        let payer = Payer { purpose: Purpose::Embedding, ..Payer::default() };
        let input = texts.iter().map(|text| estimate_tokens(text)).sum::<usize>();
        let prompt = Prompt {
            account: Some(Account {
                input: u64::try_from(input).ok(),
                ..Account::new(self.meter.clone(), payer)
            }),
            ..Prompt::default()
        };
        let spec = ModelSpec::new(self.spec.base_url.clone(), self.spec.model.clone());
        // It has no answer; one token has a prompt refused that does not fit.
        let mut attempt = MeteredAttempt::begin(&spec, &prompt, Some(1)).await?;
        let asked = timeout(self.spec.timeout, self.ask(texts)).await;
        let asked = asked.unwrap_or(Err(Failure::Silent { awaited: "embeddings", limit: self.spec.timeout }));
        let counted = asked.as_ref().ok().and_then(|(_, usage)| usage_of(usage, Dialect::of(&spec.base_url)));
        attempt.end_as(asked.as_ref().err(), counted);
        asked.map(|(vectors, _)| vectors)
    }

    async fn ask(&self, texts: &[String]) -> Result<(Vec<Vec<f32>>, serde_json::Value), Failure> {
        let endpoint = self.endpoint.clone().map_err(|error| Failure::BadKey(error.to_string()))?;
        let client = self
            .http
            .client(&self.spec.base_url)
            .map_err(|error| Failure::Internal(format!("cannot set up http: {}", whole_story(&error))))?;
        let mut body = json!({ "model": self.spec.model, "input": texts, "encoding_format": "float" });
        if let (Some(dimensions), Some(body)) = (self.spec.dimensions, body.as_object_mut()) {
            body.insert("dimensions".to_owned(), dimensions.into());
        }
        let request = client
            .post(endpoint.url("/embeddings"))
            .headers(endpoint.headers())
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string());
        let response =
            request.send().await.map_err(|error| Failure::Unreachable(whole_story(&error.without_url())))?;
        let status = response.status();
        let most = if status.is_success() { MOST_BYTES } else { MOST_REFUSAL };
        let bytes = read(response, most).await?;
        if !status.is_success() {
            let body = String::from_utf8_lossy(&bytes).into_owned();
            return Err(Failure::Refused { status: status.as_u16(), body, retry_after: None });
        }
        let mut answer: Answer =
            serde_json::from_slice(&bytes).map_err(|error| Failure::Unreadable(error.to_string()))?;
        let usage = answer.usage.take();
        vectors_of(answer, texts.len())
            .map(|vectors| (vectors, usage))
            .ok_or_else(|| Failure::Unreadable("not one vector of the same length for each text".to_owned()))
    }
}

async fn read(mut response: reqwest::Response, most: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|error| Failure::Broken(whole_story(&error.without_url())))?
    {
        if bytes.len().saturating_add(chunk.len()) > most {
            return Err(Failure::Unreadable(format!("longer than {most} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// One vector of length 1 for each text, all of the same dimension; nothing where the answer is another one.
fn vectors_of(answer: Answer, texts: usize) -> Option<Vec<Vec<f32>>> {
    let mut items = answer.data;
    if items.len() != texts {
        return None;
    }
    items.sort_by_key(|item| item.index);
    let dimension = items.first()?.embedding.len();
    let vectors = items.into_iter().map(|item| {
        let length = item.embedding.iter().map(|value| value * value).sum::<f32>().sqrt();
        let usable = item.embedding.len() == dimension && length.is_finite() && length > f32::EPSILON;
        usable.then(|| item.embedding.iter().map(|value| value / length).collect())
    });
    vectors.collect()
}

impl Embedder for OpenAiEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    fn embed(&self, mut texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ModelError>> {
        texts.truncate(MOST_EMBEDDED);
        Box::pin(async move {
            self.metered(&texts).await.map_err(|failure| {
                let key = self.spec.api_key.as_ref().map(ExposeSecret::expose_secret);
                classify(&failure, &self.spec.model, key)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_used_only_if_it_has_one_vector_of_the_same_length_for_each_text() {
        let read = |answer: serde_json::Value| vectors_of(serde_json::from_value(answer).unwrap(), 2);
        let swapped =
            json!({ "data": [{ "index": 1, "embedding": [0, 2] }, { "index": 0, "embedding": [3, 4] }] });
        assert_eq!(read(swapped), Some(vec![vec![0.6, 0.8], vec![0.0, 1.0]]));
        for wrong in [
            json!({ "data": [] }),
            json!({ "data": [{ "embedding": [1] }] }),
            json!({ "data": [{ "embedding": [1] }, { "embedding": [1, 2] }] }),
            json!({ "data": [{ "embedding": [1] }, { "embedding": [0] }] }),
            json!({ "data": [{ "embedding": [1] }, { "embedding": [1] }, { "embedding": [1] }] }),
        ] {
            assert_eq!(read(wrong.clone()), None, "{wrong}");
        }
    }
}
