//! `shipagent memory edit`, `forget` and `undo`.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::super::cli_context::{CliContext, VIA, operator};
use crate::cli::{Exit, Output};
use crate::config::Env;
use crate::domain::{ChangeRefusal, MemoryChange, MemoryEdit, Origin, Provenance, ScopeKey, Tier};
use crate::phrases::commands as words;
use crate::ports::{ChangeError, Clock, SystemClock, Undone};
use crate::render::MemoryPhrase;

/// Largest new content of core memory that is read.
const MOST_BYTES: u64 = 1 << 20;

/// Replaces core memory, if it is still as it was read.
pub(super) fn edit(
    context: &CliContext,
    env: &Env,
    file: Option<&Path>,
    scope: &ScopeKey,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let language = context.language;
    let now = match context.wait(context.store.memory.core(scope)) {
        Ok(found) => found,
        Err(error) => return failed(context, &error.into(), err),
    };
    let new = match file {
        Some(file) if file == Path::new("-") => content(&mut io::stdin().lock()),
        Some(file) => std::fs::File::open(file).and_then(|mut file| content(&mut file)),
        None => {
            let Some(editor) = env.filled("VISUAL").or_else(|| env.filled("EDITOR")) else {
                writeln!(err, "{}", words::memory_no_editor(language))?;
                return Ok(Exit::Usage);
            };
            edited(editor, &now.text)
        }
    };
    let new = match new {
        Ok(new) => new,
        Err(error) => {
            let path = file.map_or_else(|| scope.core_file(), |file| file.display().to_string());
            writeln!(err, "{}", words::memory_cannot_read(path, &error, language))?;
            return Ok(Exit::Failed);
        }
    };
    if new.trim_end() == now.text.trim_end() {
        writeln!(out, "{}", words::memory_unchanged(language))?;
        return Ok(Exit::Ok);
    }
    let change = MemoryChange {
        scope: scope.clone(),
        tier: Tier::Core,
        edit: MemoryEdit::Write { text: new },
        expected: Some(now.digest),
        provenance: provenance()?,
    };
    match context.wait(context.store.memory.apply(change)) {
        Ok(_) => {
            writeln!(
                out,
                "{}",
                words::memory_edited(context.state.join(scope.core_file()).display(), language)
            )?;
            Ok(Exit::Ok)
        }
        Err(error) => failed(context, &error, err),
    }
}

fn content(from: &mut dyn Read) -> io::Result<String> {
    let mut text = String::new();
    from.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// The text after the operator's editor has ended.
fn edited(editor: &str, text: &str) -> io::Result<String> {
    let mut file = tempfile::Builder::new().prefix("memory-").suffix(".md").tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    // The variable may hold arguments, such as `code --wait`.
    let status =
        Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file.path()).status()?;
    if !status.success() {
        return Err(io::Error::other(format!("{editor} ended with {status}")));
    }
    // Editors may have replaced the file.
    std::fs::File::open(file.path()).and_then(|mut file| content(&mut file))
}

/// Forgets everything of a scope and, where it is asked for, what was said in its direct chats.
pub(super) fn forget_all(
    context: &CliContext,
    scope: &ScopeKey,
    history: bool,
    Output { json }: Output,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let by = provenance()?;
    let through = history.then(|| by.at.as_millis());
    let count = match context.wait(context.store.memory.forget_all(scope, by)) {
        Ok(count) => count,
        Err(error) => return failed(context, &error, err),
    };
    if let Err(error) = context.wait(context.store.search.forget(scope, through)) {
        return failed(context, &error.into(), err);
    }
    if json {
        writeln!(out, "{}", json!({ "scope": scope, "forgotten": count, "history": history }))?;
    } else {
        writeln!(out, "{}", words::memory_all_forgotten(count, scope, context.language))?;
    }
    Ok(Exit::Ok)
}

pub(super) fn forget(
    context: &CliContext,
    id: &str,
    scope: &ScopeKey,
    Output { json }: Output,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let language = context.language;
    let forget = |tier| -> anyhow::Result<MemoryChange> {
        Ok(MemoryChange {
            scope: scope.clone(),
            tier,
            edit: MemoryEdit::Forget { id: id.to_owned() },
            expected: None,
            provenance: provenance()?,
        })
    };
    let mut done = context.wait(context.store.memory.apply(forget(Tier::Core)?));
    if matches!(done, Err(ChangeError::Refused(ChangeRefusal::NoSuchItem(_)))) {
        done = context.wait(context.store.memory.apply(forget(Tier::Notes)?));
    }
    match done {
        Ok(line) if json => writeln!(out, "{}", json!({ "line": line }))?,
        Ok(_) => writeln!(out, "{}", words::memory_forgotten(id, language))?,
        Err(error) => return failed(context, &error, err),
    }
    Ok(Exit::Ok)
}

/// Takes back the last change of a scope.
pub(super) fn undo(
    context: &CliContext,
    scope: &ScopeKey,
    Output { json }: Output,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    match context.wait(context.store.memory.undo(scope, provenance()?)) {
        Ok(Undone { line, taken_back }) if json => {
            writeln!(out, "{}", json!({ "line": line, "takenBack": taken_back }))?;
        }
        Ok(Undone { taken_back, .. }) => {
            let what = MemoryPhrase::Undone(Some(Box::new(taken_back.clone()))).say(context.language);
            writeln!(out, "{}", words::memory_undone(taken_back.seq, &what, context.language))?;
        }
        Err(error) => return failed(context, &error, err),
    }
    Ok(Exit::Ok)
}

fn provenance() -> anyhow::Result<Provenance> {
    Ok(Provenance {
        at: SystemClock.now(),
        by: Some(operator()?),
        via: Some(VIA.to_owned()),
        thread: None,
        from: Vec::new(),
        origin: Origin::Owner,
        reviewed: true,
    })
}

fn failed(context: &CliContext, error: &ChangeError, err: &mut dyn Write) -> anyhow::Result<Exit> {
    let language = context.language;
    match error {
        ChangeError::Store(error) => writeln!(err, "{}", context.trouble(error))?,
        ChangeError::Refused(refusal) => {
            let why = MemoryPhrase::Refused(refusal.clone()).say(language);
            writeln!(err, "{}", words::memory_not_changed(&why, language))?;
        }
    }
    Ok(Exit::Failed)
}
