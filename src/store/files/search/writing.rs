//! Writes texts into the index and removes them, in bounded steps and whole transactions.

use rusqlite::{Connection, Statement, params};

use super::super::lines::fnv;
use super::database::DatabaseError;
use super::sources::{IndexedFile, RowRange};
use super::vectors::remove_orphans;
use crate::search::index_text;

/// How much of a text is kept to be shown and ranked; tokens are made of more.
const KEPT_CHARS: usize = 4_000;
const INDEXED_BYTES: usize = 64 * 1024;

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

    pub(super) const fn spend(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }
}

/// A text with its place.
#[derive(Debug)]
pub(super) struct Doc<'a> {
    pub(super) row: i64,
    pub(super) id: &'a str,
    pub(super) at: i64,
    pub(super) author: &'a str,
    pub(super) text: &'a str,
    pub(super) flags: i64,
}

/// Writes texts; holds its statements, because a rebuild writes a hundred thousand.
pub(super) struct Writer<'c> {
    doc: Statement<'c>,
    fts: Statement<'c>,
}

impl<'c> Writer<'c> {
    pub(super) fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            doc: connection.prepare(
                "INSERT OR REPLACE INTO doc(row, id, at, author, text, flags, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?,
            fts: connection.prepare("INSERT OR REPLACE INTO fts(rowid, tokens) VALUES (?1, ?2)")?,
        })
    }

    pub(super) fn put(&mut self, doc: &Doc<'_>) -> rusqlite::Result<()> {
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

pub(super) fn forget_file(connection: &Connection, base: i64) -> rusqlite::Result<()> {
    let known = IndexedFile { base, bytes: 0, tail: 0, changed: 0, inode: 0, next: 0 };
    remove_rows(connection, known.rows())?;
    remove_orphans(connection)?;
    connection.execute("DELETE FROM file WHERE base = ?1", [base])?;
    Ok(())
}

pub(super) fn remove_rows(connection: &Connection, rows: RowRange) -> rusqlite::Result<()> {
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
