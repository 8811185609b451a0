//! Classifies the platform's errors, one kind per reaction. Pure.

use std::time::Duration;

use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub(super) struct CallFailure {
    pub(super) kind: FailureKind,
    /// Status, code and the platform's message, for the operator; never a secret.
    pub(super) what: String,
    /// The platform's `retry_after`.
    pub(super) after: Option<Duration>,
}

/// The reaction to an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// Wrong credentials: fatal until the operator changes them.
    Credentials,
    /// The token is refused: retry with a fresh one.
    Token,
    /// Retry later: a rate limit, a server error, no connection. The outcome may be unknown.
    Later,
    /// This pair of message and sequence number was used: the message was delivered before.
    Duplicate,
    /// No more replies to that message: too many, too late, or unknown.
    NoReply,
    /// Markdown or buttons are not granted to this bot, or not in this form.
    Rich,
    /// A link that the platform blocks.
    Link,
    /// Over the platform's length limit.
    Long,
    /// The text is blocked by the platform.
    Content,
    /// The file is refused.
    File,
    /// The recipient cannot be reached: the bot was removed, muted or blocked.
    Gone,
    Refused,
}

impl CallFailure {
    /// No response: it is unknown whether the call took effect.
    pub(super) fn unreachable(what: String) -> Self {
        Self { kind: FailureKind::Later, what, after: None }
    }

    /// The error of a response; `None` for a success.
    pub(super) fn of(status: u16, body: &Value, after: Option<Duration>) -> Option<Self> {
        let code = code(body);
        if (200..300).contains(&status) && (code == 0 || is_accepted(code) || body.get("id").is_some()) {
            return None;
        }
        let words = body["message"].as_str().or_else(|| body["msg"].as_str()).unwrap_or_default();
        let words: String = words.chars().take(200).collect();
        Some(Self { kind: kind(status, code), what: format!("http {status}, code {code}: {words}"), after })
    }
}

/// The platform reviews the message and shows it afterwards: a success.
const fn is_accepted(code: u64) -> bool {
    matches!(code, 304_023 | 304_024)
}

/// The code is in one of two fields. Zero means none.
fn code(body: &Value) -> u64 {
    let at = |key: &str| body[key].as_u64().filter(|code| *code != 0);
    at("err_code").or_else(|| at("code")).unwrap_or(0)
}

const fn kind(status: u16, code: u64) -> FailureKind {
    match code {
        100_007 | 100_016 => FailureKind::Credentials,
        // The machine's IP address is not on the bot's allow-list; the operator can add it at any time.
        11_298 => FailureKind::Later,
        11_241..=11_244 | 11_252 => FailureKind::Token,
        22_009 | 20_028 | 1_100_100 | 1_100_308 | 304_045..=304_050 => FailureKind::Later,
        304_082 | 304_083 | 40_034_004 | 50_055_001 | 50_055_002 => FailureKind::Later,
        40_054_005 => FailureKind::Duplicate,
        40_034_005 | 40_034_024..=40_034_027 | 40_034_128 => FailureKind::NoReply,
        40_034_100 | 40_034_102 | 40_034_105 | 304_026 | 304_027 => FailureKind::NoReply,
        304_036 | 304_037 | 50_037 | 50_055..=50_057 => FailureKind::Rich,
        40_034_127 | 40_034_090 | 40_034_029 | 305_007 | 22_006 => FailureKind::Rich,
        40_054_010 | 304_003 => FailureKind::Link,
        40_054_007 | 40_054_018 => FailureKind::Long,
        40_034_006 | 304_025 | 1_100_101..=1_100_199 => FailureKind::Content,
        304_080 => FailureKind::File,
        40_054_002..=40_054_004 | 40_054_013 | 40_034_101 => FailureKind::Gone,
        _ => match status {
            401 => FailureKind::Token,
            408 | 429 | 500..=599 => FailureKind::Later,
            413 => FailureKind::Long,
            _ => FailureKind::Refused,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn codes_say_what_can_be_done() {
        for (status, body, expected) in [
            (200, json!({ "id": "x", "timestamp": 1 }), None),
            (200, json!({}), None),
            (202, json!({ "code": 304_023, "message": "push message is waiting for audit now" }), None),
            (
                200,
                json!({ "code": 100_016, "message": "invalid appid or secret" }),
                Some(FailureKind::Credentials),
            ),
            (200, json!({ "err_code": 40_034_128, "message": "over" }), Some(FailureKind::NoReply)),
            (
                401,
                json!({ "code": 11_244, "message": "token not exist or expire" }),
                Some(FailureKind::Token),
            ),
            (400, json!({ "code": 40_054_005 }), Some(FailureKind::Duplicate)),
            (400, json!({ "code": 1, "err_code": 40_034_005 }), Some(FailureKind::NoReply)),
            (400, json!({ "code": 304_036 }), Some(FailureKind::Rich)),
            (400, json!({ "code": 40_054_010 }), Some(FailureKind::Link)),
            (429, json!({}), Some(FailureKind::Later)),
            (504, Value::Null, Some(FailureKind::Later)),
            (403, json!({ "code": 40_054_003 }), Some(FailureKind::Gone)),
            (400, json!({ "code": 1_100_101 }), Some(FailureKind::Content)),
            (400, json!({ "code": 12_345 }), Some(FailureKind::Refused)),
        ] {
            let found = CallFailure::of(status, &body, None).map(|trouble| trouble.kind);
            assert_eq!(found, expected, "{status} {body}");
        }
    }

    #[test]
    fn a_refusal_says_its_code_and_the_platforms_words() {
        let body = json!({ "code": 11_244, "message": "expired" });
        assert_eq!(CallFailure::of(401, &body, None).unwrap().what, "http 401, code 11244: expired");
    }
}
