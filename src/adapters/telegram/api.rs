//! Calls to the Bot API. The payloads are teloxide's where it has them; the transport is our own, because teloxide's
//! sleeps ten seconds on a 5xx before it returns, and treats a response that it cannot parse as a failure.
//!
//! The error of a call says whether the call took effect, did not, or whether that is unknown. The token is part of
//! every URL, so no error carries a URL.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::RETRY_AFTER;
use reqwest::multipart::Part;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use teloxide_core::requests::Payload;

use crate::http_client::{file_form, read_body, transport_error};

/// Deadline of an ordinary call.
pub(super) const CALL: Duration = Duration::from_secs(20);
/// Deadline of sending a message. A server that stalls for half a minute and then continues has sent it: an earlier
/// time-out would send it again.
pub(super) const SEND: Duration = Duration::from_secs(40);
/// Deadline of sending a file.
const UPLOAD: Duration = Duration::from_secs(55);
/// Caps `retry_after` at a day, so that adding it to a clock cannot overflow.
const LONGEST_ASKED: f64 = 24.0 * 3600.0;
/// Most bytes of a response.
const MAX_ANSWER: usize = 16 << 20;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The server refused the call.
    #[error("{description} ({code})")]
    Refused {
        code: u16,
        description: String,
        /// The server's `retry_after`.
        retry_after: Option<Duration>,
        /// The new id of a migrated chat.
        migrate_to: Option<i64>,
    },
    /// The call is unknown there; the response may come from a proxy.
    #[error("there is no such call here ({0})")]
    NoSuchCall(u16),
    /// The call did not reach the server.
    #[error("not sent: {0}")]
    NotSent(String),
    /// A gateway error: the server may have received the call all the same.
    #[error("gateway error {0}")]
    Gateway(u16),
    /// Sent, without a readable response: it may have taken effect.
    #[error("no usable answer: {0}")]
    Unsure(String),
}

impl ApiError {
    /// Whether the server or a gateway reports an internal error, which may be temporary.
    pub(super) const fn is_broken(&self) -> bool {
        matches!(self, Self::Gateway(_) | Self::Refused { code: 500 | 502.., .. })
    }

    /// Whether the call may have taken effect all the same.
    pub(super) const fn may_have_worked(&self) -> bool {
        matches!(self, Self::Unsure(_) | Self::Gateway(_) | Self::Refused { code: 500.., .. })
    }

    /// The server's code and description of a refusal.
    pub fn refusal(&self) -> Option<(u16, &str)> {
        match self {
            Self::Refused { code, description, .. } => Some((*code, description)),
            Self::NoSuchCall(_) | Self::NotSent(_) | Self::Gateway(_) | Self::Unsure(_) => None,
        }
    }

    /// Whether the server's description contains this text, ignoring case.
    pub fn says(&self, words: &str) -> bool {
        self.refusal().is_some_and(|(_, text)| text.to_lowercase().contains(&words.to_lowercase()))
    }
}

/// A file to send.
#[derive(Clone, Debug)]
pub struct Upload {
    /// The name of its form field: `document`, `photo`, `voice`.
    pub field: &'static str,
    pub name: String,
    pub media_type: String,
    pub content: Vec<u8>,
    /// How long a voice message is; clients show it before they fetch the file.
    pub seconds: Option<u64>,
}

/// One bot on one server. Cheap to clone.
#[derive(Clone)]
pub struct BotApi {
    http: reqwest::Client,
    base: String,
    token: SecretString,
}

impl std::fmt::Debug for BotApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").field("base", &self.base).finish_non_exhaustive()
    }
}

impl BotApi {
    /// The bot of this token on the server at `base`, such as `https://api.telegram.org`.
    pub fn new(http: reqwest::Client, base: &str, token: SecretString) -> Self {
        Self { http, base: base.trim_end_matches('/').to_owned(), token }
    }

    /// The bot's own id, which is no secret.
    pub fn bot(&self) -> &str {
        self.token.expose_secret().split_once(':').map_or("", |(bot, _)| bot)
    }

    /// Makes a call that teloxide has a payload for.
    pub async fn call<P>(&self, payload: &P) -> Result<Value, ApiError>
    where
        P: Payload + Serialize + Sync,
    {
        self.ask(&documented(P::NAME), payload, CALL).await
    }

    /// Makes any other call and parses its result.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        body: &(impl Serialize + Sync),
        timeout: Duration,
    ) -> Result<T, ApiError> {
        let request = self.http.post(self.address(method)).timeout(timeout).json(body);
        read(request.send().await).await
    }

    /// Sends a file with the other fields of a call.
    pub async fn upload(
        &self,
        method: &str,
        fields: Vec<(&'static str, String)>,
        file: Upload,
    ) -> Result<Value, ApiError> {
        let part = Part::bytes(file.content).file_name(file.name);
        let part = part.mime_str(&file.media_type).map_err(unanswered)?;
        let duration = file.seconds.map(|seconds| ("duration", seconds.to_string()));
        let form = file_form(fields.into_iter().chain(duration), file.field, part);
        let request = self.http.post(self.address(method)).timeout(UPLOAD).multipart(form);
        read(request.send().await).await
    }

    /// Starts the download of a file by its `getFile` path. The path must be relative.
    pub async fn download(&self, path: &str) -> Result<reqwest::Response, ApiError> {
        let token = self.token.expose_secret();
        let address = format!("{}/file/bot{token}/{path}", self.base);
        let answer = self.http.get(address).send().await.map_err(unanswered)?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let (code, description) = (status.as_u16(), "the file cannot be fetched".to_owned());
        Err(ApiError::Refused { code, description, retry_after: None, migrate_to: None })
    }

    fn address(&self, method: &str) -> String {
        format!("{}/bot{}/{method}", self.base, self.token.expose_secret())
    }
}

/// A call's name in the documented spelling. Telegram ignores the case, other servers may not.
fn documented(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

/// Parses a response: the body decides, not the status.
async fn read<T: DeserializeOwned>(answer: Result<reqwest::Response, reqwest::Error>) -> Result<T, ApiError> {
    let answer = answer.map_err(unanswered)?;
    let status = answer.status();
    let header = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = header.and_then(|header| seconds(&header.into()));
    let body = read_body(answer, MAX_ANSWER).await.map_err(|error| ApiError::Unsure(error.to_string()))?;
    match serde_json::from_slice::<ApiReply<T>>(&body) {
        Ok(ApiReply { ok: true, result: Some(result), .. }) => Ok(result),
        Ok(envelope) if !envelope.ok => Err(envelope.refusal(status.as_u16(), retry_after)),
        // A success without a result, where the caller expects none.
        Ok(_) => {
            T::deserialize(Value::Null).map_err(|_| ApiError::Unsure("the answer has no result".to_owned()))
        }
        Err(_) if status == StatusCode::TOO_MANY_REQUESTS => {
            let description = "gateway error 429".to_owned();
            Err(ApiError::Refused { code: 429, description, retry_after, migrate_to: None })
        }
        // A proxy answered: the server itself did not receive the call.
        Err(_) if matches!(status.as_u16(), 400 | 404 | 405 | 501) => {
            Err(ApiError::NoSuchCall(status.as_u16()))
        }
        Err(_) if status.is_client_error() => Err(ApiError::NotSent(format!("gateway error {status}"))),
        Err(_) if status.is_server_error() => Err(ApiError::Gateway(status.as_u16())),
        Err(_) => Err(ApiError::Unsure(format!("the server answered {status} without JSON"))),
    }
}

#[derive(serde::Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct ApiReply<T> {
    ok: bool,
    #[serde(default = "Option::default")]
    result: Option<T>,
    #[serde(default)]
    error_code: Value,
    #[serde(default)]
    description: Value,
    #[serde(default)]
    parameters: Value,
}

impl<T> ApiReply<T> {
    /// The error of a refusal. A missing code is derived from the description; a missing `retry_after` from the header.
    fn refusal(self, status: u16, header: Option<Duration>) -> ApiError {
        let description = self.description.as_str().unwrap_or_default().to_owned();
        let parameter = |name: &str| self.parameters.get(name);
        let code = number(&self.error_code).and_then(|code| u16::try_from(code).ok());
        let code = code.or(Some(status).filter(|status| *status >= 400));
        let asked = parameter("retry_after").and_then(seconds).or_else(|| retry_after_in(&description));
        ApiError::Refused {
            code: code.unwrap_or_else(|| code_of(&description)),
            retry_after: asked.or(header),
            migrate_to: parameter("migrate_to_chat_id").and_then(number),
            description,
        }
    }
}

/// An integer, also as a string.
fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// A duration in seconds, as a number or a string: rounded up and capped.
fn seconds(value: &Value) -> Option<Duration> {
    let secs: f64 = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    let secs = if secs.is_nan() { return None } else { secs.clamp(0.0, LONGEST_ASKED) };
    Some(Duration::from_secs_f64(secs.ceil()))
}

/// The code that belongs to the beginning of a description.
fn code_of(description: &str) -> u16 {
    let known = [
        ("unauthorized", 401),
        ("forbidden", 403),
        ("not found", 404),
        ("conflict", 409),
        ("too many requests", 429),
        ("internal server error", 500),
        ("bad gateway", 502),
    ];
    let words = description.to_lowercase();
    known.into_iter().find(|(begin, _)| words.starts_with(begin)).map_or(400, |(_, code)| code)
}

/// The `retry_after` in the description, where the parameter is missing.
fn retry_after_in(description: &str) -> Option<Duration> {
    let words = description.to_lowercase();
    let (_, rest) = words.split_once("retry after ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    seconds(&digits.into())
}

/// The error of a call without a response: sent or not.
fn unanswered(error: reqwest::Error) -> ApiError {
    if error.is_connect() || error.is_builder() {
        ApiError::NotSent(transport_error(&error))
    } else {
        ApiError::Unsure(transport_error(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, body: &str) -> (u16, Option<u64>) {
        let envelope: ApiReply<Value> = serde_json::from_str(body).unwrap();
        match envelope.refusal(status, None) {
            ApiError::Refused { code, retry_after, .. } => (code, retry_after.map(|after| after.as_secs())),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn calls_go_by_the_names_of_the_documentation() {
        assert_eq!(documented(teloxide_core::payloads::AnswerCallbackQuery::NAME), "answerCallbackQuery");
        assert_eq!(documented(teloxide_core::payloads::SetMyCommands::NAME), "setMyCommands");
        assert_eq!(documented("getMe"), "getMe");
    }

    #[test]
    fn a_no_is_understood_however_much_of_it_is_left_out() {
        for (status, body, expected) in [
            (400, r#"{"ok":false,"error_code":400,"description":"Bad Request: x"}"#, (400, None)),
            (200, r#"{"ok":false,"error_code":403,"description":"Forbidden: x"}"#, (403, None)),
            (200, r#"{"ok":false,"description":"Forbidden: bot was blocked"}"#, (403, None)),
            (200, r#"{"ok":false}"#, (400, None)),
            (502, r#"{"ok":false,"parameters":null}"#, (502, None)),
            (429, r#"{"ok":false,"error_code":429,"parameters":{"retry_after":3}}"#, (429, Some(3))),
            (
                429,
                r#"{"ok":false,"error_code":429,"parameters":{"retry_after":18446744073709551615}}"#,
                (429, Some(86_400)),
            ),
            (200, r#"{"ok":false,"description":"Too Many Requests: retry after 17"}"#, (429, Some(17))),
            (429, r#"{"ok":false,"description":"Too Many Requests"}"#, (429, None)),
            (429, r#"{"ok":false,"parameters":{"retry_after":3.2}}"#, (429, Some(4))),
            (429, r#"{"ok":false,"parameters":{"retry_after":-1}}"#, (429, Some(0))),
            (429, r#"{"ok":false,"parameters":{"retry_after":"5"}}"#, (429, Some(5))),
            (429, r#"{"ok":false,"parameters":{"retry_after":"1e99"}}"#, (429, Some(86_400))),
            (429, r#"{"ok":false,"parameters":{"retry_after":"NaN"}}"#, (429, None)),
            (429, r#"{"ok":false,"parameters":{"retry_after":{}}}"#, (429, None)),
            (429, r#"{"ok":false,"parameters":[]}"#, (429, None)),
            (200, r#"{"ok":false,"error_code":"429","description":7}"#, (429, None)),
            (403, r#"{"ok":false,"error_code":-5}"#, (403, None)),
        ] {
            assert_eq!(refusal(status, body), expected, "{body}");
        }
    }

    #[tokio::test]
    async fn whoever_says_that_there_is_too_much_is_believed_also_without_json() {
        for (status, header, body, expected) in [
            (429, Some("7"), "<h1>slow down</h1>", Some((429, Some(7)))),
            (429, None, "", Some((429, None))),
            (429, Some("Fri, 31 Dec 1999 23:59:59 GMT"), "", Some((429, None))),
            (429, Some("7"), r#"{"ok":false,"parameters":{"retry_after":3}}"#, Some((429, Some(3)))),
            (429, Some("7"), r#"{"ok":false}"#, Some((429, Some(7)))),
            (418, Some("7"), "", None),
        ] {
            let mut answer = http::Response::builder().status(status);
            if let Some(header) = header {
                answer = answer.header(RETRY_AFTER, header);
            }
            let answer = reqwest::Response::from(answer.body(body).unwrap());
            let told = match read::<Value>(Ok(answer)).await {
                Err(ApiError::Refused { code, retry_after, .. }) => {
                    Some((code, retry_after.map(|after| after.as_secs())))
                }
                _ => None,
            };
            assert_eq!(told, expected, "{status} {header:?} {body}");
        }
    }
}
