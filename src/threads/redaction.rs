//! Redacts known secrets from tool outputs and approval questions before they are stored, shown or sent.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::ports::{Judgement, ToolFailure, ToolOutcome};
use crate::telemetry::Redactor;

pub(super) fn redact_text(redactor: &Redactor, text: &mut String) {
    if let Cow::Owned(clean) = redactor.apply(text) {
        *text = clean;
    }
}

/// Redacts every text of a JSON value, field names included.
pub(super) fn redact_value(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => redact_text(redactor, text),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_value(redactor, item)),
        Value::Object(fields) => {
            if fields.keys().any(|name| matches!(redactor.apply(name), Cow::Owned(_))) {
                let named = |(name, field): (String, Value)| (redactor.apply(&name).into_owned(), field);
                *fields = std::mem::take(fields).into_iter().map(named).collect::<Map<_, _>>();
            }
            fields.values_mut().for_each(|field| redact_value(redactor, field));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Redacts a tool's outcome. A secret that is spread over several texts or numbers is found in the serialized output;
/// then the output is kept as text.
pub(super) fn redact_outcome(redactor: &Redactor, outcome: ToolOutcome) -> ToolOutcome {
    match outcome {
        Ok(mut output) => {
            redact_value(redactor, &mut output);
            let whole = output.to_string();
            match redactor.apply(&whole) {
                Cow::Borrowed(_) => Ok(output),
                Cow::Owned(clean) => Ok(serde_json::from_str(&clean).unwrap_or(Value::String(clean))),
            }
        }
        Err(failure) => Err(match failure {
            ToolFailure::BadArguments(why) => ToolFailure::BadArguments(redactor.apply(&why).into_owned()),
            ToolFailure::Refused(why) => ToolFailure::Refused(redactor.apply(&why).into_owned()),
            ToolFailure::Failed(why) => ToolFailure::Failed(redactor.apply(&why).into_owned()),
            ToolFailure::TimedOut(seconds) => ToolFailure::TimedOut(seconds),
        }),
    }
}

/// Redacts the parts of a judgement that people see. The arguments that run, and their fingerprint, stay unchanged: the
/// model's output was redacted before.
pub(super) fn redact_judgement(redactor: &Redactor, judgement: &mut Judgement) {
    redact_text(redactor, &mut judgement.summary);
    let texts = judgement.details.iter_mut().chain(judgement.whole.iter_mut().map(|whole| &mut whole.text));
    texts.for_each(|text| redact_text(redactor, text));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redactor() -> Redactor {
        Redactor::new(["hunter2-Xy7qLw9"]).unwrap().only_known()
    }

    #[test]
    fn texts_and_names_at_any_depth_lose_their_secrets() {
        let output = json!({ "a": ["it is hunter2-Xy7qLw9", 7, { "hunter2-Xy7qLw9": "68756e746572322d58793771 4c7739" }] });
        let clean = redact_outcome(&redactor(), Ok(output)).unwrap();
        assert_eq!(clean, json!({ "a": ["it is [redacted]", 7, { "[redacted]": "[redacted]" }] }));
        let same = json!({ "exitCode": 0, "stdout": "ok", "lines": [1, 2, 3] });
        assert_eq!(redact_outcome(&redactor(), Ok(same.clone())).unwrap(), same);
    }

    #[test]
    fn a_secret_that_is_spread_over_an_output_is_found() {
        let letters: Vec<String> = "hunter2-Xy7qLw9".chars().map(String::from).collect();
        let bytes: Vec<u8> = "hunter2-Xy7qLw9".bytes().collect();
        for output in [json!({ "lines": letters }), json!({ "bytes": bytes })] {
            let clean = redact_outcome(&redactor(), Ok(output)).unwrap().to_string();
            assert!(clean.contains("[redacted]") && !clean.contains("104,117"), "{clean}");
        }
    }

    #[test]
    fn a_failure_tells_no_secret() {
        let failed = Err(ToolFailure::Failed("no such file: hunter2-Xy7qLw9".to_owned()));
        let clean = redact_outcome(&redactor(), failed);
        assert_eq!(clean, Err(ToolFailure::Failed("no such file: [redacted]".to_owned())));
    }
}
