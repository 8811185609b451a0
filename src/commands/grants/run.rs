//! Runs the subcommands of `grants`.

use std::io::Write;
use std::path::Path;

use super::list;
use crate::cli::{Exit, GrantsCommand};
use crate::commands::cli_context::{CliContext, VIA, operator};
use crate::config::Env;
use crate::domain::GrantNumber;
use crate::phrases::commands as words;
use crate::ports::{Clock, Revoker, SystemClock};

/// Runs a subcommand. Results go to `out`, errors to `err`.
///
/// # Errors
/// When something fails that has no exit code of its own.
pub fn run(
    project: &Path,
    env: &Env,
    command: GrantsCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(look) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    match command {
        GrantsCommand::List(output) => match look.change(look.store.grants.list(SystemClock.now())) {
            Ok(grants) => list::list(&look, &grants.unwrap_or_default(), output, out),
            Err(error) => {
                writeln!(err, "{}", look.trouble(&error))?;
                Ok(Exit::Failed)
            }
        },
        GrantsCommand::Revoke { grant } => {
            let Ok(number) = grant.parse::<GrantNumber>() else {
                writeln!(err, "{}", words::unknown_grant(&grant, look.language))?;
                return Ok(Exit::Usage);
            };
            let by = Revoker { author: operator()?, via: VIA.to_owned() };
            let refusal = match look.change(look.store.grants.revoke(number, by, SystemClock.now())) {
                Ok(Some(Some(gone))) => {
                    writeln!(out, "{}", words::grant_revoked(gone.number, look.language))?;
                    return Ok(Exit::Ok);
                }
                Ok(Some(None) | None) => words::unknown_grant(&grant, look.language),
                Err(error) => look.trouble(&error),
            };
            writeln!(err, "{refusal}")?;
            Ok(Exit::Failed)
        }
    }
}
