//! What a failed call means for people. Pure: what the server or the network said goes in, a kind of trouble and
//! a line for the operator come out. Neither ever holds the key.

use std::time::Duration;

use serde_json::Value;

use crate::domain::ErrorKind;
use crate::ports::ModelError;

/// How much of a server's own words an operator is shown.
const SHOWN_WORDS: usize = 400;

/// How a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// The server answered with a status that is no success.
    #[error("status {status}: {body}")]
    Refused {
        /// The status.
        status: u16,
        /// The beginning of the body.
        body: String,
        /// How long it asked us to wait.
        retry_after: Option<Duration>,
    },
    /// The status was fine, and then an error stood where the answer should.
    #[error("reported {0}")]
    Reported(String),
    /// No connection.
    #[error("cannot connect: {0}")]
    Unreachable(String),
    /// The connection, or the stream on it, ended too early.
    #[error("connection lost: {0}")]
    Broken(String),
    /// The stream ended in the middle of an answer of which words were shown.
    #[error("the answer broke off after its first words: {0}")]
    BrokenOff(String),
    /// Nothing came for too long.
    #[error("no {awaited} within {} seconds", limit.as_secs_f32())]
    Silent {
        /// What was waited for.
        awaited: &'static str,
        /// For how long.
        limit: Duration,
    },
    /// What came is not an answer.
    #[error("not an answer: {0}")]
    Unreadable(String),
    /// The request cannot even be sent.
    #[error("cannot be sent: {0}")]
    Unsendable(String),
    /// The key cannot be sent.
    #[error("{0}")]
    BadKey(String),
    /// Our own fault.
    #[error("{0}")]
    Internal(String),
}

/// Names the trouble.
pub(crate) fn classify(failure: &Failure, model: &str, key: Option<&str>) -> ModelError {
    let (kind, said, retry_after) = match failure {
        Failure::Refused { status, body, retry_after } => {
            let said = Said::new(body);
            let kind = of_status(*status, &said);
            (kind, format!("status {status}: {}{}", said.words, hint(*status, kind)), *retry_after)
        }
        Failure::Reported(body) => {
            let said = Said::new(body);
            (of_report(&said), format!("the server reported: {}", said.words), None)
        }
        Failure::Unreachable(_) | Failure::Broken(_) | Failure::BrokenOff(_) => {
            (ErrorKind::Network, failure.to_string(), None)
        }
        Failure::Silent { .. } => (ErrorKind::Timeout, failure.to_string(), None),
        Failure::Unreadable(words) => (
            ErrorKind::BadResponse,
            format!("the server's answer could not be read: {}", shorten(words)),
            None,
        ),
        Failure::Unsendable(_) => (ErrorKind::BadRequest, failure.to_string(), None),
        Failure::BadKey(_) => (ErrorKind::Auth, failure.to_string(), None),
        Failure::Internal(_) => (ErrorKind::Internal, failure.to_string(), None),
    };
    ModelError { kind, detail: without_key(format!("{model}: {said}"), key), retry_after }
}

/// An error body, taken apart.
struct Said {
    /// What it says to people.
    words: String,
    /// Everything it says, in lower case, to look for phrases.
    text: String,
    /// A status that stands in the body.
    code: Option<u16>,
}

impl Said {
    fn new(body: &str) -> Self {
        let Ok(Value::Object(object)) = serde_json::from_str::<Value>(body) else {
            return Self { words: plain_words(body), text: body.to_lowercase(), code: None };
        };
        let error = object.get("error").filter(|error| !error.is_null());
        let inner = error.and_then(Value::as_object).unwrap_or(&object);
        let message = ["message", "msg", "detail"].iter().find_map(|key| inner.get(*key)).or(error);
        let words = match message {
            Some(Value::String(text)) => shorten(text),
            Some(other) => shorten(&other.to_string()),
            None => shorten(body),
        };
        let code = ["code", "status"].iter().find_map(|key| match inner.get(*key)? {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        });
        let code = code.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
        Self { words, text: body.to_lowercase(), code }
    }

    fn has(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.text.contains(phrase))
    }
}

const NO_MONEY: &[&str] = &[
    "insufficient_quota",
    "insufficient quota",
    "insufficient balance",
    "insufficient_balance",
    "insufficient credit",
    "insufficient funds",
    "exceeded your current quota",
    "exceeded_current_quota",
    "credit balance is too low",
    "out of credits",
    "billing_hard_limit",
    "billing_not_active",
    "allocationquota",
    "arrearage",
    "overdue-payment",
    "余额不足",
    "额度不足",
    "额度已用",
    "配额不足",
    "欠费",
];

const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size",
    "maximum context length",
    "max context length",
    "available context size",
    "context window",
    "context length",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "too many input tokens",
    "exceeded model token limit",
    "exceeds the maximum number of tokens",
    "range of input length",
    "reduce the length of the messages",
    "prompt 超长",
    "prompt超长",
    "上下文长度",
    "上下文超",
    "上下文窗口",
    "输入长度超",
    "输入过长",
    "超过最大长度",
    "超出最大长度",
    "最大输入长度",
];

const BAD_KEY: &[&str] = &[
    "invalid_api_key",
    "invalid api key",
    "incorrect api key",
    "api key not valid",
    "authentication_error",
    "authentication fails",
    "invalid authentication",
    "身份验证",
    "令牌无效",
];

const TOO_FAST: &[&str] = &[
    "rate_limit",
    "rate limit",
    "too many requests",
    "throttling",
    "速率限制",
    "请求过于频繁",
    "并发数过高",
];

fn of_status(status: u16, said: &Said) -> ErrorKind {
    match status {
        402 => ErrorKind::Quota,
        400 | 403 | 429 if said.has(NO_MONEY) => ErrorKind::Quota,
        401 | 403 => ErrorKind::Auth,
        429 => ErrorKind::Rate,
        400 | 413 | 422 | 500 if said.has(TOO_LONG) => ErrorKind::ContextLength,
        400 if said.has(BAD_KEY) => ErrorKind::Auth,
        408 => ErrorKind::Timeout,
        425 => ErrorKind::Rate,
        300..=499 => ErrorKind::BadRequest,
        500.. => ErrorKind::Server,
        _ => ErrorKind::BadResponse,
    }
}

/// An error that came with a good status, or in the middle of a stream.
fn of_report(said: &Said) -> ErrorKind {
    if let Some(code) = said.code {
        return of_status(code, said);
    }
    if said.has(NO_MONEY) {
        ErrorKind::Quota
    } else if said.has(TOO_LONG) {
        ErrorKind::ContextLength
    } else if said.has(BAD_KEY) {
        ErrorKind::Auth
    } else if said.has(TOO_FAST) {
        ErrorKind::Rate
    } else if said.has(&["invalid_request"]) {
        ErrorKind::BadRequest
    } else {
        ErrorKind::Server
    }
}

/// What the operator may want to look at.
const fn hint(status: u16, kind: ErrorKind) -> &'static str {
    match (status, kind) {
        (404, _) => {
            " (check the model's name and that the base url ends where the server expects, often in /v1)"
        }
        (300..=399, _) => " (the server sends us elsewhere: put that address into the base url)",
        (405, _) => " (is the base url that of an OpenAI-compatible server?)",
        _ => "",
    }
}

/// A body that is not JSON, often a web page: its words without the tags.
fn plain_words(body: &str) -> String {
    if !body.trim_start().starts_with('<') {
        return if body.trim().is_empty() { "no words".to_owned() } else { shorten(body) };
    }
    let mut words = String::new();
    let mut in_tag = false;
    for c in body.chars() {
        match c {
            '<' => in_tag = true,
            '>' => {
                in_tag = false;
                words.push(' ');
            }
            _ if !in_tag => words.push(c),
            _ => {}
        }
    }
    format!("a web page: {}", shorten(&words))
}

/// One line, not too long.
fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_WORDS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Servers like to repeat the key they refuse.
fn without_key(text: String, key: Option<&str>) -> String {
    match key {
        Some(key) if !key.is_empty() => text.replace(key, "***"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, body: &str) -> ModelError {
        let failure = Failure::Refused { status, body: body.into(), retry_after: None };
        classify(&failure, "m", Some("sk-secret"))
    }

    #[test]
    fn a_refusal_is_named_by_its_status_and_words() {
        use ErrorKind::*;
        for (status, body, kind) in [
            (401, r#"{"error":{"message":"Incorrect API key provided: sk-secret"}}"#, Auth),
            (401, "<html>no</html>", Auth),
            (403, r#"{"error":{"message":"Country not supported"}}"#, Auth),
            (403, r#"{"code":"AllocationQuota.FreeTierOnly","message":"free tier exhausted"}"#, Quota),
            (400, r#"{"code":"Arrearage","message":"Access denied"}"#, Quota),
            (402, r#"{"error":{"message":"Insufficient Balance"}}"#, Quota),
            (402, "", Quota),
            (
                429,
                r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
                Quota,
            ),
            (429, r#"{"error":{"code":"1113","message":"您的账户余额不足"}}"#, Quota),
            (429, r#"{"error":{"code":"rate_limit_exceeded","message":"tokens per min"}}"#, Rate),
            (429, "slow down", Rate),
            (400, r#"{"error":{"code":"context_length_exceeded","message":"…"}}"#, ContextLength),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 65536 tokens."}}"#,
                ContextLength,
            ),
            (
                400,
                r#"{"error":{"type":"exceed_context_size_error","message":"…","code":400}}"#,
                ContextLength,
            ),
            (400, r#"{"message":"Range of input length should be [1, 30720]"}"#, ContextLength),
            (400, r#"{"error":{"message":"Your request exceeded model token limit: 8192"}}"#, ContextLength),
            (400, r#"{"error":{"code":"1261","message":"Prompt 超长"}}"#, ContextLength),
            (400, r#"{"error":"输入长度超过限制"}"#, ContextLength),
            (413, "prompt is too long: 210000 tokens", ContextLength),
            (500, r#"{"error":"the prompt exceeds the available context size"}"#, ContextLength),
            (400, r#"{"error":{"message":"API key not valid. Please pass a valid API key."}}"#, Auth),
            (400, r#"{"error":{"message":"Unknown parameter: 'foo'"}}"#, BadRequest),
            (404, r#"{"error":{"message":"The model `x` does not exist"}}"#, BadRequest),
            (422, r#"{"detail":[{"msg":"field required"}]}"#, BadRequest),
            (301, "redirects to https://elsewhere/v1", BadRequest),
            (408, "", Timeout),
            (500, "oops", Server),
            (502, "<html><h1>Bad gateway</h1></html>", Server),
            (503, r#"{"error":{"message":"overloaded"}}"#, Server),
            (529, "", Server),
        ] {
            let error = refused(status, body);
            assert_eq!(error.kind, kind, "{status} {body}");
            assert!(!error.detail.contains("sk-secret"), "{}", error.detail);
        }
    }

    #[test]
    fn an_error_with_a_good_status_is_named_by_its_words() {
        use ErrorKind::*;
        for (body, kind) in [
            (r#"{"error":{"code":429,"message":"slow"}}"#, Rate),
            (r#"{"error":{"code":"401","message":"who?"}}"#, Auth),
            (r#"{"error":{"message":"Rate limit reached"}}"#, Rate),
            (r#"{"error":{"message":"maximum context length is 10"}}"#, ContextLength),
            (r#"{"error":{"type":"invalid_request_error","message":"no"}}"#, BadRequest),
            (r#"{"object":"error","message":"Insufficient balance","code":40301}"#, Quota),
            (r#"{"error":"overloaded"}"#, Server),
        ] {
            assert_eq!(classify(&Failure::Reported(body.into()), "m", None).kind, kind, "{body}");
        }
    }

    #[test]
    fn trouble_on_the_way_is_named_without_any_status() {
        let silent = Failure::Silent { awaited: "first word", limit: Duration::from_secs(2) };
        for (failure, kind, detail) in [
            (Failure::Unreachable("refused".into()), ErrorKind::Network, "m: cannot connect: refused"),
            (Failure::Broken("reset".into()), ErrorKind::Network, "m: connection lost: reset"),
            (
                Failure::BrokenOff("reset".into()),
                ErrorKind::Network,
                "m: the answer broke off after its first words: reset",
            ),
            (silent, ErrorKind::Timeout, "m: no first word within 2 seconds"),
            (
                Failure::Unreadable("<p>".into()),
                ErrorKind::BadResponse,
                "m: the server's answer could not be read: <p>",
            ),
            (Failure::Unsendable("no host".into()), ErrorKind::BadRequest, "m: cannot be sent: no host"),
            (Failure::BadKey("line breaks".into()), ErrorKind::Auth, "m: line breaks"),
        ] {
            let error = classify(&failure, "m", None);
            assert_eq!((error.kind, error.detail.as_str()), (kind, detail));
        }
    }

    #[test]
    fn the_operator_reads_the_servers_words_on_one_line() {
        for (status, body, expected) in [
            (400, r#"{"error":{"message":"bad\nthing"}}"#, "m: status 400: bad thing"),
            (400, r#"{"error":"bad thing"}"#, "m: status 400: bad thing"),
            (400, r#"{"detail":"bad thing"}"#, "m: status 400: bad thing"),
            (500, "", "m: status 500: no words"),
            (502, "<html><h1>Bad gateway</h1></html>", "m: status 502: a web page: Bad gateway"),
            (401, r#"{"error":{"message":"no: sk-secret"}}"#, "m: status 401: no: ***"),
        ] {
            assert_eq!(refused(status, body).detail, expected);
        }
        assert!(refused(404, "{}").detail.contains("/v1"));
        assert!(refused(500, &"长".repeat(9000)).detail.chars().count() < 450);
    }

    #[test]
    fn the_servers_wish_to_wait_is_kept() {
        let wish = Some(Duration::from_secs(3));
        let failure = Failure::Refused { status: 429, body: String::new(), retry_after: wish };
        assert_eq!(classify(&failure, "m", None).retry_after, wish);
    }
}
