//! Areas and files of the index, and the row numbers of their texts: 19 bits for the area, 20 for the file in it, 24 for
//! the position in the file.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rusqlite::{Connection, OptionalExtension, params};

use crate::domain::{ScopeKey, ThreadId};
use crate::ports::TextSource;

const POSITION_BITS: u32 = 24;
const FILE_BITS: u32 = 20;
const MOST_AREAS: i64 = 1 << 19;
const MOST_FILES: i64 = 1 << FILE_BITS;
/// Positions begin here, so that the window around the first text of a file does not reach into another file.
pub(super) const FIRST_POSITION: i64 = 16;
const LAST_POSITION: i64 = (1 << POSITION_BITS) - 17;

/// What is searched together: the memory of a scope, or what was said under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Area {
    Memory(ScopeKey),
    History(Option<ScopeKey>),
}

impl Area {
    fn key(&self) -> String {
        match self {
            Self::Memory(scope) => format!("memory {scope}"),
            Self::History(Some(scope)) => format!("history {scope}"),
            Self::History(None) => "history".to_owned(),
        }
    }
}

/// A file that texts come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceFile {
    pub(super) area: Area,
    pub(super) kind: TextSource,
    /// The path below `.ship`, or the thread.
    pub(super) name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexedFile {
    /// The first row number of its texts.
    pub(super) base: i64,
    /// How much of it is indexed.
    pub(super) bytes: u64,
    /// A digest of all that is indexed.
    pub(super) tail: i64,
    /// When it was last changed, in nanoseconds.
    pub(super) changed: i64,
    /// A file that was replaced has another number: two changes may have the same time.
    pub(super) inode: i64,
    /// The position of its next text.
    pub(super) next: i64,
}

/// A range of row numbers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowRange {
    pub(super) first: i64,
    pub(super) last: i64,
}

/// When a file was last changed, in nanoseconds.
pub(super) fn changed_at(metadata: &Metadata) -> i64 {
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}

pub(super) fn inode_of(metadata: &Metadata) -> i64 {
    metadata.ino().cast_signed()
}

impl IndexedFile {
    /// Whether the file on the disk is the one that was indexed.
    pub(super) fn is_as(&self, metadata: &Metadata) -> bool {
        self.bytes == metadata.size()
            && self.changed == changed_at(metadata)
            && self.inode == inode_of(metadata)
    }

    pub(super) const fn rows(&self) -> RowRange {
        RowRange { first: self.base, last: self.base | ((1 << POSITION_BITS) - 1) }
    }

    /// The row of the next text; nothing once the file has too many.
    pub(super) fn take_row(&mut self) -> Option<i64> {
        let position = self.next;
        self.next = position.saturating_add(1);
        (position <= LAST_POSITION).then_some(self.base | position)
    }
}

/// The first row of the file that a row belongs to.
pub(super) const fn base_of(row: i64) -> i64 {
    row & !((1 << POSITION_BITS) - 1)
}

/// The rows of an area; nothing where it has no texts.
pub(super) fn rows_of_area(connection: &Connection, area: &Area) -> rusqlite::Result<Option<RowRange>> {
    let id: Option<i64> = connection
        .query_row("SELECT id FROM area WHERE key = ?1", [area.key()], |row| row.get(0))
        .optional()?;
    Ok(id.map(rows_of_number))
}

const fn rows_of_number(area: i64) -> RowRange {
    let first = area << (POSITION_BITS + FILE_BITS);
    RowRange { first, last: first | ((1 << (POSITION_BITS + FILE_BITS)) - 1) }
}

/// The rows of what was said in a thread, under each scope it was said.
pub(super) fn rows_of_thread(connection: &Connection, thread: &ThreadId) -> rusqlite::Result<Vec<RowRange>> {
    let mut statement =
        connection.prepare("SELECT base FROM file WHERE kind = ?1 AND name = ?2 ORDER BY base")?;
    let bases =
        statement.query_map(params![TextSource::History.as_str(), thread.as_str()], |row| row.get(0))?;
    bases
        .map(|base| base.map(|base: i64| RowRange { first: base, last: base | ((1 << POSITION_BITS) - 1) }))
        .collect()
}

/// About how many texts stand in a range of rows: what was replaced or forgotten there counts as well. To count the texts
/// themselves would read all of them.
pub(super) fn passages_in(connection: &Connection, rows: RowRange) -> rusqlite::Result<u64> {
    let sql = "SELECT coalesce(sum(next - ?3), 0) FROM file WHERE base BETWEEN ?1 AND ?2";
    let count: i64 = connection.query_row(sql, [rows.first, rows.last, FIRST_POSITION], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// What the index knows of a file.
pub(super) fn find_file(connection: &Connection, file: &SourceFile) -> rusqlite::Result<Option<IndexedFile>> {
    let sql = "SELECT base, bytes, tail, changed, inode, next FROM file JOIN area ON area.id = file.area \
               WHERE area.key = ?1 AND kind = ?2 AND name = ?3";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(IndexedFile {
            base: row.get(0)?,
            bytes: row.get::<_, i64>(1)?.unsigned_abs(),
            tail: row.get(2)?,
            changed: row.get(3)?,
            inode: row.get(4)?,
            next: row.get(5)?,
        })
    };
    connection.query_row(sql, params![file.area.key(), file.kind.as_str(), file.name], read).optional()
}

/// What the index knows of a file, which is entered where it is new. Nothing once there is no number left for it.
pub(super) fn enter_file(
    connection: &Connection,
    file: &SourceFile,
) -> rusqlite::Result<Option<IndexedFile>> {
    if let Some(known) = find_file(connection, file)? {
        return Ok(Some(known));
    }
    let key = file.area.key();
    connection.execute("INSERT INTO area(key) VALUES (?1) ON CONFLICT DO NOTHING", [&key])?;
    let area: i64 = connection.query_row("SELECT id FROM area WHERE key = ?1", [&key], |row| row.get(0))?;
    let rows = rows_of_number(area);
    let sql = "SELECT max(base) FROM file WHERE base BETWEEN ?1 AND ?2";
    let last: Option<i64> = connection.query_row(sql, [rows.first, rows.last], |row| row.get(0))?;
    let base = last.map_or(rows.first, |last| last.saturating_add(1 << POSITION_BITS));
    let full = area >= MOST_AREAS || base.saturating_sub(rows.first) >> POSITION_BITS >= MOST_FILES;
    if full {
        return Ok(None);
    }
    connection.execute(
        "INSERT INTO file(base, area, kind, name, bytes, tail, changed, inode, next) VALUES (?1, ?2, ?3, ?4, 0, 0, 0, 0, ?5)",
        params![base, area, file.kind.as_str(), file.name, FIRST_POSITION],
    )?;
    Ok(Some(IndexedFile { base, bytes: 0, tail: 0, changed: 0, inode: 0, next: FIRST_POSITION }))
}

/// Writes down how far a file is indexed.
pub(super) fn keep_file(connection: &Connection, file: &IndexedFile) -> rusqlite::Result<()> {
    let bytes = i64::try_from(file.bytes).unwrap_or(i64::MAX);
    connection.execute(
        "UPDATE file SET bytes = ?2, tail = ?3, changed = ?4, inode = ?5, next = ?6 WHERE base = ?1",
        params![file.base, bytes, file.tail, file.changed, file.inode, file.next],
    )?;
    Ok(())
}

/// The files of an area: their names and first rows.
pub(super) fn files_of(connection: &Connection, area: &Area) -> rusqlite::Result<Vec<(String, i64)>> {
    let Some(rows) = rows_of_area(connection, area)? else { return Ok(Vec::new()) };
    let sql = "SELECT name, base FROM file WHERE base BETWEEN ?1 AND ?2 ORDER BY base";
    let mut statement = connection.prepare(sql)?;
    let files = statement.query_map([rows.first, rows.last], |row| Ok((row.get(0)?, row.get(1)?)))?;
    files.collect()
}
