//! Classifies the server's errors: a fallback for the same message, a retry later, or a permanent failure.

use std::time::Duration;

use super::api::ApiError;
use crate::adapters::chat::Reporter;
use crate::ports::DeliveryError;

/// The retry wait for a bad token or a second instance: the operator must fix it, and no delivery is dropped until
/// then.
const WHILE_MENDED: Duration = Duration::from_secs(30);

/// The fallback that a refusal allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The chat has migrated to this id.
    Moved(i64),
    /// The topic does not exist any more.
    TopicGone,
    /// The message to reply to is gone.
    ReplyGone,
    BadMarkup,
    TooLong,
    /// The message has this content already.
    Unchanged,
    /// The message cannot be edited: it is gone, or not a text.
    NotEditable,
    UnknownMethod,
    Other,
}

/// The obstacle that an error reports.
pub(super) fn obstacle(error: &ApiError) -> Obstacle {
    let (code, migrate_to) = match error {
        ApiError::Refused { code, migrate_to, .. } => (code, migrate_to),
        ApiError::NoSuchCall(_) => return Obstacle::UnknownMethod,
        ApiError::NotSent(_) | ApiError::Gateway(_) | ApiError::Unsure(_) => return Obstacle::Other,
    };
    if let Some(to) = migrate_to {
        return Obstacle::Moved(*to);
    }
    if matches!(code, 404 | 405 | 501) {
        return Obstacle::UnknownMethod;
    }
    if *code != 400 {
        return Obstacle::Other;
    }
    let says = |words: &[&str]| words.iter().any(|words| error.says(words));
    match () {
        () if says(&["message thread not found", "TOPIC_DELETED", "TOPIC_ID_INVALID"]) => Obstacle::TopicGone,
        () if says(&["message to be replied not found", "replied message not found", "REPLY_MESSAGE_ID"]) => {
            Obstacle::ReplyGone
        }
        () if says(&["can't parse entities", "can't parse caption entities", "ENTITY_"]) => {
            Obstacle::BadMarkup
        }
        () if says(&["is too long", "MESSAGE_TOO_LONG"]) => Obstacle::TooLong,
        () if says(&["message is not modified"]) => Obstacle::Unchanged,
        () if says(&[
            "message to edit not found",
            "message not found",
            "message can't be edited",
            "no text in the message to edit",
            "MESSAGE_ID_INVALID",
        ]) =>
        {
            Obstacle::NotEditable
        }
        () if says(&["method not found", "unknown method"]) => Obstacle::UnknownMethod,
        () => Obstacle::Other,
    }
}

/// Whether the server clearly reports that the message to edit does not exist.
pub(super) fn is_absent(error: &ApiError) -> bool {
    let says = |words: &[&str]| words.iter().any(|words| error.says(words));
    matches!(error, ApiError::Refused { code: 400, .. })
        && says(&["message to edit not found", "message not found", "MESSAGE_ID_INVALID"])
}

/// Whether the server does not support the call: it does not know it, or refuses it without a known reason.
pub(super) fn is_unable(error: &ApiError) -> bool {
    match obstacle(error) {
        Obstacle::UnknownMethod => true,
        Obstacle::Other => {
            matches!(error, ApiError::Refused { code: 400, .. }) && !error.says("chat not found")
        }
        _ => false,
    }
}

/// Who reports that a call is missing: an answer of another form may come from a proxy.
pub(super) const fn reporter(error: &ApiError) -> Reporter {
    match error {
        ApiError::Refused { code: 404 | 405 | 501, .. } => Reporter::Server,
        _ => Reporter::Unclear,
    }
}

impl From<ApiError> for DeliveryError {
    fn from(error: ApiError) -> Self {
        verdict(&error)
    }
}

/// Whether a retry of this call would always fail.
pub(super) fn is_final(error: &ApiError) -> bool {
    matches!(verdict(error), DeliveryError::Permanent { .. })
}

/// The outcome of a delivery after all fallbacks.
fn verdict(error: &ApiError) -> DeliveryError {
    let reason = error.to_string();
    match error {
        ApiError::NotSent(_) | ApiError::Gateway(_) | ApiError::Unsure(_) => {
            DeliveryError::Retry { after: None, reason }
        }
        ApiError::Refused { code: 429, retry_after, .. } => {
            DeliveryError::Retry { after: *retry_after, reason }
        }
        ApiError::Refused { code: 401 | 404 | 409, .. } | ApiError::NoSuchCall(_) => {
            DeliveryError::Retry { after: Some(WHILE_MENDED), reason }
        }
        ApiError::Refused { code: 500.., .. } => DeliveryError::Retry { after: None, reason },
        ApiError::Refused { .. } => DeliveryError::Permanent { reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, description: &str) -> ApiError {
        ApiError::Refused { code, description: description.to_owned(), retry_after: None, migrate_to: None }
    }

    #[test]
    fn refusals_are_known_by_their_words() {
        for (code, words, expected) in [
            (400, "Bad Request: message thread not found", Obstacle::TopicGone),
            (400, "Bad Request: message to be replied not found", Obstacle::ReplyGone),
            (400, "Bad Request: can't parse entities: Unsupported start tag", Obstacle::BadMarkup),
            (400, "Bad Request: message is too long", Obstacle::TooLong),
            (400, "Bad Request: message caption is too long", Obstacle::TooLong),
            (400, "Bad Request: MESSAGE_TOO_LONG", Obstacle::TooLong),
            (400, "Bad Request: message is not modified: the same", Obstacle::Unchanged),
            (400, "Bad Request: message to edit not found", Obstacle::NotEditable),
            (400, "Bad Request: message can't be edited", Obstacle::NotEditable),
            (400, "Bad Request: there is no text in the message to edit", Obstacle::NotEditable),
            (404, "Not Found", Obstacle::UnknownMethod),
            (501, "Not Implemented", Obstacle::UnknownMethod),
            (400, "Bad Request: chat not found", Obstacle::Other),
            (403, "Forbidden: bot was blocked by the user", Obstacle::Other),
            (500, "message is too long", Obstacle::Other),
        ] {
            assert_eq!(obstacle(&refused(code, words)), expected, "{code} {words}");
        }
        let moved = ApiError::Refused {
            code: 400,
            description: "group chat was upgraded to a supergroup chat".to_owned(),
            retry_after: None,
            migrate_to: Some(-1001),
        };
        assert_eq!(obstacle(&moved), Obstacle::Moved(-1001));
        assert_eq!(obstacle(&ApiError::NoSuchCall(405)), Obstacle::UnknownMethod);
        assert_eq!(obstacle(&ApiError::NotSent("message is too long".to_owned())), Obstacle::Other);
    }

    #[test]
    fn only_a_clear_word_says_that_a_message_is_not_there() {
        for (code, words, expected) in [
            (400, "Bad Request: message to edit not found", true),
            (400, "Bad Request: MESSAGE_ID_INVALID", true),
            (400, "Bad Request: message can't be edited", false),
            (400, "Bad Request: message is not modified", false),
            (400, "Bad Request", false),
            (404, "Not Found", false),
            (500, "message to edit not found", false),
        ] {
            assert_eq!(is_absent(&refused(code, words)), expected, "{code} {words}");
        }
        assert!(!is_absent(&ApiError::Unsure("message to edit not found".to_owned())));
    }

    #[test]
    fn a_no_without_a_reason_we_know_is_one_of_a_server_that_cannot() {
        for (code, words, expected) in [
            (404, "Not Found", true),
            (400, "Bad Request", true),
            (400, "Bad Request: unknown command", true),
            (400, "Bad Request: can't parse entities: x", false),
            (400, "Bad Request: message is too long", false),
            (400, "Bad Request: chat not found", false),
            (403, "Forbidden: bot was blocked by the user", false),
            (429, "Too Many Requests", false),
        ] {
            assert_eq!(is_unable(&refused(code, words)), expected, "{code} {words}");
        }
        assert!(is_unable(&ApiError::NoSuchCall(400)));
        assert!(!is_unable(&ApiError::Gateway(502)));
    }

    #[test]
    fn only_what_can_never_work_is_given_up() {
        for (error, permanent) in [
            (ApiError::NotSent("refused".to_owned()), false),
            (ApiError::Unsure("reset".to_owned()), false),
            (ApiError::NoSuchCall(404), false),
            (ApiError::Gateway(502), false),
            (refused(400, "Bad Request: chat not found"), true),
            (refused(401, "Unauthorized"), false),
            (refused(403, "Forbidden: bot was kicked from the group chat"), true),
            (refused(404, "Not Found"), false),
            (refused(409, "Conflict"), false),
            (refused(413, "Request Entity Too Large"), true),
            (refused(429, "Too Many Requests"), false),
            (refused(500, "Internal Server Error"), false),
            (refused(502, "Bad Gateway"), false),
        ] {
            assert_eq!(is_final(&error), permanent, "{error}");
        }
        let later = ApiError::Refused {
            code: 429,
            description: "Too Many Requests: retry after 7".to_owned(),
            retry_after: Some(Duration::from_secs(7)),
            migrate_to: None,
        };
        let expected = DeliveryError::Retry {
            after: Some(Duration::from_secs(7)),
            reason: "Too Many Requests: retry after 7 (429)".to_owned(),
        };
        assert_eq!(verdict(&later), expected);
    }
}
