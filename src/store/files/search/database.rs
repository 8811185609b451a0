//! Opens the index and makes its tables. A file that is gone, damaged or of another version is replaced by an empty one:
//! what it held is made anew from the sources.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};

use super::super::layout::{private_dir, private_file};

/// Raised whenever tables or tokens change.
const VERSION: i64 = 4;

/// How long a write waits for another process that writes.
const BUSY: std::time::Duration = std::time::Duration::from_secs(10);

const TABLES: &str = "
CREATE TABLE area(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE file(
  base INTEGER PRIMARY KEY, area INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  bytes INTEGER NOT NULL, tail INTEGER NOT NULL, changed INTEGER NOT NULL, inode INTEGER NOT NULL,
  next INTEGER NOT NULL);
CREATE UNIQUE INDEX file_name ON file(name, kind, area);
CREATE TABLE thread(name TEXT PRIMARY KEY, bytes INTEGER NOT NULL, tail INTEGER NOT NULL, scope TEXT) WITHOUT ROWID;
CREATE TABLE doc(
  row INTEGER PRIMARY KEY, id TEXT NOT NULL, at INTEGER NOT NULL, author TEXT NOT NULL, text TEXT NOT NULL,
  flags INTEGER NOT NULL, digest INTEGER NOT NULL);
CREATE TABLE vector(
  digest INTEGER NOT NULL, model TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY(digest, model)) WITHOUT ROWID;
CREATE TABLE progress(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE message(id INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY(id, row)) WITHOUT ROWID;
CREATE VIRTUAL TABLE fts USING fts5(
  tokens, content = '', contentless_delete = 1, tokenize = 'porter unicode61', detail = full);
INSERT INTO fts(fts, rank) VALUES ('automerge', 8);
";

/// An open index.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) connection: Connection,
    path: PathBuf,
    /// Which file was opened: device and inode.
    identity: (u64, u64),
}

/// How an index came to be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    Found,
    New,
    /// A damaged file, or one of another version, was replaced.
    Replaced,
}

impl Database {
    /// Opens the index at this path and makes it where it is missing.
    pub(super) fn open(path: &Path) -> Result<(Self, Opened), DatabaseError> {
        let existed = path.exists();
        match Self::try_open(path) {
            Ok(Some(database)) => Ok((database, if existed { Opened::Found } else { Opened::New })),
            Ok(None) => Self::replace(path),
            Err(error) if error.is_damage() => Self::replace(path),
            Err(error) => Err(error),
        }
    }

    /// Puts an empty index in the place of the one at this path.
    pub(super) fn replace(path: &Path) -> Result<(Self, Opened), DatabaseError> {
        for ending in ["", "-wal", "-shm"] {
            let mut file = path.as_os_str().to_owned();
            file.push(ending);
            match std::fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                Ok(()) | Err(_) => {}
            }
        }
        let database = Self::try_open(path)?.ok_or(DatabaseError::Version)?;
        Ok((database, Opened::Replaced))
    }

    /// Opens the file; nothing where it is of another version.
    fn try_open(path: &Path) -> Result<Option<Self>, DatabaseError> {
        if let Some(folder) = path.parent() {
            private_dir(folder)?;
        }
        // SQLite would make it readable by others.
        private_file().read(true).append(true).create(true).open(path)?;
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -2048; \
             PRAGMA journal_size_limit = 4194304; PRAGMA secure_delete = ON;",
        )?;
        let version = |connection: &Connection| {
            connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
        };
        if version(&connection)? == 0 {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            // Another process may have made the tables in between.
            if version(&connection)? == 0 {
                connection.execute_batch(TABLES)?;
                connection.execute_batch(&format!("PRAGMA user_version = {VERSION}"))?;
            }
            connection.execute_batch("COMMIT")?;
        }
        if version(&connection)? != VERSION {
            return Ok(None);
        }
        let identity = identity_of(path)?;
        Ok(Some(Self { connection, path: path.to_owned(), identity }))
    }

    /// Whether the file that was opened still is the one at its path.
    pub(super) fn is_current(&self) -> bool {
        identity_of(&self.path).is_ok_and(|identity| identity == self.identity)
    }
}

fn identity_of(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Why the index cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum DatabaseError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the index was made by another version of shipagent")]
    Version,
}

impl DatabaseError {
    /// Whether the file itself is at fault, so that a new one helps.
    pub(super) fn is_damage(&self) -> bool {
        let Self::Sqlite(error) = self else { return matches!(self, Self::Version) };
        match error {
            rusqlite::Error::SqliteFailure(failure, _) => matches!(
                failure.code,
                ErrorCode::NotADatabase
                    | ErrorCode::DatabaseCorrupt
                    | ErrorCode::SchemaChanged
                    | ErrorCode::SystemIoFailure
                    | ErrorCode::ConstraintViolation
                    | ErrorCode::TypeMismatch
                    | ErrorCode::Unknown
            ),
            // A table or column that is missing, or a value of another type.
            rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::SqlInputError { .. } => true,
            _ => false,
        }
    }
}
