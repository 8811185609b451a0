//! `shipagent audit`: prints the audit trail, with or without a running daemon. Writes nothing.

use std::io::Write;
use std::path::Path;

use serde_json::Value;

use crate::cli::{AuditArgs, Exit};
use crate::commands::cli_context::CliContext;
use crate::commands::terminal::{moment, one_line, pad};
use crate::config::Env;
use crate::domain::{Language, Timestamp};
use crate::phrases::commands as words;
use crate::ports::{AuditQuery, Clock, SystemClock};

/// Prints the newest lines that match, newest last. Errors go to `err`.
///
/// # Errors
/// When something fails that has no exit code of its own.
pub fn run(
    project: &Path,
    env: &Env,
    args: &AuditArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(context) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    let begin = match &args.since {
        None => None,
        Some(text) => match Timestamp::read_or_ago(text, SystemClock.now(), &context.zone) {
            Some(begin) => Some(begin),
            None => {
                writeln!(err, "{}", words::audit_bad_since(text, context.language))?;
                return Ok(Exit::Usage);
            }
        },
    };
    let query = AuditQuery {
        since: begin,
        thread: args.thread.clone(),
        event: args.event.clone(),
        limit: args.limit,
        ..AuditQuery::default()
    };
    let trail = match context.wait(context.store.audit.read(query)) {
        Ok(trail) => trail,
        Err(error) => {
            writeln!(err, "{}", context.trouble(&error))?;
            return Ok(Exit::Failed);
        }
    };
    for line in &trail.lines {
        if args.json {
            writeln!(out, "{}", line.text)?;
        } else {
            writeln!(out, "{}", format_line(&context, &line.facts))?;
        }
    }
    if trail.lines.is_empty() && !args.json {
        writeln!(out, "{}", words::audit_empty(context.language))?;
    }
    if trail.unreadable > 0 {
        writeln!(err, "{}", words::audit_unreadable(trail.unreadable, context.language))?;
    }
    Ok(Exit::Ok)
}

/// Width of the event names.
const EVENT_COLUMNS: usize = 16;
/// Most columns of a reason.
const REASON_COLUMNS: usize = 80;

/// The event, its subject, its author and its outcome.
fn format_line(context: &CliContext, facts: &Value) -> String {
    let text = |key: &str| facts.get(key).and_then(Value::as_str);
    let own = |key: &str| text(key).map(|value| one_line(value, REASON_COLUMNS));
    let at = text("at").and_then(Timestamp::parse_rfc3339).map(|at| moment(at, &context.zone));
    let event = event_name(text("event").unwrap_or_default(), context.language);
    let grants = facts
        .get("grants")
        .and_then(Value::as_array)
        .map(|grants| grants.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "));
    let exit = facts.get("exitCode").and_then(Value::as_i64);
    let duration = facts.get("durationMs").and_then(Value::as_u64);
    let said: Vec<String> = [
        text("verdict").or_else(|| text("outcome")).map(|word| outcome(word, context.language)),
        own("number"),
        grants,
        own("guest"),
        own("tool"),
        exit.map(|code| words::audit_exit_code(code, context.language)),
        duration.map(|millis| format!("{millis} ms")),
        own("author").map(|who| match own("via") {
            Some(via) => words::audit_by_via(&who, &via, context.language),
            None => words::audit_by(&who, context.language),
        }),
        own("reason").map(|reason| format!("({reason})")),
    ]
    .into_iter()
    .flatten()
    .filter(|word| !word.is_empty())
    .collect();
    let place =
        own("threadId").map(|thread| format!("  {}", context.surface.dim(&thread))).unwrap_or_default();
    let at = context.surface.dim(&at.unwrap_or_default());
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
        let context = |language| {
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
            format_line(&context(Language::En), &ran),
            "2023-11-14 22:13  execution         ok  exec_shell  exit 0  12 ms  web:chat:1"
        );
        assert_eq!(
            format_line(&context(Language::En), &decided),
            "2023-11-14 22:13  decision          refused  A1  by api:user:eve via text  (may [2J not)"
        );
        assert_eq!(
            format_line(&context(Language::Zh), &ran),
            "2023-11-14 22:13  执行              成功  exec_shell  退出码 0  12 ms  web:chat:1"
        );
        assert_eq!(
            format_line(&context(Language::Zh), &decided),
            "2023-11-14 22:13  决定              不予接受  A1  由 api:user:eve（text）  (may [2J not)"
        );
        assert!(format_line(&context(Language::En), &json!({})).trim().is_empty());
    }

    #[test]
    fn a_beginning_is_a_span_a_day_or_a_moment() {
        let now = Timestamp::parse_rfc3339("2026-11-16T12:00:00Z").unwrap();
        let shanghai = TimeZone::get("Asia/Shanghai").unwrap();
        for (text, expected) in [
            ("90s", Some("2026-11-16T11:58:30Z")),
            ("30m", Some("2026-11-16T11:30:00Z")),
            ("2h", Some("2026-11-16T10:00:00Z")),
            ("7d", Some("2026-11-09T12:00:00Z")),
            ("2026-11-16", Some("2026-11-15T16:00:00Z")),
            ("2026-11-16T09:30:00Z", Some("2026-11-16T09:30:00Z")),
            ("2", None),
            ("h", None),
            ("-2h", None),
            ("2 weeks", None),
            ("", None),
            ("两小时", None),
        ] {
            let expected = expected.map(|text| Timestamp::parse_rfc3339(text).unwrap());
            assert_eq!(Timestamp::read_or_ago(text, now, &shanghai), expected, "{text:?}");
        }
    }
}
