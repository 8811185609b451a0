//! An adapter's notes: `.ship/state/<platform>/<name>.json`, one file each, replaced whole.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::layout::private_file;
use crate::domain::Platform;
use crate::ports::{BoxFuture, Notebook, StoreError};

/// What is no longer than this is written by one call within one page, which nothing that happens to the process can
/// cut in two.
const PAGE: u64 = 4096;

/// The notes of one platform's adapter.
#[derive(Clone, Debug)]
pub struct FileNotes {
    folder: PathBuf,
    /// Whoever reads must not meet a note half way.
    turn: Arc<Mutex<()>>,
}

impl FileNotes {
    /// The notes of `platform` under this `.ship` directory. Touches nothing.
    pub fn new(ship_dir: &Path, platform: &Platform) -> Self {
        Self { folder: ship_dir.join("state").join(platform.as_str()), turn: Arc::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.json", utf8_percent_encode(name, NON_ALPHANUMERIC)))
    }

    /// Runs work on a file off the runtime's threads, and alone.
    async fn on_disk<T: Send + 'static>(
        &self,
        path: PathBuf,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (place, turn) = (path.clone(), self.turn.clone());
        let alone = move || {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            work(&path)
        };
        let done = tokio::task::spawn_blocking(alone).await.map_err(|_| StoreError::Closed)?;
        done.map_err(|source| StoreError::Io { path: place, source })
    }
}

impl Notebook for FileNotes {
    fn get(&self, name: &str) -> BoxFuture<'_, Result<Option<Value>, StoreError>> {
        let path = self.path(name);
        Box::pin(self.on_disk(path, |path| match std::fs::read(path) {
            // A note that cannot be read is as good as none.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }))
    }

    fn put(&self, name: &str, note: Value) -> BoxFuture<'_, Result<(), StoreError>> {
        let path = self.path(name);
        Box::pin(self.on_disk(path, move |path| write(path, serde_json::to_vec(&note)?)))
    }

    fn remove(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>> {
        let path = self.path(name);
        Box::pin(self.on_disk(path, |path| match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }))
    }
}

/// Replaces a note. A small one is written over the old one: somebody waits for it with a message in hand, and a new
/// file is a hundred times the work.
fn write(path: &Path, mut note: Vec<u8>) -> io::Result<()> {
    let file = open(path)?;
    let old = file.metadata()?.len();
    let length = u64::try_from(note.len()).unwrap_or(u64::MAX).max(old);
    if length > PAGE {
        let folder = path.parent().unwrap_or(path);
        let mut new = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        new.write_all(&note)?;
        return new.persist(path).map(drop).map_err(|error| error.error);
    }
    // What was longer is covered with blanks, which mean nothing.
    note.resize(usize::try_from(length).unwrap_or(note.len()), b' ');
    file.write_all_at(&note, 0)
}

/// Opens a note for writing, with its folder if need be. What it says stays.
fn open(path: &Path) -> io::Result<File> {
    let open = || private_file().write(true).create(true).truncate(false).open(path);
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(path.parent().unwrap_or(path))?;
            open()
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_note_is_kept_replaced_and_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let notes = FileNotes::new(dir.path(), &"telegram".parse().unwrap());
        assert_eq!(notes.get("apr/1").await.unwrap(), None);
        notes.put("apr/1", json!({ "message": 7 })).await.unwrap();
        notes.put("apr/1", json!({ "message": 8 })).await.unwrap();
        assert_eq!(notes.get("apr/1").await.unwrap(), Some(json!({ "message": 8 })));
        notes.remove("apr/1").await.unwrap();
        notes.remove("apr/1").await.unwrap();
        assert_eq!(notes.get("apr/1").await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_note_may_grow_and_shrink_by_any_amount() {
        let dir = tempfile::tempdir().unwrap();
        let notes = FileNotes::new(dir.path(), &"telegram".parse().unwrap());
        for length in [0, 1, 200, 100, 4000, 3, 9000, 20, 8000, 4090, 5] {
            let note = json!("x".repeat(length));
            notes.put("note", note.clone()).await.unwrap();
            assert_eq!(notes.get("note").await.unwrap(), Some(note), "{length}");
        }
        let left: Vec<_> = std::fs::read_dir(dir.path().join("state/telegram")).unwrap().collect();
        assert_eq!(left.len(), 1);
    }

    #[tokio::test]
    async fn a_torn_note_is_as_good_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let notes = FileNotes::new(dir.path(), &"qq".parse().unwrap());
        notes.put("session", json!("s")).await.unwrap();
        let torn = dir.path().join("state/qq/session.json");
        File::create(torn).unwrap().write_all(b"{\"sess").unwrap();
        assert_eq!(notes.get("session").await.unwrap(), None);
    }
}
