//! The key-value store of adapters: `.ship/state/<platform>/<name>.json`, one file per value. A small value is
//! overwritten in place, a larger one replaces the file; only a value that has to be synced is.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use super::atomic::{replace_file, sync_dir};
use super::disk::on_disk;
use super::layout::private_file;
use crate::domain::Platform;
use crate::ports::{BoxFuture, Durability, KeyValueStore, StoreError};

/// Only the daemon reads them.
const MODE: u32 = 0o600;
/// A value up to this size is written by one call within one page, which the end of the process cannot interrupt.
const PAGE: u64 = 4096;

/// The values of one platform's adapter.
#[derive(Clone, Debug)]
pub struct FileNotes {
    folder: PathBuf,
    /// Held while a value is read or overwritten.
    turn: Arc<Mutex<()>>,
}

impl FileNotes {
    /// The values of `platform` under this `.ship` directory. Opens nothing.
    pub fn new(ship_dir: &Path, platform: &Platform) -> Self {
        Self { folder: ship_dir.join("state").join(platform.as_str()), turn: Arc::default() }
    }

    /// The values of all adapters: each has the nested store of its platform. Opens nothing.
    pub fn of_all(ship_dir: &Path) -> Self {
        Self { folder: ship_dir.join("state"), turn: Arc::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.json", utf8_percent_encode(name, NON_ALPHANUMERIC)))
    }

    /// Runs a file operation on a blocking thread, one at a time.
    async fn alone<T: Send + 'static>(
        &self,
        path: PathBuf,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = self.turn.clone();
        let alone = move |path: &Path| {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            work(path)
        };
        on_disk(path, alone).await
    }
}

impl KeyValueStore for FileNotes {
    fn get(&self, name: &str) -> BoxFuture<'_, Result<Option<Value>, StoreError>> {
        let path = self.path(name);
        Box::pin(self.alone(path, |path| match std::fs::read(path) {
            // An unreadable value counts as missing.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }))
    }

    fn put(&self, name: &str, note: Value, durability: Durability) -> BoxFuture<'_, Result<(), StoreError>> {
        let path = self.path(name);
        match durability {
            Durability::Written => {
                Box::pin(self.alone(path, move |path| write(path, serde_json::to_vec(&note)?)))
            }
            Durability::Synced => Box::pin(on_disk(path, move |path| {
                make_folder(path.parent().unwrap_or(path))?;
                replace_file(path, &serde_json::to_vec(&note)?, MODE)
            })),
        }
    }

    fn remove(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>> {
        let path = self.path(name);
        Box::pin(self.alone(path, |path| match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }))
    }

    fn all(&self) -> BoxFuture<'_, Result<Vec<(String, Value)>, StoreError>> {
        Box::pin(self.alone(self.folder.clone(), |folder| {
            let entries = match std::fs::read_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                entries => entries?,
            };
            let mut notes = Vec::new();
            for entry in entries {
                let path = entry?.path();
                let Some(name) = name_of(&path) else { continue };
                let bytes = match std::fs::read(&path) {
                    // It was removed meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    // The caller would take a missing value for a finished one, so an error is returned.
                    bytes => bytes?,
                };
                match serde_json::from_slice(&bytes) {
                    Ok(note) => notes.push((name, note)),
                    // A retry would not help, and the other values must not be withheld.
                    Err(error) => {
                        tracing::error!(path = %path.display(), %error, "unreadable note skipped");
                    }
                }
            }
            Ok(notes)
        }))
    }

    fn nested(&self, name: &str) -> Arc<dyn KeyValueStore> {
        let folder = self.folder.join(utf8_percent_encode(name, NON_ALPHANUMERIC).to_string());
        Arc::new(Self { folder, turn: Arc::default() })
    }
}

/// Creates a folder and syncs its name.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)?;
    folder.ancestors().skip(1).take(2).try_for_each(sync_dir)
}

/// The name of the value in this file; `None` for other files.
fn name_of(path: &Path) -> Option<String> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".json")?;
    percent_decode_str(stem).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// Replaces a value. A small one is overwritten in place: an inbound message waits for it, and a new file costs a
/// hundred times as much.
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
    // The rest of a longer old value is filled with blanks, which JSON ignores.
    note.resize(usize::try_from(length).unwrap_or(note.len()), b' ');
    file.write_all_at(&note, 0)
}

/// Opens a value for writing, creating its folder if needed. The content stays.
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
    use crate::ports::StoreErrorKind;

    #[tokio::test]
    async fn a_note_is_kept_replaced_and_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let notes = FileNotes::new(dir.path(), &"telegram".parse().unwrap());
        assert_eq!(notes.get("apr/1").await.unwrap(), None);
        notes.put("apr/1", json!({ "message": 7 }), Durability::Written).await.unwrap();
        notes.put("apr/1", json!({ "message": 8 }), Durability::Written).await.unwrap();
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
            notes.put("note", note.clone(), Durability::Written).await.unwrap();
            assert_eq!(notes.get("note").await.unwrap(), Some(note), "{length}");
        }
        let left: Vec<_> = std::fs::read_dir(dir.path().join("state/telegram")).unwrap().collect();
        assert_eq!(left.len(), 1);
    }

    #[tokio::test]
    async fn a_shelf_has_its_own_notes_and_tells_them_all() {
        let dir = tempfile::tempdir().unwrap();
        let notes = FileNotes::new(dir.path(), &"qq".parse().unwrap());
        let nested = notes.nested("inbox");
        assert_eq!(nested.all().await.unwrap(), []);
        notes.put("inbox", json!(1), Durability::Written).await.unwrap();
        nested.put("a/b ü", json!(2), Durability::Synced).await.unwrap();
        nested.put("c", json!(3), Durability::Synced).await.unwrap();
        File::create(dir.path().join("state/qq/inbox/torn.json")).unwrap();
        let mut all = notes.nested("inbox").all().await.unwrap();
        all.sort_by_key(|(name, _)| name.clone());
        assert_eq!(all, [("a/b ü".to_owned(), json!(2)), ("c".to_owned(), json!(3))]);
        assert_eq!(notes.all().await.unwrap(), [("inbox".to_owned(), json!(1))]);
        nested.remove("c").await.unwrap();
        assert_eq!(nested.all().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_note_that_the_disk_does_not_give_is_not_taken_for_none() {
        let dir = tempfile::tempdir().unwrap();
        let nested = FileNotes::new(dir.path(), &"qq".parse().unwrap()).nested("inbox");
        nested.put("a", json!(1), Durability::Synced).await.unwrap();
        std::fs::create_dir(dir.path().join("state/qq/inbox/unreadable.json")).unwrap();
        assert_eq!(nested.all().await.unwrap_err().kind(), StoreErrorKind::Unavailable);
    }

    #[tokio::test]
    async fn a_torn_note_is_as_good_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let notes = FileNotes::new(dir.path(), &"qq".parse().unwrap());
        notes.put("session", json!("s"), Durability::Written).await.unwrap();
        let torn = dir.path().join("state/qq/session.json");
        File::create(torn).unwrap().write_all(b"{\"sess").unwrap();
        assert_eq!(notes.get("session").await.unwrap(), None);
    }
}
