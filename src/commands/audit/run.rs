//! Runs `audit`.

use std::io::Write;
use std::path::Path;

use super::show;
use super::since::since;
use crate::cli::{AuditArgs, Exit};
use crate::commands::cli_context::CliContext;
use crate::config::Env;
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
    let Some(look) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    let begin = match &args.since {
        None => None,
        Some(text) => match since(text, SystemClock.now(), &look.zone) {
            Some(begin) => Some(begin),
            None => {
                writeln!(err, "{}", words::audit_bad_since(text, look.language))?;
                return Ok(Exit::Usage);
            }
        },
    };
    let query = AuditQuery {
        since: begin,
        thread: args.thread.clone(),
        event: args.event.clone(),
        limit: args.limit,
    };
    let trail = match look.wait(look.store.audit.read(query)) {
        Ok(trail) => trail,
        Err(error) => {
            writeln!(err, "{}", look.trouble(&error))?;
            return Ok(Exit::Failed);
        }
    };
    for line in &trail.lines {
        if args.json {
            writeln!(out, "{}", line.text)?;
        } else {
            writeln!(out, "{}", show::line(&look, &line.facts))?;
        }
    }
    if trail.lines.is_empty() && !args.json {
        writeln!(out, "{}", words::audit_empty(look.language))?;
    }
    if trail.unreadable > 0 {
        writeln!(err, "{}", words::audit_unreadable(trail.unreadable, look.language))?;
    }
    Ok(Exit::Ok)
}
