//! How a model call can fail, and the error kind and message that this means for the operator. Pure; no message contains
//! the key.

use std::time::Duration;

use super::error_body::{ErrorBody, shorten};
use crate::domain::{ErrorKind, Shortage};
use crate::ports::ModelError;

/// How a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// The server answered with an error status.
    #[error("status {status}: {body}")]
    Refused {
        status: u16,
        /// The beginning of the body.
        body: String,
        /// The server's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The status was a success, but the body contained an error.
    #[error("reported {0}")]
    Reported(String),
    #[error("cannot connect: {0}")]
    Unreachable(String),
    /// The connection or the stream ended early.
    #[error("connection lost: {0}")]
    Broken(String),
    /// The stream ended in the middle of an answer that was partly shown.
    #[error("the answer broke off after its first words: {0}")]
    BrokenOff(String),
    #[error("no {awaited} within {} seconds", limit.as_secs_f32())]
    Silent { awaited: &'static str, limit: Duration },
    /// The response could not be parsed.
    #[error("not an answer: {0}")]
    Unreadable(String),
    /// The request is invalid and was not sent.
    #[error("cannot be sent: {0}")]
    Unsendable(String),
    /// The key is no valid header.
    #[error("{0}")]
    BadKey(String),
    /// A spend cap has no room for the call; it was not sent.
    #[error("{0}")]
    OverBudget(Box<Shortage>),
    /// The call could not be recorded and was not sent.
    #[error("{0}")]
    Unrecorded(String),
    #[error("{0}")]
    Internal(String),
}

pub(crate) fn classify(failure: &Failure, model: &str, key: Option<&str>) -> ModelError {
    let (kind, said, retry_after) = match failure {
        Failure::Refused { status, body, retry_after } => {
            let said = ErrorBody::new(body);
            let kind = of_status(*status, &said);
            (kind, format!("status {status}: {}{}", said.words, hint(*status, kind)), *retry_after)
        }
        Failure::Reported(body) => {
            let said = ErrorBody::new(body);
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
        Failure::OverBudget(_) => (ErrorKind::Budget, failure.to_string(), None),
        Failure::Unrecorded(_) => (ErrorKind::Storage, failure.to_string(), None),
        Failure::Internal(_) => (ErrorKind::Internal, failure.to_string(), None),
    };
    let shortage = match failure {
        Failure::OverBudget(shortage) => Some(shortage.clone()),
        _ => None,
    };
    ModelError { kind, detail: without_key(format!("{model}: {said}"), key), retry_after, shortage }
}

fn of_status(status: u16, said: &ErrorBody) -> ErrorKind {
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

/// An error in a successful response, or in the middle of a stream.
fn of_report(said: &ErrorBody) -> ErrorKind {
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

/// A hint for the operator.
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

/// Removes the key: servers often repeat the key they refuse.
fn without_key(text: String, key: Option<&str>) -> String {
    match key {
        Some(key) if !key.is_empty() => text.replace(key, "***"),
        _ => text,
    }
}

const NO_MONEY: &[&str] = &[
    "insufficient_quota",
    "insufficient quota",
    "insufficient balance",
    "balance is insufficient",
    "balance not enough",
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
                403,
                r#"{"code":30001,"message":"Sorry, your account balance is insufficient","data":null}"#,
                Quota,
            ),
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
