//! A request for approval as lines to read before deciding: number, tool, risk, folder, the whole command or change,
//! and how to answer. Nothing is cut, and nothing in it can move the cursor or hide. Pure.

use jiff::tz::TimeZone;
use serde_json::Value;

use super::question::ShownQuestion;
use crate::commands::terminal::{moment, visible};
use crate::domain::{ApprovalKind, Language, Timestamp};
use crate::phrases::chat as words;

/// The tool whose input is a command.
const SHELL: &str = "exec_shell";

/// Indentation of commands and inputs.
const INDENT: &str = "    ";

/// The lines, the first of them the heading.
pub(super) fn lines(question: &ShownQuestion, zone: &TimeZone, language: Language) -> Vec<String> {
    let mut lines = vec![heading(question, zone, language)];
    if question.kind == ApprovalKind::UnknownOutcome {
        lines.push(words::cut_off(language).to_owned());
    }
    let details = question.details.as_deref().map(visible).unwrap_or_default();
    if question.tool == SHELL {
        lines.extend(command(question, language));
        lines.extend(without_block(&details, &command_text(question)));
    } else {
        lines.push(visible(&question.summary));
        lines.extend(details.lines().map(str::to_owned));
        if !tells_whole_input(&details, &question.input) {
            lines.push(String::new());
            lines.extend(whole_input(&question.input, language));
        }
    }
    lines.push(how_to_answer(question, language));
    lines
}

fn heading(question: &ShownQuestion, zone: &TimeZone, language: Language) -> String {
    let mut facts = vec![question.name(), visible(&question.tool)];
    facts.extend(question.risk.map(|risk| words::risk(risk, language).to_owned()));
    let expires = question.expires_at.as_ref().and_then(|at| at.parse::<jiff::Timestamp>().ok());
    facts.extend(
        expires
            .map(|at| words::expires(&moment(Timestamp::from_millis(at.as_millisecond()), zone), language)),
    );
    facts.join(" · ")
}

fn command_text(question: &ShownQuestion) -> String {
    let command = question.input.get("command").and_then(Value::as_str);
    visible(command.unwrap_or(&question.summary).trim())
}

/// The folder and the whole command.
fn command(question: &ShownQuestion, language: Language) -> Vec<String> {
    let cwd = question.input.get("cwd").and_then(Value::as_str).unwrap_or_default().trim();
    let folder = match cwd {
        "" | "." | "./" => words::project_folder(language).to_owned(),
        cwd => words::folder(&visible(cwd).replace('\n', "\\n"), language),
    };
    let name = words::command(language);
    let text = command_text(question);
    let command = text.lines().map(|line| format!("{INDENT}{line}"));
    [folder, name.to_owned()].into_iter().chain(command).collect()
}

/// The details without the fenced block that repeats this text, and without blank lines around it.
fn without_block(details: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = details.lines().collect();
    let body: Vec<&str> = text.lines().collect();
    let is_fence = |line: &&str| line.trim_start().starts_with("```");
    let repeats = |at: usize| {
        let inside = lines.get(at + 1..at + 1 + body.len());
        let end = lines.get(at + 1 + body.len());
        lines.get(at).is_some_and(is_fence) && inside == Some(&body) && end.is_some_and(is_fence)
    };
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if repeats(at) {
            at += body.len() + 2;
        } else {
            kept.push((*line).to_owned());
            at += 1;
        }
    }
    while kept.last().is_some_and(|line: &String| line.trim().is_empty()) {
        kept.pop();
    }
    kept
}

/// Whether the details show all of the input: a whole diff, or the input itself.
fn tells_whole_input(details: &str, input: &Value) -> bool {
    if details.lines().any(|line| line.trim_start_matches('`').trim() == "diff" && line.starts_with("```")) {
        return diff_is_whole(details);
    }
    let text = visible(&serde_json::to_string_pretty(input).unwrap_or_default());
    details.contains(text.trim())
}

/// Whether a fenced diff is as long as its last hunk says, with no text after the fence.
fn diff_is_whole(details: &str) -> bool {
    let mut fence: Option<&str> = None;
    // Lines of the old and the new text that the hunk still owes.
    let mut owed = (0_usize, 0_usize);
    let mut behind = false;
    for line in details.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            None if ticks >= 3 => {
                fence = line.get(..ticks);
                behind = false;
            }
            None => behind |= !line.trim().is_empty(),
            Some(open) if line.trim() == open => {
                fence = None;
                behind = false;
            }
            Some(_) => match hunk(line) {
                Some(counts) if owed == (0, 0) => owed = counts,
                _ => take(line, &mut owed),
            },
        }
    }
    owed == (0, 0) && !behind
}

fn take(line: &str, owed: &mut (usize, usize)) {
    let (old, new) = match line.chars().next() {
        Some('-') => (1, 0),
        Some('+') => (0, 1),
        Some('\\') => (0, 0),
        Some(_) | None => (1, 1),
    };
    *owed = (owed.0.saturating_sub(old), owed.1.saturating_sub(new));
}

/// The line counts in the head of a hunk: `@@ -1,6 +1,6 @@`.
fn hunk(line: &str) -> Option<(usize, usize)> {
    let ranges = line.strip_prefix("@@ -")?.split(" @@").next()?;
    let (old, new) = ranges.split_once(" +")?;
    let count = |range: &str| match range.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => Some(1),
    };
    Some((count(old)?, count(new)?))
}

/// Every field of the input, texts line by line.
fn whole_input(input: &Value, language: Language) -> Vec<String> {
    let mut lines = vec![words::whole_input(language).to_owned()];
    let Some(fields) = input.as_object() else {
        lines.push(format!("{INDENT}{}", visible(&input.to_string())));
        return lines;
    };
    for (key, value) in fields {
        let key = visible(key).replace('\n', "\\n");
        match value.as_str() {
            Some(text) if text.contains('\n') => {
                lines.push(format!("{INDENT}{key}:"));
                lines.extend(visible(text).lines().map(|line| format!("{INDENT}{INDENT}{line}")));
            }
            Some(text) => lines.push(format!("{INDENT}{key}: {}", visible(text))),
            None => lines.push(format!("{INDENT}{key}: {}", visible(&value.to_string()))),
        }
    }
    lines
}

fn how_to_answer(question: &ShownQuestion, language: Language) -> String {
    words::how_to_answer(&question.replies(language).join(" · "), language)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::chat::question::Questions;
    use crate::uimessage::UiMessage;

    fn asked(tool: &str, input: &Value, summary: &str, details: &str) -> ShownQuestion {
        let descriptor = json!({ "number": "A7", "kind": "tool", "summary": summary, "details": details,
            "risk": "medium", "expiresAt": "2026-08-01T14:20:00Z" });
        let part = json!({ "type": format!("tool-{tool}"), "toolCallId": "c1", "state": "approval-requested",
            "input": input, "approval": { "id": "apr_1", "descriptor": descriptor } });
        let metadata = json!({ "platform": "cli", "threadId": "cli:chat:t", "timestamp": 1,
            "correlationId": "run_1", "status": "running" });
        let message: UiMessage = serde_json::from_value(
            json!({ "id": "m1", "role": "assistant", "metadata": metadata, "parts": [part] }),
        )
        .unwrap();
        let mut questions = Questions::default();
        questions.update(&message);
        questions.open().first().cloned().unwrap()
    }

    fn shown(question: &ShownQuestion) -> String {
        lines(question, &TimeZone::UTC, Language::En).join("\n")
    }

    #[test]
    fn a_command_is_shown_whole_with_folder_number_and_risk() {
        let long = format!("make {}", "x".repeat(400));
        let input = json!({ "command": format!("{long}\nmake \u{202e}y\u{1b}[2J"), "cwd": "api" });
        let body = format!("{long}\nmake \\u{{202e}}y\\u{{1b}}[2J");
        let details = format!("- it builds\n\nIn the folder `api`\n\n```sh\n{body}\n```");
        let text = shown(&asked("exec_shell", &input, "make xxx…", &details));
        let expected = format!(
            "A7 · exec_shell · risk: medium · expires 2026-08-01 14:20\nfolder: api\ncommand:\n    {long}\n    \
             make \\u{{202e}}y\\u{{1b}}[2J\n- it builds\n\nIn the folder `api`\n\
             answer: approve A7 · deny A7 · /cancel withdraws it"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn a_whole_diff_is_enough_and_a_cut_one_is_followed_by_the_input() {
        let input = json!({ "path": "a.txt", "content": "one\ntwo\nthree\n" });
        let diff = |lines: &str| format!("- it writes\n\n```diff\n--- /dev/null\n+++ b/a.txt\n{lines}\n```");
        let whole = diff("@@ -0,0 +1,3 @@\n+one\n+two\n+three");
        let text = shown(&asked("write_file", &input, "write_file a.txt", &whole));
        assert!(text.contains("+three\n```\nanswer:"), "{text}");
        let in_hunk = diff("@@ -0,0 +1,3 @@\n+one");
        let between = format!("{}\n\n7 more lines are left out.", diff("@@ -0,0 +1,1 @@\n+one"));
        for cut in [in_hunk, between] {
            let text = shown(&asked("write_file", &input, "write_file a.txt", &cut));
            assert!(text.contains("    content:\n        one\n        two\n        three\n"), "{text}");
        }
    }

    #[test]
    fn an_input_without_a_diff_is_shown_whole() {
        let input = json!({ "text": format!("{}END", "y".repeat(5_000)) });
        let cut = "- it speaks\n\n```json\n{\n  \"text\": \"yyy\n…\n```";
        let text = shown(&asked("chat_send", &input, "chat_send", cut));
        assert!(text.contains("yEND\n"), "{text}");
        let short = json!({ "text": "hi" });
        let details = "- it speaks\n\n```json\n{\n  \"text\": \"hi\"\n}\n```";
        assert_eq!(shown(&asked("chat_send", &short, "chat_send", details)).matches("hi").count(), 1);
    }
}
