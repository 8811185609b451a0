//! `shipagent memory` and `shipagent tasks`: what is remembered between conversations, and the tasks there are. Beside a
//! running daemon or without one.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::cli_context::CliContext;
use crate::cli::{Exit, MemoryCommand, MemoryOf, Output, TasksCommand};
use crate::config::Env;
use crate::domain::{AuthorId, MemoryScope};
use crate::phrases::commands::{memory_bad_person, memory_empty};
use crate::render::MemoryPhrase;

/// Runs one of the commands about memory. What was found goes to `out`, trouble to `err`.
///
/// # Errors
/// When nothing can be written to the terminal.
pub fn memory(
    project: &Path,
    env: &Env,
    command: MemoryCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(look) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    let (MemoryCommand::Show { of, .. } | MemoryCommand::Path(of)) = &command;
    let Some(scope) = scope_of(of) else {
        writeln!(err, "{}", memory_bad_person(of.user.as_deref().unwrap_or_default(), look.language))?;
        return Ok(Exit::Usage);
    };
    let path = look.state.join(scope.file());
    let MemoryCommand::Show { output: Output { json }, .. } = command else {
        writeln!(out, "{}", path.display())?;
        return Ok(Exit::Ok);
    };
    match look.wait(look.store.memory.recall(&scope)) {
        Ok(found) if json => {
            let text = found.as_ref().map(|found| &found.text);
            let cut = found.as_ref().is_some_and(|found| found.cut);
            writeln!(out, "{}", json!({ "path": path, "text": text, "cut": cut }))?;
        }
        Ok(found) => {
            // Whoever sits at the machine reads everything: nothing has to be said about private chats.
            let person =
                found.map_or_else(|| memory_empty(path.display(), look.language), |found| found.text);
            writeln!(out, "{person}")?;
        }
        Err(error) => {
            writeln!(err, "{}", look.trouble(&error))?;
            return Ok(Exit::Failed);
        }
    }
    Ok(Exit::Ok)
}

/// Runs one of the commands about tasks. What was found goes to `out`, trouble to `err`.
///
/// # Errors
/// When nothing can be written to the terminal.
pub fn tasks(
    project: &Path,
    env: &Env,
    command: &TasksCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(look) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    let TasksCommand::List(Output { json }) = *command;
    match look.wait(look.store.memory.tasks()) {
        Ok(tasks) if json => {
            let all: Vec<_> =
                tasks.iter().map(|task| json!({ "file": task.file, "title": task.title })).collect();
            writeln!(out, "{}", json!({ "tasks": all }))?;
            Ok(Exit::Ok)
        }
        Ok(tasks) => {
            writeln!(out, "{}", MemoryPhrase::Tasks(tasks).say(look.language))?;
            Ok(Exit::Ok)
        }
        Err(error) => {
            writeln!(err, "{}", look.trouble(&error))?;
            Ok(Exit::Failed)
        }
    }
}

fn scope_of(of: &MemoryOf) -> Option<MemoryScope> {
    match &of.user {
        None => Some(MemoryScope::Project),
        Some(user) => user.parse::<AuthorId>().ok().map(MemoryScope::Person),
    }
}
