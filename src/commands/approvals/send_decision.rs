//! `approvals approve | deny | done`: sends a decision to the running daemon.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::{DecisionArgs, Exit, ScopeArg};
use crate::commands::cli_context::{CliContext, VIA};
use crate::commands::daemon_client::{DaemonClient, DaemonError};
use crate::commands::setup::load_or_say;
use crate::commands::terminal::one_line;
use crate::config::Env;
use crate::domain::{Approval, ApprovalState, Scope};
use crate::phrases::commands as words;
use crate::ports::AdapterTable;

/// Most columns of a summary.
const SUMMARY_COLUMNS: usize = 80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecisionArg {
    Approve(ScopeArg),
    Deny,
    /// The call of an unknown outcome was done.
    Done,
}

impl DecisionArg {
    /// The `decision` of the HTTP interface.
    const fn name(self) -> &'static str {
        match self {
            Self::Approve(_) => "approve",
            Self::Deny => "deny",
            Self::Done => "done",
        }
    }

    const fn scope(self) -> Option<Scope> {
        match self {
            Self::Approve(ScopeArg::Once) => Some(Scope::Once),
            Self::Approve(ScopeArg::Thread) => Some(Scope::Thread),
            Self::Approve(ScopeArg::Shape) => Some(Scope::Shape),
            Self::Approve(ScopeArg::Project) => Some(Scope::Project),
            Self::Approve(ScopeArg::Minutes(minutes)) => Some(Scope::Minutes(minutes)),
            Self::Approve(ScopeArg::PlusOne) => Some(Scope::PlusOne),
            Self::Approve(ScopeArg::PlusFive) => Some(Scope::PlusFive),
            Self::Approve(ScopeArg::Midnight) => Some(Scope::Midnight),
            Self::Deny | Self::Done => None,
        }
    }
}

/// Sends a decision to the daemon and prints the result.
pub(super) fn send_decision(
    context: &CliContext,
    (project, env, adapters): (&Path, &Env, &AdapterTable),
    approval: &Approval,
    answer: DecisionArg,
    args: DecisionArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(settings) = load_or_say(project, env, adapters, err)? else { return Ok(Exit::Configuration) };
    let body = json!({
        "decision": answer.name(), "scope": answer.scope(), "reason": args.reason, "via": VIA,
    });
    let path = format!("/api/approvals/{}", approval.id);
    let asked = context.wait(async { DaemonClient::of_project(&settings)?.post(&path, &body).await });
    let refusal = match asked {
        Ok(now) => {
            tell(context, approval, answer, &now, args.output.json, out)?;
            return Ok(Exit::Ok);
        }
        // The file tells that it was decided before; no daemon is needed.
        Err(DaemonError::NotRunning) if approval.state != ApprovalState::Pending => words::already_settled(
            approval.number,
            words::approval_state(&approval.state, context.language),
            context.language,
        ),
        Err(DaemonError::NotRunning) => words::no_daemon_decides(context.language).to_owned(),
        Err(DaemonError::Refused(why)) => {
            words::decision_refused(&context.surface.clean(&why), context.language)
        }
        Err(DaemonError::Broken(why)) => words::decision_unclear(&why, context.language),
    };
    writeln!(err, "{refusal}")?;
    Ok(Exit::Failed)
}

fn tell(
    context: &CliContext,
    approval: &Approval,
    answer: DecisionArg,
    now: &Value,
    json: bool,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    if json {
        return writeln!(out, "{now:#}");
    }
    let decision = match answer {
        DecisionArg::Approve(_) => words::decided_approved(context.language),
        DecisionArg::Deny => words::decided_denied(context.language),
        DecisionArg::Done => words::decided_done(context.language),
    };
    let summary = one_line(&approval.summary, SUMMARY_COLUMNS);
    writeln!(out, "{}", words::decided(approval.number, decision, &summary, context.language))?;
    // The daemon records the scope that it granted, which may be less than the requested one.
    let wanted = answer.scope().filter(|scope| *scope != Scope::Once);
    if wanted.is_some() && now.pointer("/scope/type").is_some_and(|kind| kind == "once") {
        writeln!(out, "{}", words::decided_once(context.language))?;
    }
    Ok(())
}
