//! What a scheduled run reports: by its tool, or by its final text.

use super::{Part, ToolState, UiMessage};
use crate::domain::Quiet;

/// The tool that ends a run with or without a report.
pub const TASK_DONE: &str = "task_done";
/// Answers that mean "nothing to report", where the agent forgot the tool.
const NOTHING: [&str; 4] = ["NOTHING_TO_REPORT", "NO_REPLY", "HEARTBEAT_OK", "无需汇报"];

/// The report of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskReport {
    /// Nothing is to be said.
    pub quiet: bool,
    pub text: String,
}

impl TaskReport {
    /// The report that the assistant's messages of a run make, oldest first.
    pub fn of<'a>(
        messages: impl IntoIterator<Item = &'a UiMessage, IntoIter: DoubleEndedIterator>,
        quiet: Quiet,
    ) -> Self {
        let mut newest = messages.into_iter().rev().peekable();
        let text = newest.peek().map(|message| message.final_text()).unwrap_or_default().trim().to_owned();
        let done = newest.find_map(done_of);
        let quiet = match (quiet, &done) {
            (Quiet::Never, _) => false,
            (Quiet::Always, _) => true,
            (Quiet::Auto, Some((report, _))) => !report,
            (Quiet::Auto, None) => says_nothing(&text),
        };
        let text = done.and_then(|(_, text)| text).unwrap_or(text);
        Self { quiet: quiet || text.is_empty(), text }
    }
}

/// What the last call of the tool said: whether to report, and the report.
fn done_of(message: &UiMessage) -> Option<(bool, Option<String>)> {
    message.parts.iter().rev().find_map(|part| {
        let Part::Tool(tool) = part else { return None };
        let ToolState::OutputAvailable { input, .. } = &tool.state else { return None };
        let text = || input.get("text")?.as_str().map(str::trim).filter(|text| !text.is_empty());
        let report = || input.get("report").and_then(serde_json::Value::as_bool).unwrap_or(true);
        (tool.tool.name() == TASK_DONE).then(|| (report(), text().map(str::to_owned)))
    })
}

/// Whether an answer is only one of the fixed words for "nothing to report".
fn says_nothing(text: &str) -> bool {
    let word = text.trim_matches(|c: char| c.is_whitespace() || (!c.is_alphanumeric() && c != '_'));
    NOTHING.iter().any(|nothing| word.eq_ignore_ascii_case(nothing))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(parts: serde_json::Value) -> UiMessage {
        let message = json!({
            "id": "run_1.1", "role": "assistant", "parts": parts,
            "metadata": {
                "platform": "task", "threadId": "task:chat:t", "timestamp": 1, "correlationId": "run_1",
            },
        });
        serde_json::from_value(message).unwrap()
    }

    fn said(text: &str) -> serde_json::Value {
        json!({ "type": "text", "text": text })
    }

    fn done(input: serde_json::Value) -> serde_json::Value {
        json!({
            "type": "tool-task_done", "toolCallId": "c1", "state": "output-available",
            "input": input, "output": { "noted": true },
        })
    }

    #[test]
    fn a_report_follows_the_tool_then_the_fixed_words_then_the_policy() {
        for (parts, auto, never, always) in [
            (json!([said("All is well.")]), Some("All is well."), Some("All is well."), None),
            (json!([said(" NO_REPLY. ")]), None, Some("NO_REPLY."), None),
            (json!([said("**heartbeat_ok**")]), None, Some("**heartbeat_ok**"), None),
            (json!([said("无需汇报。")]), None, Some("无需汇报。"), None),
            (json!([said("NOTHING_TO_REPORT")]), None, Some("NOTHING_TO_REPORT"), None),
            (
                json!([said("NO_REPLY is a token.")]),
                Some("NO_REPLY is a token."),
                Some("NO_REPLY is a token."),
                None,
            ),
            (
                json!([said("I looked."), done(json!({ "report": false })), said("Bye.")]),
                None,
                Some("Bye."),
                None,
            ),
            (
                json!([done(json!({ "report": true, "text": " Two. " })), said("Bye.")]),
                Some("Two."),
                Some("Two."),
                None,
            ),
            (
                json!([said("narration"), done(json!({ "report": true })), said("One.")]),
                Some("One."),
                Some("One."),
                None,
            ),
            (json!([]), None, None, None),
        ] {
            let message = answer(parts.clone());
            for (quiet, expected) in [(Quiet::Auto, auto), (Quiet::Never, never), (Quiet::Always, always)] {
                let report = TaskReport::of([&message], quiet);
                assert_eq!((!report.quiet).then_some(report.text.as_str()), expected, "{quiet:?} {parts}");
            }
        }
    }
}
