//! The result of a call in one line. Pure.

use serde_json::Value;

use super::terminal::one_line;
use crate::domain::Language;
use crate::phrases::commands::{audit_exit_code, ended_by_signal};

/// Most columns of a result.
const COLUMNS: usize = 100;

/// The outcome of a call and the beginning of its output: `exit 0 · 3 files changed`.
pub(super) fn result_line(output: &Value, language: Language) -> String {
    let text =
        |key: &str| output.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let exit = output.get("exitCode").and_then(Value::as_i64).map(|code| audit_exit_code(code, language));
    let ended = exit.or_else(|| text("signal").map(|signal| ended_by_signal(signal, language)));
    let said = text("stdout").or_else(|| text("stderr")).or_else(|| text("note"));
    let whole = match (ended, said) {
        (Some(ended), Some(said)) => format!("{ended} · {}", first_line(said)),
        (Some(ended), None) => ended,
        (None, Some(said)) => first_line(said),
        (None, None) => output.as_str().map_or_else(|| output.to_string(), first_line),
    };
    one_line(&whole, COLUMNS)
}

/// The first line, with a mark where there are more.
fn first_line(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_how_it_ended_and_its_first_line() {
        for (output, line) in [
            (json!({ "exitCode": 0, "stdout": "one\ntwo\n", "stderr": "" }), "exit 0 · one …"),
            (json!({ "exitCode": 2, "stdout": "", "stderr": "no\u{1b}[2J" }), "exit 2 · no [2J"),
            (json!({ "signal": "SIGKILL", "stdout": "", "stderr": "" }), "ended by SIGKILL"),
            (json!({ "path": "a", "size": 3 }), r#"{"path":"a","size":3}"#),
            (json!("done"), "done"),
        ] {
            assert_eq!(result_line(&output, Language::En), line);
        }
        assert_eq!(result_line(&json!({ "exitCode": 2, "stderr": "x" }), Language::Zh), "退出码 2 · x");
    }
}
