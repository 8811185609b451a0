//! Indexes what was said in threads. Their files grow at their end, so that usually only new lines are read; a file that was
//! changed elsewhere is indexed anew.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rusqlite::{Connection, OptionalExtension, params};

use super::super::catalog::visit_thread_files;
use super::super::layout::Layout;
use super::super::lines::{JsonlReader, fnv};
use super::database::DatabaseError;
use super::forgotten::Forgotten;
use super::sources::{Area, IndexedFile, SourceFile, enter_file, files_of, keep_file, rows_of_thread};
use super::writing::{BY_AGENT, Doc, StepBudget, Writer, forget_file, in_transaction};
use crate::domain::{ScopeKey, ThreadId};
use crate::ports::TextSource;
use crate::uimessage::{Role, UiMessage};

/// How much of the end of what is indexed tells whether a thread file has only grown.
const TAIL_BYTES: u64 = 256;
/// Name that the agent's own words carry in the index.
const AGENT: &str = "agent";

/// Indexes what was added to a thread file, as far as the budget goes.
pub(super) fn update_thread(
    connection: &Connection,
    layout: &Layout,
    thread: &ThreadId,
    budget: &mut StepBudget,
) -> Result<(), DatabaseError> {
    let file = match File::open(layout.thread(thread)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match thread_state(connection, thread)?.bytes {
                0 => Ok(()),
                _ => in_transaction(connection, || Ok(forget_thread(connection, thread)?)),
            };
        }
        file => file?,
    };
    let known = thread_state(connection, thread)?;
    if known.bytes == file.metadata()?.len() {
        return Ok(());
    }
    let forgotten = Forgotten::read(layout)?;
    in_transaction(connection, || index_thread(connection, &file, thread, &forgotten, budget))
}

/// Indexes what was added to any thread, and forgets deleted ones, as far as the budget goes. Files are compared by their
/// lengths, so that a project with many threads is looked through in milliseconds.
pub(super) fn update_all_threads(
    connection: &Connection,
    layout: &Layout,
    budget: &mut StepBudget,
) -> Result<(), DatabaseError> {
    let mut statement = connection.prepare("SELECT name, bytes FROM thread")?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    let mut known = rows.collect::<Result<HashMap<String, i64>, _>>()?;
    let mut outdated = Vec::new();
    visit_thread_files(layout, |thread, metadata| {
        if known.remove(thread.as_str()).map(i64::unsigned_abs) != Some(metadata.len()) {
            outdated.push(thread);
        }
        true
    })?;
    // What is left has no file any more.
    let mut deleted: Vec<ThreadId> = known.into_keys().filter_map(|name| name.parse().ok()).collect();
    deleted.sort();
    if deleted.is_empty() && outdated.is_empty() {
        return Ok(());
    }
    let forgotten = Forgotten::read(layout)?;
    // One transaction: most of thousands of threads are short.
    in_transaction(connection, || {
        for thread in &deleted {
            forget_thread(connection, thread)?;
        }
        for thread in &outdated {
            if budget.is_spent() {
                break;
            }
            match File::open(layout.thread(thread)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => forget_thread(connection, thread)?,
                file => index_thread(connection, &file?, thread, &forgotten, budget)?,
            }
        }
        Ok(())
    })
}

/// Indexes what was added to the threads in which something was said under this scope.
pub(super) fn update_history(
    connection: &Connection,
    layout: &Layout,
    scope: &ScopeKey,
    budget: &mut StepBudget,
) -> Result<(), DatabaseError> {
    let mut statement = connection.prepare("SELECT name FROM thread WHERE scope = ?1")?;
    let names = statement.query_map([scope.to_string()], |row| row.get::<_, String>(0))?;
    let mut names = names.collect::<Result<BTreeSet<String>, _>>()?;
    let files = files_of(connection, &Area::History(Some(scope.clone())))?;
    names.extend(files.into_iter().map(|(name, _)| name));
    for thread in names.iter().filter_map(|name| name.parse().ok()) {
        if budget.is_spent() {
            break;
        }
        update_thread(connection, layout, &thread, budget)?;
    }
    Ok(())
}

/// How far a thread is indexed.
#[derive(Debug, Default)]
struct ThreadProgress {
    bytes: u64,
    tail: i64,
    /// The scope that the newest message with one may write; answers belong to it.
    scope: Option<ScopeKey>,
}

fn thread_state(connection: &Connection, thread: &ThreadId) -> rusqlite::Result<ThreadProgress> {
    let read = |row: &rusqlite::Row<'_>| {
        let scope: Option<String> = row.get(2)?;
        Ok(ThreadProgress {
            bytes: row.get::<_, i64>(0)?.unsigned_abs(),
            tail: row.get(1)?,
            scope: scope.and_then(|key| key.parse().ok()),
        })
    };
    let sql = "SELECT bytes, tail, scope FROM thread WHERE name = ?1";
    Ok(connection.query_row(sql, [thread.as_str()], read).optional()?.unwrap_or_default())
}

fn index_thread(
    connection: &Connection,
    file: &File,
    thread: &ThreadId,
    forgotten: &Forgotten,
    budget: &mut StepBudget,
) -> Result<(), DatabaseError> {
    let ThreadProgress { mut bytes, tail, mut scope } = thread_state(connection, thread)?;
    if bytes > 0 && tail_digest(file, bytes)? != Some(tail) {
        forget_thread(connection, thread)?;
        (bytes, scope) = (0, None);
    }
    let mut writer = Writer::new(connection)?;
    let mut files: Vec<(Option<ScopeKey>, IndexedFile)> = Vec::new();
    let mut lines = JsonlReader::from(file.try_clone()?, bytes)?;
    while !budget.is_spent()
        && let Some((at, line)) = lines.next_line()?
    {
        budget.spend(line.len() as u64);
        bytes = at.saturating_add(line.len() as u64);
        let Ok(message) = serde_json::from_slice::<UiMessage>(line) else { continue };
        let text = message.text();
        let skipped = message.metadata.command || message.role == Role::System || text.trim().is_empty();
        // An answer belongs to the message it answers, not to a checkpoint in between.
        if let Some(stored) = message.memory_scope().filter(|_| !message.metadata.checkpoint) {
            scope = stored.write().cloned();
        }
        let at = message.metadata.timestamp.as_millis();
        if skipped || forgotten.covers(scope.as_ref(), at) {
            continue;
        }
        let row = match row_of(connection, thread, message.id.as_str())? {
            Some(row) => row,
            None => {
                let Some(row) = new_row(connection, &mut files, scope.as_ref(), thread)? else { continue };
                let id = message_key(thread, message.id.as_str());
                connection.execute("INSERT OR IGNORE INTO message(id, row) VALUES (?1, ?2)", [id, row])?;
                row
            }
        };
        let (author, flags) = match message.role {
            Role::User => (message.metadata.author_name.as_deref().unwrap_or("user"), 0),
            Role::Assistant | Role::System => (AGENT, BY_AGENT),
        };
        writer.put(&Doc { row, id: message.id.as_str(), at, author, text: &text, flags })?;
    }
    for (_, known) in &files {
        keep_file(connection, known)?;
    }
    let size = i64::try_from(bytes).unwrap_or(i64::MAX);
    let tail = tail_digest(file, bytes)?.unwrap_or_default();
    connection.execute(
        "INSERT OR REPLACE INTO thread(name, bytes, tail, scope) VALUES (?1, ?2, ?3, ?4)",
        params![thread.as_str(), size, tail, scope.map(|scope| scope.to_string())],
    )?;
    Ok(())
}

fn new_row(
    connection: &Connection,
    files: &mut Vec<(Option<ScopeKey>, IndexedFile)>,
    scope: Option<&ScopeKey>,
    thread: &ThreadId,
) -> rusqlite::Result<Option<i64>> {
    if let Some((_, known)) = files.iter_mut().find(|(own, _)| own.as_ref() == scope) {
        return Ok(known.take_row());
    }
    let area = Area::History(scope.cloned());
    let source = SourceFile { area, kind: TextSource::History, name: thread.as_str().to_owned() };
    let Some(mut known) = enter_file(connection, &source)? else { return Ok(None) };
    let row = known.take_row();
    files.push((scope.cloned(), known));
    Ok(row)
}

/// Ids are unique in a thread only, and long; the table that finds a message again holds their digest.
fn message_key(thread: &ThreadId, id: &str) -> i64 {
    fnv(format!("{thread}\n{id}").as_bytes()).cast_signed()
}

pub(super) fn row_of(connection: &Connection, thread: &ThreadId, id: &str) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT message.row FROM message JOIN doc ON doc.row = message.row WHERE message.id = ?1 AND doc.id = ?2";
    connection.query_row(sql, params![message_key(thread, id), id], |row| row.get(0)).optional()
}

fn forget_thread(connection: &Connection, thread: &ThreadId) -> rusqlite::Result<()> {
    for rows in rows_of_thread(connection, thread)? {
        forget_file(connection, rows.first)?;
    }
    connection.execute("DELETE FROM thread WHERE name = ?1", [thread.as_str()])?;
    Ok(())
}
/// A digest of the last bytes before `end`; nothing where the file is shorter.
fn tail_digest(file: &File, end: u64) -> io::Result<Option<i64>> {
    let take = end.min(TAIL_BYTES);
    let mut bytes = vec![0; usize::try_from(take).unwrap_or(0)];
    match file.read_exact_at(&mut bytes, end.saturating_sub(take)) {
        Ok(()) => Ok(Some(fnv(&bytes).cast_signed())),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
