//! `shipagent memory show` and `path`.

use std::io::Write;

use serde_json::{Value, json};

use super::super::cli_context::CliContext;
use crate::cli::{Exit, MemoryOf, Output};
use crate::domain::{AuthorId, ScopeKey, ShownNote};
use crate::phrases::commands::{memory_bad_person, memory_bad_scope, memory_empty};
use crate::phrases::conversation::memory_notes_heading;
use crate::ports::StoreError;
use crate::render::notes_with_handles;

/// How many notes are shown.
const SHOWN_NOTES: usize = 20;

/// Shows core memory and the newest notes.
pub(super) fn show(
    context: &CliContext,
    of: &MemoryOf,
    Output { json }: Output,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(scope) = scope_of(of) else { return no_person(context, of, err) };
    let path = context.state.join(scope.core_file());
    let memory = &context.store.memory;
    let read = async {
        Ok::<_, StoreError>((memory.core(&scope).await?, memory.newest_notes(&scope, SHOWN_NOTES).await?))
    };
    match context.wait(read) {
        Ok((found, newest)) if json => {
            let text = Some(found.text.trim()).filter(|text| !text.is_empty());
            let items: Vec<_> = found
                .items()
                .iter()
                .map(|item| json!({ "id": item.handle(), "text": item.text, "byHand": item.id.is_none() }))
                .collect();
            let notes: Vec<_> = newest.notes.iter().map(note).collect();
            let told = json!({
                "scope": scope, "path": path, "text": text, "cut": found.cut, "isText": found.is_text,
                "digest": found.digest, "items": items, "notes": notes, "moreNotes": newest.has_more,
            });
            writeln!(out, "{told}")?;
        }
        Ok((found, newest)) => {
            // The operator at this machine may read everything, private chats included.
            match found.text.trim() {
                "" if newest.notes.is_empty() => {
                    writeln!(out, "{}", memory_empty(path.display(), context.language))?;
                }
                text => writeln!(out, "{text}")?,
            }
            if !newest.notes.is_empty() {
                let heading = memory_notes_heading(context.language);
                writeln!(out, "\n{heading}\n{}", notes_with_handles(&newest, context.language))?;
            }
        }
        Err(error) => {
            writeln!(err, "{}", context.trouble(&error))?;
            return Ok(Exit::Failed);
        }
    }
    Ok(Exit::Ok)
}

fn note(ShownNote { item, reviewed }: &ShownNote) -> Value {
    json!({ "id": item.handle(), "text": item.text, "at": item.at, "reviewed": reviewed })
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
