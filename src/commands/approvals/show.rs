//! `approvals show`: one request, with all fields of its call.

use std::io::{self, Write};

use crate::cli::{Exit, Output};
use crate::commands::cli_context::CliContext;
use crate::commands::terminal::{moment, one_line, pad};
use crate::domain::{Approval, ApprovalFile, ApprovalState, Language};
use crate::phrases::commands as words;

/// Most columns of a line.
const COLUMNS: usize = 100;
/// Width of the field names.
const FIELD_COLUMNS: usize = 12;

pub(super) fn show(
    context: &CliContext,
    approval: &Approval,
    output: Output,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    if output.json {
        writeln!(out, "{:#}", serde_json::to_value(ApprovalFile::from(approval))?)?;
    } else {
        write_approval(context, approval, out)?;
    }
    Ok(Exit::Ok)
}

fn write_approval(context: &CliContext, approval: &Approval, out: &mut dyn Write) -> io::Result<()> {
    let state = words::approval_state(&approval.state, context.language);
    let summary = one_line(&approval.summary, COLUMNS);
    writeln!(out, "{}  {}", context.surface.strong(&format!("{} {state}", approval.number)), summary)?;
    for (field, value) in fields(context, approval) {
        let name = pad(field(context.language), FIELD_COLUMNS);
        writeln!(out, "  {} {}", context.surface.dim(&name), one_line(&value, COLUMNS))?;
    }
    // The call is shown whole: a person must see all of what they approve.
    let input = serde_json::to_string_pretty(&approval.input).unwrap_or_default();
    writeln!(out, "\n{}", context.surface.clean(&input))?;
    if let Some(details) = &approval.details {
        writeln!(out, "\n{}", context.surface.clean(details))?;
    }
    Ok(())
}

/// The label of a field.
type Field = fn(Language) -> &'static str;

fn fields(context: &CliContext, approval: &Approval) -> Vec<(Field, String)> {
    let mut fields: Vec<(Field, String)> = vec![
        (words::field_tool, approval.tool.clone()),
        (words::field_risk, words::risk(approval.risk, context.language).to_owned()),
        (words::field_thread, approval.thread.to_string()),
        (words::field_requested_by, approval.requested_by.to_string()),
        (words::field_asked, moment(approval.created_at, &context.zone)),
        (words::field_expires, moment(approval.expires_at, &context.zone)),
        (words::field_fingerprint, approval.fingerprint.clone()),
        (words::field_id, approval.id.to_string()),
    ];
    let (decided, ended) = match &approval.state {
        ApprovalState::Pending => (None, None),
        ApprovalState::Approved { decided, .. }
        | ApprovalState::Spent { decided, .. }
        | ApprovalState::Denied { decided } => (Some(decided), decided.reason.clone()),
        ApprovalState::Expired { .. } => (None, None),
        ApprovalState::Cancelled { reason, .. } => (None, Some(reason.clone())),
    };
    if let Some(decided) = decided {
        let when = moment(decided.at, &context.zone);
        fields.push((words::field_decided, format!("{} · {} · {when}", decided.by, decided.via)));
    }
    fields.extend(ended.map(|reason| (words::field_reason as Field, reason)));
    fields
}

#[cfg(test)]
pub(super) mod tests {
    use jiff::tz::TimeZone;
    use serde_json::json;

    use super::*;
    use crate::commands::terminal::Surface;
    use crate::domain::{ApprovalKind, ApprovalNumber, Decided, Risk, ScopeKind, Timestamp};

    pub(in crate::commands::approvals) fn approval(number: u32, state: ApprovalState) -> Approval {
        let at = Timestamp::from_millis(1_700_000_000_000);
        Approval {
            id: "a".repeat(40).parse().unwrap(),
            number: ApprovalNumber(number),
            kind: ApprovalKind::Tool,
            thread: "web:chat:1".parse().unwrap(),
            correlation: "run_1".parse().unwrap(),
            tool_call: "call_1".parse().unwrap(),
            tool: "exec_shell".to_owned(),
            input: json!({ "command": "rm -rf build" }),
            summary: "rm -rf build".to_owned(),
            details: Some("- it deletes".to_owned()),
            risk: Risk::High,
            scopes: vec![ScopeKind::Once],
            memory_scope: Default::default(),
            owners_only: false,
            asked_in: Vec::new(),
            fingerprint: "f00d".to_owned(),
            requested_by: "web:user:ada".parse().unwrap(),
            created_at: at,
            expires_at: at.plus_millis(3_600_000),
            state,
        }
    }

    fn shown(language: Language, state: ApprovalState) -> String {
        let context =
            CliContext::with("/nonexistent".into(), language, TimeZone::UTC, Surface::Stream).unwrap();
        let mut out = Vec::new();
        write_approval(&context, &approval(1, state), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn everything_that_is_known_is_shown() {
        let decided = Decided {
            by: "cli:user:operator".parse().unwrap(),
            at: Timestamp::from_millis(1_700_000_060_000),
            via: "cli".to_owned(),
            reason: Some("no".to_owned()),
        };
        insta::assert_snapshot!(shown(Language::En, ApprovalState::Denied { decided }), @r#"
        A1 denied  rm -rf build
          tool         exec_shell
          risk         high
          thread       web:chat:1
          requested by web:user:ada
          asked        2023-11-14 22:13
          expires      2023-11-14 23:13
          fingerprint  f00d
          id           aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
          decided      cli:user:operator · cli · 2023-11-14 22:14
          reason       no

        {
          "command": "rm -rf build"
        }

        - it deletes
        "#);
        assert!(shown(Language::Zh, ApprovalState::Pending).starts_with("A1 待决定  rm -rf build\n"));
    }
}
