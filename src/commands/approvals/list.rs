//! `approvals list`.

use std::io::Write;

use serde_json::json;

use crate::cli::{ApprovalFilter, Exit, Output};
use crate::commands::cli_context::CliContext;
use crate::commands::terminal::{moment, one_line};
use crate::commands::text_table::table;
use crate::domain::{Approval, ApprovalFile, ApprovalState};
use crate::phrases::commands as words;

/// Most columns of a summary.
const SUMMARY_COLUMNS: usize = 60;

/// Lists the requests, newest first.
pub(super) fn list(
    context: &CliContext,
    approvals: &[Approval],
    filter: ApprovalFilter,
    output: Output,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let wanted = |approval: &&Approval| match filter {
        ApprovalFilter::All => true,
        ApprovalFilter::Pending => approval.state == ApprovalState::Pending,
    };
    let shown: Vec<&Approval> = approvals.iter().filter(wanted).collect();
    if output.json {
        let shown: Vec<ApprovalFile> = shown.into_iter().map(ApprovalFile::from).collect();
        writeln!(out, "{:#}", json!({ "approvals": shown }))?;
    } else if shown.is_empty() {
        let nothing = match filter {
            ApprovalFilter::Pending => words::nothing_pending,
            ApprovalFilter::All => words::nothing_asked,
        };
        writeln!(out, "{}", nothing(context.language))?;
    } else {
        write!(out, "{}", rows(context, &shown))?;
    }
    Ok(Exit::Ok)
}

fn rows(context: &CliContext, approvals: &[&Approval]) -> String {
    let rows = approvals.iter().map(|approval| {
        [
            approval.number.to_string(),
            words::approval_state(&approval.state, context.language).to_owned(),
            words::risk(approval.risk, context.language).to_owned(),
            moment(approval.created_at, &context.zone),
            approval.thread.to_string(),
            one_line(&approval.summary, SUMMARY_COLUMNS),
        ]
    });
    table(context.surface, words::approval_columns(context.language), &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::commands::approvals::show::tests::approval;
    use crate::commands::terminal::Surface;
    use crate::domain::Language;

    fn context(language: Language) -> CliContext {
        CliContext::with("/nonexistent".into(), language, TimeZone::UTC, Surface::Stream).unwrap()
    }

    #[test]
    fn the_table_is_told_in_both_languages() {
        let (one, two) = (approval(12, ApprovalState::Pending), approval(3, ApprovalState::Pending));
        insta::assert_snapshot!(rows(&context(Language::En), &[&one, &two]), @r"
        NO.  STATE    RISK  ASKED             THREAD      WHAT
        A12  pending  high  2023-11-14 22:13  web:chat:1  rm -rf build
        A3   pending  high  2023-11-14 22:13  web:chat:1  rm -rf build
        ");
        insta::assert_snapshot!(rows(&context(Language::Zh), &[&one]), @r"
        编号  状态    风险  提出时间          会话        内容
        A12   待决定  高    2023-11-14 22:13  web:chat:1  rm -rf build
        ");
    }

    #[test]
    fn what_waits_is_told_from_what_was() {
        let mut told = Vec::new();
        let at = crate::domain::Timestamp::from_millis(0);
        let old = [approval(1, ApprovalState::Expired { at })];
        let quiet = Output { json: false };
        list(&context(Language::En), &old, ApprovalFilter::Pending, quiet, &mut told).unwrap();
        assert_eq!(String::from_utf8(told).unwrap(), "nothing waits for a decision\n");
    }
}
