//! The limit of an answer's tokens that a request carries, and how it follows what a server refuses.

/// An answer is never limited to fewer tokens than this on account of a long prompt.
const SHORTEST: u32 = 1_024;
/// A number below this in a refusal is no limit of an answer.
const LEAST_STATED: u32 = 256;

/// The limit of the attempts of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnswerLimit {
    most: u32,
    /// Whether the server permits no more for any prompt.
    lasting: bool,
    /// What the last request carried.
    sent: Option<u32>,
}

impl AnswerLimit {
    /// Nothing is known.
    pub(crate) const UNKNOWN: u32 = u32::MAX;
    /// The server refuses every limit.
    const REFUSED: u32 = 0;

    /// What earlier calls have learned.
    pub(crate) const fn known(most: u32) -> Self {
        Self { most, lasting: true, sent: None }
    }

    /// What is worth remembering for other calls.
    pub(crate) const fn learned(self) -> Option<u32> {
        if self.lasting { Some(self.most) } else { None }
    }

    /// The most tokens that may be asked for, where that is known.
    pub(crate) fn most(self) -> Option<u32> {
        Some(self.most).filter(|most| ![Self::UNKNOWN, Self::REFUSED].contains(most))
    }

    /// The limit that a request carries where `wanted` is wanted.
    pub(crate) fn send(&mut self, wanted: Option<u32>) -> Option<u32> {
        self.sent = wanted.map(|wanted| wanted.min(self.most)).filter(|limit| *limit > 0);
        self.sent
    }

    /// The limit for the next attempt; `None` where the refusal is not about the limit.
    pub(crate) fn lowered_by(self, status: u16, body: &str) -> Option<Self> {
        let sent = self.sent.filter(|_| matches!(status, 400 | 413 | 422))?;
        let body = body.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| body.contains(word));
        let refused = has(NAMES) && has(REFUSALS);
        if !refused {
            return None;
        }
        // A prompt that leaves less room says nothing about the next one.
        let of_prompt = has(&["context"]);
        let lasting = self.lasting && !of_prompt;
        let digits = body.replace(',', "");
        let numbers = digits.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok());
        let stated = numbers.filter(|number| (LEAST_STATED..sent).contains(number)).max();
        let most = match stated {
            Some(stated) => stated,
            None if sent > SHORTEST => (sent / 4).max(SHORTEST),
            None if of_prompt => return None,
            None => Self::REFUSED,
        };
        Some(Self { most, lasting, sent: None })
    }
}

const NAMES: &[&str] = &[
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "completion tokens",
    "output tokens",
    "in the completion",
];

const REFUSALS: &[&str] = &[
    "too large",
    "too big",
    "exceed",
    "range",
    "at most",
    "maximum",
    "less than",
    "greater than",
    "must be",
    "larger than",
    "<=",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn after(sent: u32, body: &str) -> Option<AnswerLimit> {
        let mut limit = AnswerLimit::known(AnswerLimit::UNKNOWN);
        assert_eq!(limit.send(Some(sent)), Some(sent));
        limit.lowered_by(400, body)
    }

    #[test]
    fn a_refused_limit_is_lowered_to_what_the_server_states() {
        for (body, most, lasting) in [
            (
                "max_tokens is too large: 16384. This model supports at most 4096 completion tokens, whereas you provided 16384.",
                4_096,
                true,
            ),
            ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192, true),
            ("Range of max_tokens should be [1, 2048]", 2_048, true),
            (
                "max_tokens: 16384 > 8,192, which is the maximum allowed number of output tokens for claude-3-5-haiku-20241022",
                8_192,
                true,
            ),
            ("max_tokens must be smaller", 4_096, true),
            (
                "'max_tokens' is too large: 16384. This model's maximum context length is 8192 tokens and your request has 4000 input tokens",
                8_192,
                false,
            ),
            (
                "This model's maximum context length is 65536 tokens. However, you requested 80000 tokens (63616 in the messages, 16384 in the completion)",
                4_096,
                false,
            ),
        ] {
            let lowered = after(16_384, body).unwrap();
            assert_eq!((lowered.most(), lowered.lasting), (Some(most), lasting), "{body}");
        }
    }

    #[test]
    fn a_server_that_refuses_every_limit_is_sent_none_and_other_refusals_change_nothing() {
        let mut none = after(1_024, "max_tokens must be unset").unwrap();
        assert_eq!((none.most(), none.send(Some(16_384)), none.learned()), (None, None, Some(0)));
        for body in [
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "prompt is too long: 210000 tokens > 200000 maximum",
            "the model does not exist",
        ] {
            assert_eq!(after(16_384, body), None, "{body}");
        }
        let context = "maximum context length is 8192 tokens, you requested 9001 (7977 in the messages, 1024 in the completion)";
        assert_eq!(after(1_024, context), None, "the prompt itself is too long");
        assert_eq!(
            AnswerLimit::known(AnswerLimit::UNKNOWN).lowered_by(400, "max_tokens too large"),
            None,
            "none was sent"
        );
    }
}
