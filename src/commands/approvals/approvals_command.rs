//! Runs the subcommands of `approvals`.

use std::io::Write;
use std::path::Path;

use super::send_decision::{DecisionArg, send_decision};
use super::{list, show};
use crate::cli::{ApprovalsCommand, Exit};
use crate::commands::cli_context::CliContext;
use crate::config::Env;
use crate::domain::{Approval, ApprovalNumber};
use crate::phrases::commands as words;
use crate::ports::AdapterTable;

/// Runs a subcommand. Results go to `out`, errors to `err`.
///
/// # Errors
/// When something fails that has no exit code of its own.
pub fn run(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    command: ApprovalsCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(context) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    let approvals = match context.wait(context.store.approvals.list()) {
        Ok(approvals) => approvals,
        Err(error) => {
            writeln!(err, "{}", context.trouble(&error))?;
            return Ok(Exit::Failed);
        }
    };
    let (name, answer, args) = match command {
        ApprovalsCommand::List { state, output } => {
            return list::list(&context, &approvals, state, output, out);
        }
        ApprovalsCommand::Show { approval, output } => {
            return match find(&approvals, &approval) {
                Some(approval) => show::show(&context, approval, output, out),
                None => unknown(&context, &approval, err),
            };
        }
        ApprovalsCommand::Approve { approval, scope, words } => {
            (approval, DecisionArg::Approve(scope), words)
        }
        ApprovalsCommand::Deny { approval, words } => (approval, DecisionArg::Deny, words),
        ApprovalsCommand::Done { approval, words } => (approval, DecisionArg::Done, words),
    };
    match find(&approvals, &name) {
        Some(approval) => send_decision(&context, (project, env, adapters), approval, answer, args, out, err),
        None => unknown(&context, &name, err),
    }
}

fn unknown(context: &CliContext, name: &str, err: &mut dyn Write) -> anyhow::Result<Exit> {
    writeln!(err, "{}", words::unknown_approval(name, context.language))?;
    Ok(Exit::Failed)
}

/// The approval with this number (`A1`, `a1`) or id.
fn find<'a>(approvals: &'a [Approval], name: &str) -> Option<&'a Approval> {
    let number = ApprovalNumber::typed(name);
    approvals.iter().find(|approval| approval.id.as_str() == name || number == Some(approval.number))
}
