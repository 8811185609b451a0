//! From `shipagent memory` to the command. All of them work beside a running daemon and without one.

use std::io::Write;
use std::path::Path;

use super::super::cli_context::CliContext;
use super::{change, export, import, search, show};
use crate::cli::{Exit, MemoryCommand, ScopeArgs};
use crate::config::Env;
use crate::domain::{Language, ScopeKey};
use crate::phrases::commands::memory_bad_scope;

/// Runs one of the commands about memory. What was found goes to `out`, trouble to `err`.
///
/// # Errors
/// When nothing can be written to the terminal.
pub fn run(
    project: &Path,
    env: &Env,
    command: MemoryCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(context) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    match command {
        MemoryCommand::Show { of, output } => show::show(&context, &of, output, out, err),
        MemoryCommand::Path(of) => show::path(&context, &of, out, err),
        MemoryCommand::Edit { file, scope } => {
            let Some(scope) = scope_of(&scope, context.language, err)? else { return Ok(Exit::Usage) };
            change::edit(&context, env, file.as_deref(), &scope, out, err)
        }
        MemoryCommand::Forget { id: None, scope, output, history, .. } => {
            let Some(scope) = scope_of(&scope, context.language, err)? else { return Ok(Exit::Usage) };
            change::forget_all(&context, &scope, history, output, out, err)
        }
        MemoryCommand::Forget { id: Some(id), scope, output, .. } => {
            let Some(scope) = scope_of(&scope, context.language, err)? else { return Ok(Exit::Usage) };
            change::forget(&context, &id, &scope, output, out, err)
        }
        MemoryCommand::Undo { scope, output } => {
            let Some(scope) = scope_of(&scope, context.language, err)? else { return Ok(Exit::Usage) };
            change::undo(&context, &scope, output, out, err)
        }
        MemoryCommand::Export { folder, scope, output } => {
            let Some(scope) = scope_of(&scope, context.language, err)? else { return Ok(Exit::Usage) };
            export::export(&context, &folder, &scope, output, out, err)
        }
        MemoryCommand::Search { query, scope, limit, output } => {
            let Some(scope) = scope_of(&scope, context.language, err)? else { return Ok(Exit::Usage) };
            search::search(&context, &search::MemorySearchArgs { query, scope, limit, output }, out, err)
        }
        MemoryCommand::Import { folder, scope, output } => {
            let Some(scope) = scope_of(&scope, context.language, err)? else { return Ok(Exit::Usage) };
            import::import(&context, &folder, &scope, output, out, err)
        }
        MemoryCommand::Reindex(output) => search::reindex(&context, output, out, err),
        MemoryCommand::Status(output) => search::status(&context, output, out, err),
    }
}

fn scope_of(args: &ScopeArgs, language: Language, err: &mut dyn Write) -> anyhow::Result<Option<ScopeKey>> {
    let given = &args.scope;
    if let Ok(scope) = given.parse() {
        return Ok(Some(scope));
    }
    writeln!(err, "{}", memory_bad_scope(given, language))?;
    Ok(None)
}
