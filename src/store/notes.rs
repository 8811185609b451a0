//! An adapter's notes: `.ship/state/<platform>/<name>.json`, one file each, replaced whole.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use super::atomic::{replace_file, sync_dir};
use crate::domain::Platform;
use crate::ports::{BoxFuture, Notebook, StoreError};

/// Nobody but the daemon has to read them.
const MODE: u32 = 0o600;

/// The notes of one platform's adapter.
#[derive(Clone, Debug)]
pub struct FileNotes {
    folder: PathBuf,
}

impl FileNotes {
    /// The notes of `platform` under this `.ship` directory. Touches nothing.
    pub fn new(ship_dir: &Path, platform: &Platform) -> Self {
        Self { folder: ship_dir.join("state").join(platform.as_str()) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.json", utf8_percent_encode(name, NON_ALPHANUMERIC)))
    }
}

/// Runs work on a file off the runtime's threads.
async fn on_disk<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    let place = path.clone();
    let done = tokio::task::spawn_blocking(move || work(&path)).await.map_err(|_| StoreError::Closed)?;
    done.map_err(|source| StoreError::Io { path: place, source })
}

impl Notebook for FileNotes {
    fn get(&self, name: &str) -> BoxFuture<'_, Result<Option<Value>, StoreError>> {
        let path = self.path(name);
        Box::pin(on_disk(path, |path| match std::fs::read(path) {
            // A note that cannot be read is as good as none.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }))
    }

    fn put(&self, name: &str, note: Value) -> BoxFuture<'_, Result<(), StoreError>> {
        let path = self.path(name);
        Box::pin(on_disk(path, move |path| {
            let folder = path.parent().unwrap_or(path);
            std::fs::create_dir_all(folder)?;
            let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
            serde_json::to_writer(&mut file, &note)?;
            file.persist(path).map(drop).map_err(|error| error.error)
        }))
    }

    fn keep(&self, name: &str, note: Value) -> BoxFuture<'_, Result<(), StoreError>> {
        let path = self.path(name);
        Box::pin(on_disk(path, move |path| {
            make_folder(path.parent().unwrap_or(path))?;
            replace_file(path, &serde_json::to_vec(&note)?, MODE)
        }))
    }

    fn remove(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>> {
        let path = self.path(name);
        Box::pin(on_disk(path, |path| match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }))
    }

    fn all(&self) -> BoxFuture<'_, Result<Vec<(String, Value)>, StoreError>> {
        Box::pin(on_disk(self.folder.clone(), |folder| {
            let entries = match std::fs::read_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                entries => entries?,
            };
            let mut notes = Vec::new();
            for entry in entries {
                let path = entry?.path();
                let Some(name) = name_of(&path) else { continue };
                // A note that cannot be read is as good as none.
                let note = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
                notes.extend(note.map(|note| (name, note)));
            }
            Ok(notes)
        }))
    }

    fn shelf(&self, name: &str) -> Arc<dyn Notebook> {
        let folder = self.folder.join(utf8_percent_encode(name, NON_ALPHANUMERIC).to_string());
        Arc::new(Self { folder })
    }
}

/// Makes a folder whose own name is on the disk too.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)?;
    folder.ancestors().skip(1).take(2).try_for_each(sync_dir)
}

/// The name of the note in this file; nothing for what is no note.
fn name_of(path: &Path) -> Option<String> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".json")?;
    percent_decode_str(stem).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

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
    async fn a_shelf_has_its_own_notes_and_tells_them_all() {
        let dir = tempfile::tempdir().unwrap();
        let notes = FileNotes::new(dir.path(), &"qq".parse().unwrap());
        let shelf = notes.shelf("inbox");
        assert_eq!(shelf.all().await.unwrap(), []);
        notes.put("inbox", json!(1)).await.unwrap();
        shelf.keep("a/b ü", json!(2)).await.unwrap();
        shelf.keep("c", json!(3)).await.unwrap();
        std::fs::File::create(dir.path().join("state/qq/inbox/torn.json")).unwrap();
        let mut all = notes.shelf("inbox").all().await.unwrap();
        all.sort_by_key(|(name, _)| name.clone());
        assert_eq!(all, [("a/b ü".to_owned(), json!(2)), ("c".to_owned(), json!(3))]);
        assert_eq!(notes.all().await.unwrap(), [("inbox".to_owned(), json!(1))]);
        shelf.remove("c").await.unwrap();
        assert_eq!(shelf.all().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_torn_note_is_as_good_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let notes = FileNotes::new(dir.path(), &"qq".parse().unwrap());
        notes.put("session", json!("s")).await.unwrap();
        let torn = dir.path().join("state/qq/session.json");
        std::fs::File::create(torn).unwrap().write_all(b"{\"sess").unwrap();
        assert_eq!(notes.get("session").await.unwrap(), None);
    }
}
