//! The HTTP transport under async-openai.
//!
//! By itself async-openai retries silently, follows any `Retry-After`, and drops the status of a refusal whose body is
//! not OpenAI's. This transport sends once, and returns a refusal completely. A server that answers a streaming request
//! with one JSON document is read as a stream of one event, so that there is one way to read answers.

use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use futures_util::{StreamExt, TryFutureExt};
use http::HeaderMap;
use http::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Body, Client, Request, Response};
use tower_service::Service;

use super::failure::Failure;
use super::lossy::LossyUtf8;
use super::receive::StreamEnd;
use crate::domain::Timestamp;
use crate::http_client::whole_story;
use crate::ports::{BoxFuture, Clock};

/// How much of a refusal is read.
const MAX_REFUSAL: usize = 64 * 1024;
/// How much of a stream is read, most of which is not text; limits the memory.
const MAX_STREAM: usize = 32 * 1024 * 1024;
/// Largest document, or line of a stream, that can only be parsed as a whole.
const MAX_WHOLE: usize = 8 * 1024 * 1024;

/// Sends one request of async-openai, once.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    client: Client,
    clock: Arc<dyn Clock>,
    ended: EndSeen,
}

/// How the stream ended: async-openai does not report the end mark. The first end counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndSeen(Arc<OnceLock<StreamEnd>>);

impl EndSeen {
    pub(crate) fn get(&self) -> StreamEnd {
        self.0.get().copied().unwrap_or_default()
    }

    fn set(&self, end: StreamEnd) {
        self.0.get_or_init(|| end);
    }
}

impl Transport {
    /// A transport for one call, which records the end of the answer in `ended`.
    pub(crate) fn new(client: Client, clock: Arc<dyn Clock>, ended: EndSeen) -> Self {
        Self { client, clock, ended }
    }

    async fn send(self, factory: HttpRequestFactory) -> Result<Response, Failure> {
        let request = sent_once(factory.build().await.map_err(failure_of)?);
        // The factory keeps the whole body for retries, which are made elsewhere.
        drop(factory);
        let response = self.client.execute(request).await.map_err(unsent)?;
        if !response.status().is_success() {
            return Err(refusal(response, self.clock.now()).await);
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.contains("json") || kind.contains("html") {
            whole_as_event(response, &self.ended).await
        } else {
            Ok(watched(response, self.ended))
        }
    }
}

impl Service<HttpRequestFactory> for Transport {
    type Response = Response;
    type Error = OpenAIError;
    type Future = BoxFuture<'static, Result<Response, OpenAIError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        Box::pin(self.clone().send(factory).map_err(|failure| OpenAIError::Boxed(Box::new(failure))))
    }
}

/// The same request with a body that is freed as soon as it is sent: the answer to a long prompt may take minutes.
///
/// Over TLS it may be HTTP/2, where a server can return a request unread; so there the body is kept.
fn sent_once(mut request: Request) -> Request {
    if request.url().scheme() == "http"
        && let Some(text) = request.body().and_then(Body::as_bytes).map(<[u8]>::to_vec)
        && let Ok(text) = String::from_utf8(text)
    {
        *request.body_mut() = Some(Body::wrap(text));
    }
    request
}

/// Converts async-openai's error. A failure of ours passes through it unchanged.
pub(crate) fn failure_of(error: OpenAIError) -> Failure {
    match error {
        OpenAIError::Boxed(inner) => match inner.downcast::<Failure>() {
            Ok(failure) => *failure,
            Err(other) => Failure::Internal(other.to_string()),
        },
        OpenAIError::Reqwest(error) => unsent(error),
        OpenAIError::JSONDeserialize(_, content) => Failure::Unreadable(content),
        OpenAIError::StreamError(error) => Failure::Broken(error.to_string()),
        OpenAIError::ApiError(error) => Failure::Refused {
            status: error.status_code.as_u16(),
            body: error.api_error.message,
            retry_after: None,
        },
        OpenAIError::FileSaveError(text)
        | OpenAIError::FileReadError(text)
        | OpenAIError::InvalidArgument(text) => Failure::Internal(text),
    }
}

fn unsent(error: reqwest::Error) -> Failure {
    // A URL may contain a password.
    let error = error.without_url();
    let story = whole_story(&error);
    if error.is_builder() {
        Failure::Unsendable(format!("{story}; is the base url right?"))
    } else if error.is_connect() {
        Failure::Unreachable(story)
    } else {
        Failure::Broken(story)
    }
}

async fn refusal(mut response: Response, now: Timestamp) -> Failure {
    let status = response.status();
    let retry_after = retry_after(response.headers(), now);
    let body = match response.headers().get(LOCATION).and_then(|location| location.to_str().ok()) {
        Some(location) if status.is_redirection() => format!("redirects to {location}"),
        _ => {
            let mut body = Vec::new();
            // The status is enough where the body breaks off.
            while let Ok(Some(more)) = response.chunk().await {
                body.extend_from_slice(&more);
                if body.len() >= MAX_REFUSAL {
                    body.truncate(MAX_REFUSAL);
                    break;
                }
            }
            String::from_utf8_lossy(&body).into_owned()
        }
    };
    Failure::Refused { status: status.as_u16(), body, retry_after }
}

/// The server's retry delay: milliseconds, seconds or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().and_then(|n| Duration::try_from_secs_f64(n).ok());
    if let Some(millis) = text("retry-after-ms").and_then(number) {
        return Some(millis / 1000);
    }
    let wish = text("retry-after")?;
    number(wish).or_else(|| {
        let at = jiff::fmt::rfc2822::parse(wish).ok()?.timestamp().as_millisecond();
        Some(Duration::from_millis(Timestamp::from_millis(at).millis_since(now)))
    })
}

/// Reads a whole document and returns it as a stream of one event.
async fn whole_as_event(mut response: Response, ended: &EndSeen) -> Result<Response, Failure> {
    let mut body = Vec::new();
    while let Some(more) =
        response.chunk().await.map_err(|error| Failure::Broken(whole_story(&error.without_url())))?
    {
        body.extend_from_slice(&more);
        if body.len() > MAX_WHOLE {
            return Err(Failure::Unreadable("a document of more than 8 MB".to_owned()));
        }
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    let body = match serde_json::from_str::<serde_json::Value>(&body) {
        Ok(document) => {
            ended.set(StreamEnd::Marked);
            format!("data: {document}\n\ndata: [DONE]\n\n")
        }
        // A stream with a wrong content type.
        Err(_) if body.trim_start().starts_with("data:") => {
            if EndMark::default().feed(body.as_bytes()) {
                ended.set(StreamEnd::Marked);
            }
            body
        }
        Err(_) => return Err(Failure::Unreadable(body)),
    };
    Ok(http::Response::new(Body::from(body)).into())
}

/// The same stream as text, with its end recorded and its size limited.
fn watched(response: Response, ended: EndSeen) -> Response {
    let watch = (EndMark::default(), LossyUtf8::default(), Size::default());
    let bytes = response.bytes_stream().scan(watch, move |(mark, text, size), bytes| {
        let seen = match bytes {
            Ok(bytes) if !size.grows_to_fit(&bytes) => {
                ended.set(StreamEnd::Cut);
                None
            }
            Ok(bytes) => {
                if mark.feed(&bytes) {
                    ended.set(StreamEnd::Marked);
                }
                Some(Ok(text.feed(&bytes)))
            }
            Err(error) => Some(Err(std::io::Error::other(whole_story(&error.without_url())))),
        };
        std::future::ready(seen)
    });
    http::Response::new(Body::wrap_stream(bytes)).into()
}

/// The size of a stream so far.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    all: usize,
    line: usize,
}

impl Size {
    /// Counts bytes; returns whether the size is within the limits.
    fn grows_to_fit(&mut self, bytes: &[u8]) -> bool {
        self.all = self.all.saturating_add(bytes.len());
        let last_line = bytes.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len);
        self.line = if last_line == bytes.len() { self.line.saturating_add(last_line) } else { last_line };
        self.all <= MAX_STREAM && self.line <= MAX_WHOLE
    }
}

/// Searches for a line `data: [DONE]`, for any split of the bytes.
#[derive(Clone, Debug, Default)]
struct EndMark {
    line: Vec<u8>,
}

impl EndMark {
    /// The length of the longest line that can be the mark, plus one.
    const ENOUGH: usize = 16;

    /// Adds bytes; returns whether they contain the mark.
    fn feed(&mut self, bytes: &[u8]) -> bool {
        let mut seen = false;
        for byte in bytes {
            if matches!(byte, b'\n' | b'\r') {
                self.line.clear();
            } else if self.line.len() < Self::ENOUGH {
                self.line.push(*byte);
                seen |= self.line.strip_prefix(b"data:").is_some_and(|rest| rest.trim_ascii() == b"[DONE]");
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_end_is_seen_wherever_it_was_cut() {
        for (stream, expected) in [
            ("data: {}\n\ndata: [DONE]\n\n", true),
            ("data:[DONE]", true),
            ("data: {}\r\n\r\ndata: [DONE]\r\n", true),
            ("data: {\"x\":\"data: [DONE]\"}\n\n", false),
            ("data: {}\n\n", false),
            ("", false),
        ] {
            for cut in 0..=stream.len() {
                let (head, tail) = stream.as_bytes().split_at(cut);
                let mut mark = EndMark::default();
                let seen = mark.feed(head) | mark.feed(tail);
                assert_eq!(seen, expected, "{stream:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_body_is_kept_only_where_it_may_be_handed_back_and_always_says_its_length() {
        for (url, kept) in [("http://host/v1", false), ("https://host/v1", true)] {
            let mut request = Request::new(http::Method::POST, url.parse().unwrap());
            *request.body_mut() = Some(Body::from("{\"a\":\"中\"}"));
            let request = sent_once(request);
            let body = request.body().unwrap();
            assert_eq!(body.as_bytes().is_some(), kept, "{url}");
            assert_eq!(hyper::body::Body::size_hint(body).exact(), Some(11), "{url}");
        }
    }

    #[test]
    fn neither_a_stream_nor_a_line_may_be_endless() {
        let fitting = |piece: &[u8]| {
            let mut size = Size::default();
            (0..1000).take_while(|_| size.grows_to_fit(piece)).count() * piece.len()
        };
        assert_eq!(fitting(&[b'x'; 1 << 16]), MAX_WHOLE);
        let mut lines = [b'x'; 1 << 16];
        lines[100] = b'\n';
        assert_eq!(fitting(&lines), MAX_STREAM);
    }

    #[test]
    fn a_wish_to_wait_is_read_in_every_spelling() {
        let now = Timestamp::from_millis(1_445_412_480_000 - 5_000);
        for (name, value, expected) in [
            ("retry-after", "2", Some(2_000)),
            ("retry-after", "0.5", Some(500)),
            ("retry-after-ms", "250", Some(250)),
            ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT", Some(5_000)),
            ("retry-after", "Fri, 21 Oct 2005 07:28:00 GMT", Some(0)),
            ("retry-after", "-3", None),
            ("retry-after", "soon", None),
        ] {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
            assert_eq!(retry_after(&headers, now), expected.map(Duration::from_millis), "{value}");
        }
    }

    proptest! {
        #[test]
        fn no_header_is_too_odd(value in "[ -~]{0,40}") {
            let headers = HeaderMap::from_iter([("retry-after".parse().unwrap(), value.parse().unwrap())]);
            retry_after(&headers, Timestamp::from_millis(0));
        }
    }
}
