//! Brings the index up to date with the files. Files grow at their end, so that usually only the new end is read; a file
//! that was changed elsewhere is indexed anew.

use std::collections::{BTreeSet, HashMap};
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Statement, params};

use super::super::catalog::visit_thread_files;
use super::super::layout::Layout;
use super::super::lines::{Fnv, JsonlReader, fnv};
use super::database::DatabaseError;
use super::forgotten::Forgotten;
use super::sources::{
    Area, FIRST_POSITION, IndexedFile, RowRange, SourceFile, changed_at, enter_file, files_of, find_file,
    inode_of, keep_file,
};
use super::vectors::remove_orphans;
use crate::domain::{ScopeKey, ThreadId, item_blocks, read_item};
use crate::ports::TextSource;
use crate::search::index_text;
use crate::uimessage::{Role, UiMessage};

/// How much of a text is kept to be shown and ranked; tokens are made of more.
const KEPT_CHARS: usize = 4_000;
const INDEXED_BYTES: usize = 64 * 1024;
/// How much of the end of what is indexed tells whether a thread file has only grown.
const TAIL_BYTES: u64 = 256;
/// How much of a memory file is read at once to tell whether it has only grown.
const PREFIX_CHUNK: usize = 16 * 1024;
/// Name that the agent's own words carry in the index.
const AGENT: &str = "agent";

/// The flag of a text that the agent said.
pub(super) const BY_AGENT: i64 = 1;

/// How much of the files one step of indexing reads; in between, searches have their turn.
#[derive(Debug)]
pub(super) struct StepBudget {
    left: u64,
}

impl StepBudget {
    const STEP_BYTES: u64 = 2 * 1024 * 1024;

    pub(super) const fn step() -> Self {
        Self { left: Self::STEP_BYTES }
    }

    pub(super) const fn is_spent(&self) -> bool {
        self.left == 0
    }

    const fn spend(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }
}

/// A text with its place.
#[derive(Debug)]
struct Doc<'a> {
    row: i64,
    id: &'a str,
    at: i64,
    author: &'a str,
    text: &'a str,
    flags: i64,
}

/// Writes texts; holds its statements, because a rebuild writes a hundred thousand.
struct Writer<'c> {
    doc: Statement<'c>,
    fts: Statement<'c>,
}

impl<'c> Writer<'c> {
    fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            doc: connection.prepare(
                "INSERT OR REPLACE INTO doc(row, id, at, author, text, flags, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?,
            fts: connection.prepare("INSERT OR REPLACE INTO fts(rowid, tokens) VALUES (?1, ?2)")?,
        })
    }

    fn put(&mut self, doc: &Doc<'_>) -> rusqlite::Result<()> {
        let indexed = doc.text.get(..doc.text.floor_char_boundary(INDEXED_BYTES)).unwrap_or(doc.text);
        let kept = match doc.text.char_indices().nth(KEPT_CHARS) {
            Some((end, _)) => doc.text.get(..end).unwrap_or(doc.text),
            None => doc.text,
        };
        let digest = fnv(kept.as_bytes()).cast_signed();
        self.doc.execute(params![doc.row, doc.id, doc.at, doc.author, kept, doc.flags, digest])?;
        self.fts.execute(params![doc.row, index_text(indexed)])?;
        Ok(())
    }
}

/// Indexes the core memory and the notes of a scope as they stand now.
pub(super) fn update_memory(
    connection: &Connection,
    layout: &Layout,
    scope: &ScopeKey,
    budget: &mut StepBudget,
) -> Result<(), DatabaseError> {
    let present = memory_files(layout, scope)?;
    let area = Area::Memory(scope.clone());
    for (kind, name) in &present {
        let file = SourceFile { area: area.clone(), kind: *kind, name: name.clone() };
        update_memory_file(connection, &layout.root().join(name), &file, budget)?;
    }
    for (name, base) in files_of(connection, &area)? {
        if !present.iter().any(|(_, known)| *known == name) {
            in_transaction(connection, || Ok(forget_file(connection, base)?))?;
        }
    }
    Ok(())
}

/// Whether the index has the memory of a scope as it stands now.
pub(super) fn is_memory_current(
    connection: &Connection,
    layout: &Layout,
    scope: &ScopeKey,
) -> Result<bool, DatabaseError> {
    let area = Area::Memory(scope.clone());
    let mut present = BTreeSet::new();
    for (kind, name) in memory_files(layout, scope)? {
        let metadata = match std::fs::metadata(layout.root().join(&name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        let source = SourceFile { area: area.clone(), kind, name: name.clone() };
        if !find_file(connection, &source)?.is_some_and(|known| known.is_as(&metadata)) {
            return Ok(false);
        }
        present.insert(name);
    }
    Ok(files_of(connection, &area)?.iter().all(|(name, _)| present.contains(name)))
}

/// The files of a scope's memory, from the state directory down. That of core memory may be missing.
fn memory_files(layout: &Layout, scope: &ScopeKey) -> io::Result<Vec<(TextSource, String)>> {
    let mut files = vec![(TextSource::Core, scope.core_file())];
    let folder = scope.notes_folder();
    for name in markdown_files(&layout.root().join(&folder))? {
        files.push((TextSource::Notes, format!("{folder}/{name}")));
    }
    Ok(files)
}

fn markdown_files(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        names.extend(
            name.to_str().filter(|name| name.ends_with(".md") && !name.starts_with('.')).map(str::to_owned),
        );
    }
    names.sort();
    Ok(names)
}

fn update_memory_file(
    connection: &Connection,
    path: &Path,
    source: &SourceFile,
    budget: &mut StepBudget,
) -> Result<(), DatabaseError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match find_file(connection, source)? {
                None => Ok(()),
                Some(known) => in_transaction(connection, || Ok(forget_file(connection, known.base)?)),
            };
        }
        file => file?,
    };
    let metadata = file.metadata()?;
    if find_file(connection, source)?.is_some_and(|known| known.is_as(&metadata)) {
        return Ok(());
    }
    budget.spend(metadata.size());
    in_transaction(connection, || reindex_memory_file(connection, file, source, &metadata))
}

fn reindex_memory_file(
    connection: &Connection,
    mut file: File,
    source: &SourceFile,
    metadata: &Metadata,
) -> Result<(), DatabaseError> {
    let Some(mut known) = enter_file(connection, source)? else { return Ok(()) };
    let changed = changed_at(metadata);
    let mut digest = Fnv::new();
    let mut bytes = Vec::new();
    let begin = read_prefix(&mut file, known.bytes, &mut digest)?;
    file.read_to_end(&mut bytes)?;
    // New items stand behind those that are indexed: all else changes one of them.
    let grown = begin == Some(b'\n') && digest.value() == known.tail && !goes_on(&bytes);
    if !grown {
        remove_rows(connection, known.rows())?;
        known = IndexedFile { bytes: 0, next: FIRST_POSITION, ..known };
        digest = Fnv::new();
        bytes.clear();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
    }
    digest.add(&bytes);
    let text = String::from_utf8_lossy(&bytes);
    let mut writer = Writer::new(connection)?;
    for block in item_blocks(&text) {
        let item = read_item(block);
        let Some(row) = known.take_row().filter(|_| !item.text.trim().is_empty()) else { continue };
        let id = item.id.unwrap_or_default();
        let at = item.at.unwrap_or(changed / 1_000_000);
        writer.put(&Doc {
            row,
            id: &id,
            at,
            author: item.author.as_deref().unwrap_or_default(),
            text: &item.text,
            flags: 0,
        })?;
    }
    known.bytes = known.bytes.saturating_add(bytes.len() as u64);
    (known.tail, known.changed, known.inode) = (digest.value(), changed, inode_of(metadata));
    if !grown {
        remove_orphans(connection)?;
    }
    Ok(keep_file(connection, &known)?)
}

/// Reads the first bytes of a file into a digest. Returns the last of them; nothing where there are none, or fewer.
fn read_prefix(file: &mut File, length: u64, digest: &mut Fnv) -> io::Result<Option<u8>> {
    let mut chunk = [0; PREFIX_CHUNK];
    let (mut left, mut last) = (length, None);
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(PREFIX_CHUNK);
        let count = file.read(chunk.get_mut(..most).unwrap_or_default())?;
        let Some(read) = chunk.get(..count).filter(|read| !read.is_empty()) else { return Ok(None) };
        digest.add(read);
        last = read.last().copied();
        left = left.saturating_sub(count as u64);
    }
    Ok(last)
}

/// Whether a text goes on with the item before it.
fn goes_on(bytes: &[u8]) -> bool {
    bytes.starts_with(b"  ") || bytes.starts_with(b"\t")
}

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
    if known.bytes == file.metadata()?.size() {
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
    for rows in super::sources::rows_of_thread(connection, thread)? {
        forget_file(connection, rows.first)?;
    }
    connection.execute("DELETE FROM thread WHERE name = ?1", [thread.as_str()])?;
    Ok(())
}

fn forget_file(connection: &Connection, base: i64) -> rusqlite::Result<()> {
    let known = IndexedFile { base, bytes: 0, tail: 0, changed: 0, inode: 0, next: 0 };
    remove_rows(connection, known.rows())?;
    remove_orphans(connection)?;
    connection.execute("DELETE FROM file WHERE base = ?1", [base])?;
    Ok(())
}

fn remove_rows(connection: &Connection, rows: RowRange) -> rusqlite::Result<()> {
    let RowRange { first, last } = rows;
    connection.execute(
        "DELETE FROM fts WHERE rowid IN (SELECT row FROM doc WHERE row BETWEEN ?1 AND ?2)",
        [first, last],
    )?;
    connection.execute("DELETE FROM message WHERE row BETWEEN ?1 AND ?2", [first, last])?;
    connection.execute("DELETE FROM doc WHERE row BETWEEN ?1 AND ?2", [first, last])?;
    Ok(())
}

/// Does work in one transaction.
pub(super) fn in_transaction<T>(
    connection: &Connection,
    work: impl FnOnce() -> Result<T, DatabaseError>,
) -> Result<T, DatabaseError> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    ended(connection, work())
}

/// Ends the transaction that was begun, as its work went.
fn ended<T>(connection: &Connection, done: Result<T, DatabaseError>) -> Result<T, DatabaseError> {
    match done {
        Ok(done) => {
            connection.execute_batch("COMMIT")?;
            Ok(done)
        }
        Err(error) => {
            if let Err(rollback) = connection.execute_batch("ROLLBACK") {
                tracing::warn!(error = %rollback, "search index rollback failed");
            }
            Err(error)
        }
    }
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
