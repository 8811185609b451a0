//! From the arguments of `grants` to its commands.

use std::io::Write;
use std::path::Path;

use super::{list, words};
use crate::cli::{Exit, GrantsCommand};
use crate::commands::cli_context::{CliContext, VIA, operator, small_runtime};
use crate::config::Env;
use crate::domain::{GrantNumber, GrantSummary};
use crate::ports::{Clock, Grants, Revoker, StoreError, SystemClock};
use crate::store::FileGrants;

/// Runs one of the commands. What was found goes to `out`, trouble to `err`.
///
/// # Errors
/// When something went wrong that has no exit code of its own.
pub fn run(
    project: &Path,
    env: &Env,
    command: GrantsCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(look) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    match command {
        GrantsCommand::List(output) => match listed(&look)? {
            Ok(grants) => list::list(&look, &grants, output, out),
            Err(error) => {
                writeln!(err, "{}", look.trouble(&error))?;
                Ok(Exit::Failed)
            }
        },
        GrantsCommand::Revoke { grant } => {
            let Ok(number) = grant.parse::<GrantNumber>() else {
                writeln!(err, "{}", words::unknown(&grant, look.language))?;
                return Ok(Exit::Usage);
            };
            let refusal = match revoked(&look, number)? {
                Ok(Some(gone)) => {
                    writeln!(out, "{}", words::revoked(&gone, look.language))?;
                    return Ok(Exit::Ok);
                }
                Ok(None) => words::unknown(&grant, look.language),
                Err(error) => look.trouble(&error),
            };
            writeln!(err, "{refusal}")?;
            Ok(Exit::Failed)
        }
    }
}

fn listed(look: &CliContext) -> anyhow::Result<Result<Vec<GrantSummary>, StoreError>> {
    // A look at a project without state must not make any.
    if !look.state.is_dir() {
        return Ok(Ok(Vec::new()));
    }
    let audit = look.audit()?;
    let book = FileGrants::new(&look.state, audit.clone());
    Ok(small_runtime()?.block_on(async {
        let grants = book.list(SystemClock.now()).await;
        audit.flush().await;
        grants
    }))
}

fn revoked(
    look: &CliContext,
    number: GrantNumber,
) -> anyhow::Result<Result<Option<GrantSummary>, StoreError>> {
    if !look.state.is_dir() {
        return Ok(Ok(None));
    }
    let audit = look.audit()?;
    let book = FileGrants::new(&look.state, audit.clone());
    let by = Revoker { author: operator()?, via: VIA.to_owned() };
    Ok(small_runtime()?.block_on(async {
        let gone = book.revoke(number, by, SystemClock.now()).await;
        audit.flush().await;
        gone
    }))
}
