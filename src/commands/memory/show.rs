//! `shipagent memory show` and `path`.

use std::io::Write;

use serde_json::json;

use super::super::cli_context::CliContext;
use crate::cli::{Exit, MemoryOf, Output};
use crate::domain::{AuthorId, ScopeKey};
use crate::phrases::commands::{memory_bad_person, memory_bad_scope, memory_empty};

/// Shows core memory.
pub(super) fn show(
    context: &CliContext,
    of: &MemoryOf,
    Output { json }: Output,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(scope) = scope_of(of) else { return no_person(context, of, err) };
    let path = context.state.join(scope.core_file());
    match context.wait(context.store.memory.core(&scope)) {
        Ok(found) if json => {
            let text = Some(found.text.trim()).filter(|text| !text.is_empty());
            let items: Vec<_> = found
                .items()
                .iter()
                .map(|item| json!({ "id": item.handle(), "text": item.text, "byHand": item.id.is_none() }))
                .collect();
            let told = json!({
                "scope": scope, "path": path, "text": text, "cut": found.cut, "isText": found.is_text,
                "digest": found.digest, "items": items,
            });
            writeln!(out, "{told}")?;
        }
        Ok(found) => {
            // Whoever sits at the machine reads everything: nothing has to be said about private chats.
            match found.text.trim() {
                "" => writeln!(out, "{}", memory_empty(path.display(), context.language))?,
                text => writeln!(out, "{text}")?,
            }
        }
        Err(error) => {
            writeln!(err, "{}", context.trouble(&error))?;
            return Ok(Exit::Failed);
        }
    }
    Ok(Exit::Ok)
}

/// Prints the path of the file of core memory.
pub(super) fn path(
    context: &CliContext,
    of: &MemoryOf,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(scope) = scope_of(of) else { return no_person(context, of, err) };
    writeln!(out, "{}", context.state.join(scope.core_file()).display())?;
    Ok(Exit::Ok)
}

fn no_person(context: &CliContext, of: &MemoryOf, err: &mut dyn Write) -> anyhow::Result<Exit> {
    let words = match (&of.user, &of.scope) {
        (None, Some(scope)) => memory_bad_scope(scope, context.language),
        (user, _) => memory_bad_person(user.as_deref().unwrap_or_default(), context.language),
    };
    writeln!(err, "{words}")?;
    Ok(Exit::Usage)
}

fn scope_of(of: &MemoryOf) -> Option<ScopeKey> {
    match (&of.user, &of.scope) {
        (None, None) => Some(ScopeKey::Project),
        (None, Some(scope)) => scope.parse().ok(),
        (Some(user), _) => user.parse::<AuthorId>().ok().map(ScopeKey::Person),
    }
}
