//! From what is meant to what one platform can take.

use super::split::split;
use crate::domain::{Capabilities, Intent};

/// The intents that say the same within the platform's limits, in order. Text becomes as many as it needs;
/// an error stays one, and ends early if it must. What is fleeting is not touched: the adapter shows as much
/// of it as it can. A blank text says nothing.
pub fn lower(intent: &Intent, capabilities: &Capabilities) -> Vec<Intent> {
    let limit = capabilities.max_length.unwrap_or(usize::MAX);
    let fitted = |text: &str| split(text, limit, capabilities.length_unit);
    match intent {
        Intent::AssistantText { text } if text.trim().is_empty() => Vec::new(),
        Intent::AssistantText { .. } if capabilities.max_length.is_none() => vec![intent.clone()],
        Intent::AssistantText { text } => {
            fitted(text).into_iter().map(|text| Intent::AssistantText { text }).collect()
        }
        Intent::Error { kind, text, retryable } => {
            let text = fitted(text).into_iter().next().unwrap_or_default();
            vec![Intent::Error { kind: *kind, text, retryable: *retryable }]
        }
        Intent::ApprovalAskBack { text, .. } if !capabilities.buttons => {
            lower(&Intent::AssistantText { text: text.clone() }, capabilities)
        }
        Intent::ApprovalAskBack { text, language, choices } => {
            // The buttons stand under the last of its messages.
            let mut texts = fitted(text);
            let text = texts.pop().unwrap_or_default();
            let last = Intent::ApprovalAskBack { text, language: *language, choices: choices.clone() };
            texts.into_iter().map(|text| Intent::AssistantText { text }).chain([last]).collect()
        }
        Intent::Speech { .. } if capabilities.voice.is_none() => Vec::new(),
        Intent::AssistantDelta { .. }
        | Intent::Speech { .. }
        | Intent::Progress { .. }
        | Intent::Typing
        | Intent::ApprovalRequest { .. }
        | Intent::ApprovalResolved { .. }
        | Intent::Attachment { .. } => vec![intent.clone()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ErrorKind, LengthUnit};

    fn text(text: &str) -> Intent {
        Intent::AssistantText { text: text.into() }
    }

    fn limited(max: usize) -> Capabilities {
        Capabilities { max_length: Some(max), length_unit: LengthUnit::Utf16, ..Capabilities::pull() }
    }

    #[test]
    fn text_is_split_only_where_there_is_a_limit() {
        let long = text("one two\n\n😀😀😀😀");
        assert_eq!(lower(&long, &Capabilities::pull()), std::slice::from_ref(&long));
        assert_eq!(lower(&long, &limited(8)), [text("one two"), text("😀😀😀😀")]);
        assert_eq!(lower(&text(" \n"), &limited(8)), []);
    }

    #[test]
    fn an_error_stays_one_and_fleeting_words_stay_as_they_are() {
        let error = |text: &str| Intent::Error { kind: ErrorKind::Rate, text: text.into(), retryable: true };
        assert_eq!(lower(&error("Too many. Try later."), &limited(12)), [error("Too many.")]);
        for intent in [
            Intent::Typing,
            Intent::Progress { text: "reading a long file".into(), call_id: None },
            Intent::AssistantDelta { text: "longer than the limit".into() },
        ] {
            assert_eq!(lower(&intent, &limited(8)), [intent]);
        }
    }
}
