//! `shipagent memory export`: everything that is kept for a scope, as plain files in a new folder.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::super::cli_context::CliContext;
use crate::cli::{Exit, Output};
use crate::domain::{LedgerLine, MemoryItem, ScopeKey, ThreadId};
use crate::phrases::commands as words;
use crate::ports::{LedgerRequest, StoreError, ThreadQuery};
use crate::store::{private_dir, replace_file};
use crate::uimessage::{Role, UiMessage};

/// Messages, threads and ledger lines that are in memory at once.
const PAGE: usize = 500;
const MODE: u32 = 0o600;

/// Writes `core.md`, `notes/<yyyy-mm>.md`, `ledger.jsonl` and, for one person, `messages.jsonl`.
pub(super) fn export(
    context: &CliContext,
    folder: &Path,
    scope: &ScopeKey,
    Output { json }: Output,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let language = context.language;
    if folder.exists() {
        writeln!(err, "{}", words::memory_folder_exists(folder.display(), language))?;
        return Ok(Exit::Usage);
    }
    let read = context.wait(async {
        let core = context.store.memory.core(scope).await?;
        let notes = notes_of(context, scope).await?;
        let ledger = ledger_of(context, scope).await?;
        let messages = if scope.is_of_one_person() { messages_of(context, scope).await? } else { Vec::new() };
        Ok::<_, StoreError>((core, notes, ledger, messages))
    });
    let (core, notes, ledger, messages) = match read {
        Ok(read) => read,
        Err(error) => {
            writeln!(err, "{}", context.trouble(&error))?;
            return Ok(Exit::Failed);
        }
    };
    private_dir(folder)?;
    replace_file(&folder.join("core.md"), core.text.as_bytes(), MODE)?;
    if !notes.is_empty() {
        private_dir(&folder.join("notes"))?;
    }
    for (month, text) in &notes {
        replace_file(&folder.join("notes").join(format!("{month}.md")), text.as_bytes(), MODE)?;
    }
    let lines: Result<Vec<String>, _> = ledger.iter().map(serde_json::to_string).collect();
    replace_file(&folder.join("ledger.jsonl"), text_of(lines?).as_bytes(), MODE)?;
    if scope.is_of_one_person() {
        let lines: Result<Vec<String>, _> = messages.iter().map(serde_json::to_string).collect();
        replace_file(&folder.join("messages.jsonl"), text_of(lines?).as_bytes(), MODE)?;
    }
    if json {
        let told = json!({
            "scope": scope, "folder": folder, "notes": notes.len(), "changes": ledger.len(),
            "messages": messages.len(),
        });
        writeln!(out, "{told}")?;
    } else {
        writeln!(out, "{}", words::memory_exported(folder.display(), messages.len(), language))?;
    }
    Ok(Exit::Ok)
}

fn text_of(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

/// The notes by month.
async fn notes_of(context: &CliContext, scope: &ScopeKey) -> Result<Vec<(String, String)>, StoreError> {
    let mut all = Vec::new();
    let mut month = None;
    loop {
        let page = context.store.memory.notes(scope, month).await?;
        all.extend(page.month.map(|name| (name, page.notes.iter().map(MemoryItem::to_lines).collect())));
        let Some(earlier) = page.earlier else { break };
        month = Some(earlier);
    }
    Ok(all)
}

/// The changes, oldest first.
async fn ledger_of(context: &CliContext, scope: &ScopeKey) -> Result<Vec<LedgerLine>, StoreError> {
    let mut all: Vec<LedgerLine> = Vec::new();
    loop {
        let before = all.last().map(|line| line.seq);
        let request = LedgerRequest { scope: Some(scope.clone()), before, limit: PAGE };
        let page = context.store.memory.ledger(request).await?;
        all.extend(page.lines);
        if !page.has_more {
            all.reverse();
            return Ok(all);
        }
    }
}

/// What the person said, in all threads.
async fn messages_of(context: &CliContext, scope: &ScopeKey) -> Result<Vec<UiMessage>, StoreError> {
    let theirs = |message: &UiMessage| {
        let author = message.metadata.author_id.as_ref();
        let own = matches!((scope, author), (ScopeKey::Person(person), Some(author)) if person == author);
        let stored = message.memory_scope().is_some_and(|stored| stored.write() == Some(scope));
        message.role == Role::User && (own || stored)
    };
    let mut all = Vec::new();
    let mut query = ThreadQuery::newest(PAGE);
    loop {
        let page = context.store.threads.list(query.clone()).await?;
        for thread in &page.threads {
            let said = all_of(context, &thread.thread_id).await?;
            all.extend(said.into_iter().filter(|message| theirs(message)));
        }
        let Some(next) = page.next else { return Ok(all) };
        query.before = Some(next);
    }
}

/// The messages of a thread, oldest first.
async fn all_of(context: &CliContext, thread: &ThreadId) -> Result<Vec<UiMessage>, StoreError> {
    let mut all: Vec<UiMessage> = Vec::new();
    loop {
        let before = all.first().map(|message| message.id.clone());
        let mut page = context.store.threads.page(thread, before.as_ref(), PAGE).await?;
        if page.is_empty() {
            return Ok(all);
        }
        page.append(&mut all);
        all = page;
    }
}
