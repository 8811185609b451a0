//! What people had taken out of the search: what was said under a scope up to a time. The thread files keep it; the index
//! does not, and an index that is made anew does not take it in again.

use std::collections::BTreeMap;
use std::io;

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::super::atomic::replace_file;
use super::super::layout::{Layout, private_dir};
use super::database::DatabaseError;
use super::sources::{Area, rows_of_area};
use super::vectors::remove_orphans;
use super::writing::in_transaction;
use crate::domain::ScopeKey;

const FILE: &str = "forgotten.jsonl";
/// The key under which the index keeps how much of the file it has applied.
const APPLIED: &str = "forgotten";

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    scope: ScopeKey,
    /// In milliseconds.
    through: i64,
}

/// Until when what was said under each scope is not found.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    through: BTreeMap<ScopeKey, i64>,
    bytes: usize,
}

impl Forgotten {
    pub(super) fn read(layout: &Layout) -> io::Result<Self> {
        let bytes = match std::fs::read(layout.memory().join(FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            bytes => bytes?,
        };
        let mut through = BTreeMap::new();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            match serde_json::from_slice::<Line>(line) {
                Ok(Line { scope, through: until }) => {
                    let known = through.entry(scope).or_insert(until);
                    *known = (*known).max(until);
                }
                Err(error) => tracing::warn!(%error, file = FILE, "line cannot be read"),
            }
        }
        Ok(Self { through, bytes: bytes.len() })
    }

    /// Writes down that what was said under a scope up to this time is not found any more.
    pub(super) fn add(layout: &Layout, scope: &ScopeKey, through: i64) -> io::Result<()> {
        let path = layout.memory().join(FILE);
        private_dir(&layout.memory())?;
        let mut bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            bytes => bytes?,
        };
        bytes.extend(serde_json::to_vec(&Line { scope: scope.clone(), through })?);
        bytes.push(b'\n');
        replace_file(&path, &bytes, 0o600)
    }

    pub(super) fn into_times(self) -> BTreeMap<ScopeKey, i64> {
        self.through
    }

    pub(super) fn covers(&self, scope: Option<&ScopeKey>, at: i64) -> bool {
        scope.and_then(|scope| self.through.get(scope)).is_some_and(|through| at <= *through)
    }

    /// Removes from the index what was forgotten since it was last asked.
    pub(super) fn apply(&self, connection: &Connection) -> Result<(), DatabaseError> {
        let bytes = self.bytes.to_string();
        let sql = "SELECT value FROM progress WHERE key = ?1";
        let applied: Option<String> = connection.query_row(sql, [APPLIED], |row| row.get(0)).optional()?;
        if self.bytes == 0 || applied.as_deref() == Some(bytes.as_str()) {
            return Ok(());
        }
        in_transaction(connection, || {
            for (scope, through) in &self.through {
                remove(connection, scope, *through)?;
            }
            remove_orphans(connection)?;
            // Words of removed rows stay in the full-text index until its segments are merged.
            connection.execute("INSERT INTO fts(fts) VALUES ('optimize')", [])?;
            connection.execute(
                "INSERT OR REPLACE INTO progress(key, value) VALUES (?1, ?2)",
                [APPLIED, bytes.as_str()],
            )?;
            Ok(())
        })?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }
}

fn remove(connection: &Connection, scope: &ScopeKey, through: i64) -> rusqlite::Result<()> {
    let Some(rows) = rows_of_area(connection, &Area::History(Some(scope.clone())))? else { return Ok(()) };
    let old = "SELECT row FROM doc WHERE row BETWEEN ?1 AND ?2 AND at <= ?3";
    for sql in [
        format!("DELETE FROM fts WHERE rowid IN ({old})"),
        format!("DELETE FROM message WHERE row IN ({old})"),
        "DELETE FROM doc WHERE row BETWEEN ?1 AND ?2 AND at <= ?3".to_owned(),
    ] {
        connection.execute(&sql, params![rows.first, rows.last, through])?;
    }
    Ok(())
}
