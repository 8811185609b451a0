//! Request features that a server does not support, learned from its refusals.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Quirk {
    /// Refuses `stream_options`.
    NoStreamOptions = 1,
    /// Refuses `stream`.
    NoStream = 2,
    /// Refuses the reasoning of earlier turns.
    NoReasoning = 4,
    /// Requires `max_completion_tokens` instead of `max_tokens`.
    CompletionTokens = 8,
    /// Requires the reasoning of earlier turns with every call it made, even if empty.
    WantsReasoning = 16,
    /// Refuses the `name` of a message.
    NoName = 32,
}

/// The quirks of one server.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Quirks(u8);

impl Quirks {
    pub(crate) const fn has(self, quirk: Quirk) -> bool {
        self.0 & quirk as u8 != 0
    }

    #[must_use]
    pub(crate) const fn with(self, quirk: Quirk) -> Self {
        Self(self.0 | quirk as u8)
    }

    /// As a number, for an atomic.
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// From a number of `bits`.
    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The quirks for the next attempt after a refusal; `None` where the refusal does not mention a quirk, or only a
    /// known one.
    pub(crate) fn taught_by(self, status: u16, body: &str) -> Option<Self> {
        if !matches!(status, 400 | 404 | 415 | 422 | 501) {
            return None;
        }
        let body = body.to_lowercase();
        let lesson = if body.contains("stream_options") || body.contains("include_usage") {
            Quirk::NoStreamOptions
        } else if body.contains("max_completion_tokens") {
            Quirk::CompletionTokens
        } else if body.contains("reasoning_content") {
            let wanted = ["missing", "required", "must be passed", "must be provided"];
            let wanted = wanted.iter().any(|word| body.contains(word));
            if wanted { Quirk::WantsReasoning } else { Quirk::NoReasoning }
        } else if refuses_name(&body) {
            Quirk::NoName
        } else if speaks_of_streaming(&body) {
            Quirk::NoStream
        } else {
            return None;
        };
        (!self.has(lesson)).then(|| self.with(lesson))
    }
}

impl fmt::Debug for Quirks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            Quirk::NoStreamOptions,
            Quirk::NoStream,
            Quirk::NoReasoning,
            Quirk::CompletionTokens,
            Quirk::WantsReasoning,
            Quirk::NoName,
        ];
        f.debug_set().entries(all.into_iter().filter(|quirk| self.has(*quirk))).finish()
    }
}

/// Whether a body refuses a field `name`.
fn refuses_name(body: &str) -> bool {
    let named =
        ["'name'", "\"name\"", "\\\"name\\\"", "`name`", ".name"].iter().any(|field| body.contains(field));
    let refused =
        ["unknown", "unexpected", "unrecognized", "extra", "additional", "not permitted", "not allowed"];
    named && refused.iter().any(|word| body.contains(word))
}

/// Whether a body mentions streaming. "upstream" is common in gateway errors and does not count.
fn speaks_of_streaming(body: &str) -> bool {
    body.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| matches!(word, "stream" | "streaming" | "streamed" | "sse"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_teaches_the_quirk_it_names() {
        for (status, body, expected) in [
            (
                400,
                r#"{"error":{"message":"Unknown parameter: 'stream_options'."}}"#,
                Some(Quirk::NoStreamOptions),
            ),
            (422, r#"{"detail":[{"loc":["body","stream_options"]}]}"#, Some(Quirk::NoStreamOptions)),
            (400, r#"{"error":"Streaming is not supported for this model"}"#, Some(Quirk::NoStream)),
            (400, r#"{"error":{"param":"stream"}}"#, Some(Quirk::NoStream)),
            (400, "Use 'max_completion_tokens' instead.", Some(Quirk::CompletionTokens)),
            (400, "reasoning_content is not allowed", Some(Quirk::NoReasoning)),
            (400, "reasoning_content is missing at message 2", Some(Quirk::WantsReasoning)),
            (400, "Unknown field 'name' in messages[2]", Some(Quirk::NoName)),
            (
                422,
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","messages",2,"name"]}]}"#,
                Some(Quirk::NoName),
            ),
            (400, r#"{"error":{"message":"Invalid tool 'name'"}}"#, None),
            (400, "upstream rejected the request", None),
            (500, "stream broke", None),
            (429, "too many streams", None),
        ] {
            let expected = expected.map(|quirk| Quirks::default().with(quirk));
            assert_eq!(Quirks::default().taught_by(status, body), expected, "{body}");
        }
    }

    #[test]
    fn the_same_lesson_is_not_learned_twice() {
        let known = Quirks::default().with(Quirk::NoStream);
        assert_eq!(known.taught_by(400, "stream is not supported"), None);
        assert_eq!(Quirks::from_bits(known.bits()), known);
        assert_eq!(format!("{known:?}"), "{NoStream}");
    }
}
