//! Classifies the platform's error codes. Pure.

use std::time::Duration;

use crate::ports::DeliveryError;

/// Why a call of the platform's API failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeishuError {
    /// No readable response: it is unknown whether the call took effect.
    #[error("no answer: {0}")]
    Network(String),
    #[error("too many requests: code {code}: {words}")]
    Busy {
        code: i64,
        /// The platform's own `retry_after`.
        after: Option<Duration>,
        words: String,
    },
    /// The platform rejects the call.
    #[error("refused: code {code}: {words}")]
    Refused { code: i64, words: String },
}

/// Rate limit of the app.
const FREQUENCY: i64 = 99_991_400;
/// Rate limit of this chat or message.
const CHAT_FREQUENCY: i64 = 230_020;
/// A message with the same idempotency key is being sent.
const BEING_SENT: i64 = 230_049;
/// The app lacks a permission; the message names it.
const NO_SCOPE: i64 = 99_991_672;

/// Prefix of the text of an error without a platform code.
const CODELESS: &str = "no code, and http";

impl FeishuError {
    /// The error of a response without a platform code: from a proxy, or a server that has no such call.
    pub(super) fn codeless(status: u16, after: Option<Duration>) -> Self {
        let words = format!("{CODELESS} {status}");
        match status {
            429 => Self::of(429, words, after),
            // A proxy blocks the request; the platform has not answered.
            403 | 407 | 408 => Self::Network(words),
            400..=499 => Self::Refused { code: status.into(), words },
            _ => Self::Network(words),
        }
    }

    /// Whether the refusal has no platform code.
    pub(super) fn is_codeless(&self) -> bool {
        matches!(self, Self::Refused { words, .. } if words.starts_with(CODELESS))
    }

    /// The error for a platform code.
    pub(super) fn of(code: i64, words: String, after: Option<Duration>) -> Self {
        match code {
            FREQUENCY | 429 => Self::Busy { code, after: after.or(Some(Duration::from_secs(1))), words },
            CHAT_FREQUENCY | BEING_SENT => {
                Self::Busy { code, after: Some(after.unwrap_or(Duration::from_secs(1))), words }
            }
            _ => Self::Refused { code, words },
        }
    }

    /// The code, if there was a response.
    pub(super) const fn code(&self) -> Option<i64> {
        match self {
            Self::Network(_) => None,
            Self::Busy { code, .. } | Self::Refused { code, .. } => Some(*code),
        }
    }

    /// Whether a fresh token may help.
    pub(super) fn wants_fresh_token(&self) -> bool {
        matches!(
            self.code(),
            Some(401 | 99_991_661 | 99_991_663 | 99_991_664 | 99_991_668 | 99_991_671 | 99_991_677)
        )
    }

    /// Whether the app id or secret is wrong.
    pub(super) fn is_bad_credentials(&self) -> bool {
        matches!(self.code(), Some(10_003 | 10_014 | 10_015))
    }

    /// Whether the app lacks a permission.
    pub(super) fn is_missing_scope(&self) -> bool {
        matches!(self.code(), Some(NO_SCOPE | 230_027))
    }

    /// Whether the server has no such call.
    pub(super) fn is_no_such_call(&self) -> bool {
        matches!(self.code(), Some(404 | 405))
    }

    /// Whether the message to reply to or to edit is gone.
    pub(super) fn is_target_gone(&self) -> bool {
        matches!(self.code(), Some(230_011 | 230_019 | 230_110 | 231_003))
    }

    /// Whether the platform rejects this card or text, but may accept the same text in a plainer format.
    pub(super) fn is_bad_content(&self) -> bool {
        let Self::Refused { code, .. } = self else { return false };
        matches!(
            code,
            99_992_402 | 230_001 | 230_025 | 230_054 | 230_055 | 230_099 | 200_220 | 200_860 | 10_002
        )
    }

    /// Whether a plainer format may be accepted: true for every refusal that is about neither the target nor the
    /// sender, because the codes for a bad card are not all documented.
    pub(super) fn allows_plainer_format(&self) -> bool {
        let Self::Refused { code, .. } = self else { return false };
        let place = matches!(
            code,
            230_002 | 230_006 | 230_013 | 230_018 | 230_019 | 230_022 | 230_027
                ..=230_029 | 230_034 | 230_035 | 230_038 | 230_053 | 232_009 | 404
        );
        let sender = self.is_missing_scope() || self.is_bad_credentials() || self.wants_fresh_token();
        !place && !sender && !self.is_target_gone()
    }

    /// Whether the card has too many tables.
    pub(super) fn is_too_many_tables(&self) -> bool {
        matches!(self, Self::Refused { code: 230_099, words } if words.contains("11310"))
    }
}

impl From<FeishuError> for DeliveryError {
    fn from(error: FeishuError) -> Self {
        let reason = error.to_string();
        match error {
            FeishuError::Network(_) => Self::Retry { after: None, reason },
            FeishuError::Busy { after, .. } => Self::Retry { after, reason },
            // A missing token is not the fault of the message.
            FeishuError::Refused { .. } if error.wants_fresh_token() || error.is_bad_credentials() => {
                Self::Retry { after: Some(Duration::from_secs(30)), reason }
            }
            FeishuError::Refused { .. } => Self::Permanent { reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_tried_again_only_where_that_can_help() {
        for (code, retried) in [
            (99_991_400, true),
            (230_020, true),
            (230_049, true),
            (99_991_663, true),
            (10_014, true),
            (99_991_672, false),
            (230_002, false),
            (230_013, false),
            (230_053, false),
            (230_025, false),
            (1, false),
        ] {
            let error = DeliveryError::from(FeishuError::of(code, "words".into(), None));
            assert_eq!(matches!(error, DeliveryError::Retry { .. }), retried, "{code}");
        }
        let network = DeliveryError::from(FeishuError::Network("cut".into()));
        assert!(matches!(network, DeliveryError::Retry { after: None, .. }));
    }

    #[test]
    fn the_platforms_own_word_on_when_is_kept() {
        let after = Some(Duration::from_secs(42));
        let DeliveryError::Retry { after: reported, .. } =
            FeishuError::of(99_991_400, String::new(), after).into()
        else {
            panic!("not tried again")
        };
        assert_eq!(reported, after);
    }

    #[test]
    fn a_rejected_card_is_known_and_so_is_its_reason() {
        let tables = FeishuError::of(230_099, "Failed, ErrCode: 11310; element exceeds".into(), None);
        assert!(tables.is_bad_content() && tables.is_too_many_tables());
        let other = FeishuError::of(230_099, "ErrCode: 11246".into(), None);
        assert!(other.is_bad_content() && !other.is_too_many_tables());
        assert!(!FeishuError::of(230_002, String::new(), None).is_bad_content());
        assert!(FeishuError::of(230_011, String::new(), None).is_target_gone());
        for (code, plainer) in [
            (230_099, true),
            (11_310, true),
            (200_621, true),
            (400, true),
            (230_002, false),
            (230_011, false),
            (99_991_663, false),
            (99_991_672, false),
            (230_020, false),
        ] {
            assert_eq!(FeishuError::of(code, String::new(), None).allows_plainer_format(), plainer, "{code}");
        }
    }
}
