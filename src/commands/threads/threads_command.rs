//! Runs the subcommands of `threads`.

use std::io::Write;
use std::path::Path;

use super::{export, list, show};
use crate::cli::{Exit, ThreadsCommand};
use crate::commands::cli_context::CliContext;
use crate::config::Env;
use crate::domain::ThreadId;
use crate::phrases::commands as words;

/// Runs a subcommand. Results go to `out`, errors to `err`.
///
/// # Errors
/// When something fails that has no exit code of its own.
pub fn run(
    project: &Path,
    env: &Env,
    command: ThreadsCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(context) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    match command {
        ThreadsCommand::List(output) => list::list(&context, output, out),
        ThreadsCommand::Show { thread, limit, output } => match find(&context, &thread, err)? {
            Some(thread) => show::show(&context, &thread, limit, output, out),
            None => Ok(Exit::Failed),
        },
        ThreadsCommand::Export { thread, format, output } => match find(&context, &thread, err)? {
            Some(thread) => export::export(&context, &thread, format, output.as_deref(), out, err),
            None => Ok(Exit::Failed),
        },
    }
}

/// The thread of this name, if there is one.
fn find(context: &CliContext, name: &str, err: &mut dyn Write) -> anyhow::Result<Option<ThreadId>> {
    let mut thread = name.parse().ok();
    if let Some(named) = &thread
        && !context.wait(context.store.threads.exists(named))?
    {
        thread = None;
    }
    if thread.is_none() {
        writeln!(err, "{}", words::unknown_thread(name, context.language))?;
    }
    Ok(thread)
}
