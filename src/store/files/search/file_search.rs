//! The search port over the index file: opened when it is first needed, replaced when it is gone or damaged.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::super::layout::Layout;
use super::database::{Database, DatabaseError, Opened};
use super::finding::find;
use super::indexing::{update_memory, update_thread};
use crate::domain::{ScopeKey, ThreadId};
use crate::ports::{BoxFuture, IndexStatus, Search, SearchArea, SearchPage, SearchRequest, StoreError};

/// Search over the files of one project. Clones share the open index.
#[derive(Clone, Debug)]
pub struct FileSearch {
    layout: Layout,
    database: Arc<Mutex<Option<Database>>>,
}

impl FileSearch {
    /// Search under this `.ship` directory. Touches nothing.
    pub fn new(ship_dir: impl Into<PathBuf>) -> Self {
        Self { layout: Layout::new(ship_dir), database: Arc::default() }
    }

    fn path(&self) -> PathBuf {
        self.layout.state().join("search.sqlite")
    }

    /// Does something with the index. A file that turns out damaged, or was deleted meanwhile, is replaced once, and the
    /// work is done again on the new one.
    fn with<T>(&self, work: impl Fn(&Connection) -> Result<T, DatabaseError>) -> Result<T, StoreError> {
        let path = self.path();
        let mut held = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let first = current(&mut held, &path).and_then(&work);
        let done = match first {
            Err(error) if error.is_damage() => {
                tracing::warn!(index = %path.display(), %error, "search index damaged, made anew");
                *held = None;
                Database::replace(&path).and_then(|(database, _)| work(&held.insert(database).connection))
            }
            done => done,
        };
        if done.is_err() {
            *held = None;
        }
        done.map_err(|error| failed(&path, error))
    }

    fn update(&self, connection: &Connection, areas: &[SearchArea]) -> Result<(), DatabaseError> {
        for area in areas {
            match area {
                SearchArea::Memory(scope) => update_memory(connection, &self.layout, scope)?,
                SearchArea::Thread(thread) => update_thread(connection, &self.layout, thread)?,
            }
        }
        Ok(())
    }

    /// Every thread and every scope that has files.
    fn everything(&self) -> Vec<SearchArea> {
        let names = |folder: PathBuf| -> Vec<String> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
        };
        let threads = names(self.layout.threads()).into_iter().filter_map(|name| {
            ThreadId::from_file_name(name.strip_suffix(".jsonl")?).ok().map(SearchArea::Thread)
        });
        let scope_of = |name: &str| {
            let key = percent_encoding::percent_decode_str(name).decode_utf8().ok()?;
            key.parse::<ScopeKey>().ok()
        };
        let memory = self.layout.memory();
        let mut scopes = vec![ScopeKey::Project, ScopeKey::Main];
        scopes.extend(names(memory.join("notes")).iter().filter_map(|name| scope_of(name)));
        scopes.extend(
            names(memory.join("users")).iter().filter_map(|name| scope_of(name.strip_suffix(".md")?)),
        );
        let group = |name: &String| scope_of(&format!("group%3A{}", name.strip_suffix(".md")?));
        scopes.extend(names(memory.join("groups")).iter().filter_map(group));
        let mut areas: Vec<SearchArea> = scopes.into_iter().map(SearchArea::Memory).chain(threads).collect();
        areas.sort();
        areas.dedup();
        areas
    }
}

/// The open index, opened anew where the file is another one by now.
fn current<'a>(held: &'a mut Option<Database>, path: &Path) -> Result<&'a Connection, DatabaseError> {
    if held.as_ref().is_some_and(|database| !database.is_current()) {
        *held = None;
    }
    if held.is_none() {
        let (database, opened) = Database::open(path)?;
        if opened == Opened::Replaced {
            tracing::warn!(index = %path.display(), "search index was not usable, made anew");
        }
        *held = Some(database);
    }
    match held {
        Some(database) => Ok(&database.connection),
        None => Err(DatabaseError::Version),
    }
}

impl FileSearch {
    fn rebuilt(&self) -> Result<IndexStatus, StoreError> {
        let path = self.path();
        {
            let mut held = self.database.lock().unwrap_or_else(PoisonError::into_inner);
            *held = None;
            let (database, _) = Database::replace(&path).map_err(|error| failed(&path, error))?;
            *held = Some(database);
        }
        let areas = self.everything();
        self.with(|connection| self.update(connection, &areas))?;
        self.counted()
    }

    fn counted(&self) -> Result<IndexStatus, StoreError> {
        let path = self.path();
        self.with(|connection| {
            let count =
                |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
            Ok(IndexStatus {
                texts: count("SELECT count(*) FROM doc")?,
                files: count("SELECT count(*) FROM file")?,
                bytes: std::fs::metadata(&path)?.len(),
            })
        })
    }

    /// Runs work on the index off the runtime's threads.
    fn off_runtime<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let own = self.clone();
        Box::pin(async move {
            tokio::task::spawn_blocking(move || work(&own)).await.map_err(|_| StoreError::closed())?
        })
    }
}

impl Search for FileSearch {
    fn search(&self, request: SearchRequest) -> BoxFuture<'_, Result<SearchPage, StoreError>> {
        self.off_runtime(move |own| {
            own.with(|connection| {
                own.update(connection, &request.areas)?;
                Ok(find(connection, &request)?)
            })
        })
    }

    fn follow(&self, thread: &ThreadId) -> BoxFuture<'_, Result<(), StoreError>> {
        let thread = thread.clone();
        self.off_runtime(move |own| own.with(|connection| update_thread(connection, &own.layout, &thread)))
    }

    fn rebuild(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>> {
        self.off_runtime(Self::rebuilt)
    }

    fn status(&self) -> BoxFuture<'_, Result<IndexStatus, StoreError>> {
        self.off_runtime(Self::counted)
    }
}

fn failed(path: &Path, error: DatabaseError) -> StoreError {
    let source = match error {
        DatabaseError::Io(source) => source,
        other => std::io::Error::other(other),
    };
    super::super::disk::refused(path, source)
}
