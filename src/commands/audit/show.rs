//! Formats one line of the audit trail.

use serde_json::Value;

use crate::commands::cli_context::CliContext;
use crate::commands::terminal::{moment, one_line, pad};
use crate::domain::{Language, Timestamp};
use crate::phrases::commands as words;

/// Width of the event names.
const EVENT_COLUMNS: usize = 16;
/// Most columns of a reason.
const REASON_COLUMNS: usize = 80;

/// The event, its subject, its author and its outcome.
pub(super) fn line(look: &CliContext, facts: &Value) -> String {
    let text = |key: &str| facts.get(key).and_then(Value::as_str);
    let own = |key: &str| text(key).map(|value| one_line(value, REASON_COLUMNS));
    let at = text("at").and_then(Timestamp::parse_rfc3339).map(|at| moment(at, &look.zone));
    let event = event_name(text("event").unwrap_or_default(), look.language);
    let grants = facts
        .get("grants")
        .and_then(Value::as_array)
        .map(|grants| grants.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "));
    let exit = facts.get("exitCode").and_then(Value::as_i64);
    let duration = facts.get("durationMs").and_then(Value::as_u64);
    let said: Vec<String> = [
        text("verdict").or_else(|| text("outcome")).map(|word| outcome(word, look.language)),
        own("number"),
        grants,
        own("guest"),
        own("tool"),
        exit.map(|code| words::audit_exit_code(code, look.language)),
        duration.map(|millis| format!("{millis} ms")),
        own("author").map(|who| match own("via") {
            Some(via) => words::audit_by_via(&who, &via, look.language),
            None => words::audit_by(&who, look.language),
        }),
        own("reason").map(|reason| format!("({reason})")),
    ]
    .into_iter()
    .flatten()
    .filter(|word| !word.is_empty())
    .collect();
    let place = own("threadId").map(|thread| format!("  {}", look.surface.dim(&thread))).unwrap_or_default();
    let at = look.surface.dim(&at.unwrap_or_default());
    format!("{at}  {}  {}{place}", pad(&event, EVENT_COLUMNS), said.join("  "))
}

/// The label of an event; unknown ones keep their stored name.
fn event_name(name: &str, language: Language) -> String {
    let words = match name {
        "verdict" => words::audit_verdict,
        "decision" => words::audit_decision,
        "execution" => words::audit_execution,
        "grant-added" => words::audit_grant_added,
        "grant-used" => words::audit_grant_used,
        "grant-revoked" => words::audit_grant_revoked,
        "grant-expired" => words::audit_grant_expired,
        "access-approved" => words::audit_access_approved,
        "access-revoked" => words::audit_access_revoked,
        "access-opened" => words::audit_access_opened,
        "thread-stopped" => words::audit_thread_stopped,
        "lines-lost" => words::audit_lines_lost,
        other => return one_line(other, EVENT_COLUMNS),
    };
    words(language).to_owned()
}

/// The label of an outcome; unknown ones keep their stored name.
fn outcome(name: &str, language: Language) -> String {
    let words = match name {
        "allow" => words::audit_allow,
        "ask" => words::audit_ask,
        "deny" => words::audit_deny,
        "approved" => words::audit_approved,
        "denied" => words::audit_denied,
        "done" => words::audit_done,
        "expired" => words::audit_expired,
        "cancelled" => words::audit_cancelled,
        "refused" => words::audit_refused,
        "ok" => words::audit_ok,
        "error" => words::audit_error,
        "aborted" => words::audit_aborted,
        other => return one_line(other, EVENT_COLUMNS),
    };
    words(language).to_owned()
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use serde_json::json;

    use super::*;
    use crate::commands::terminal::Surface;
    use crate::domain::Language;

    #[test]
    fn a_line_is_told_in_both_languages_and_cannot_draw_on_the_terminal() {
        let look = |language| {
            CliContext::with("/nonexistent".into(), language, TimeZone::UTC, Surface::Stream).unwrap()
        };
        let ran = json!({
            "at": "2023-11-14T22:13:20Z", "event": "execution", "outcome": "ok", "tool": "exec_shell",
            "exitCode": 0, "durationMs": 12, "threadId": "web:chat:1",
        });
        let decided = json!({
            "at": "2023-11-14T22:13:20Z", "event": "decision", "outcome": "refused", "number": "A1",
            "author": "api:user:eve", "via": "text", "reason": "may\u{1b}[2J not",
        });
        assert_eq!(
            line(&look(Language::En), &ran),
            "2023-11-14 22:13  execution         ok  exec_shell  exit 0  12 ms  web:chat:1"
        );
        assert_eq!(
            line(&look(Language::En), &decided),
            "2023-11-14 22:13  decision          refused  A1  by api:user:eve via text  (may [2J not)"
        );
        assert_eq!(
            line(&look(Language::Zh), &ran),
            "2023-11-14 22:13  执行              成功  exec_shell  退出码 0  12 ms  web:chat:1"
        );
        assert_eq!(
            line(&look(Language::Zh), &decided),
            "2023-11-14 22:13  决定              不予接受  A1  由 api:user:eve（text）  (may [2J not)"
        );
        assert!(line(&look(Language::En), &json!({})).trim().is_empty());
    }
}
