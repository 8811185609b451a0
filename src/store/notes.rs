//! An adapter's notes: `.ship/state/<platform>/<name>.json`, one file each, replaced whole. What must not be lost is in
//! the folder `kept` beside them.

use std::io;
use std::path::{Path, PathBuf};

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use super::atomic::{replace_file, sync_dir};
use crate::domain::Platform;
use crate::ports::{BoxFuture, Notebook, StoreError};

/// Notes are for their owner only.
const MODE: u32 = 0o600;
/// The folder of what must not be lost.
const KEPT: &str = "kept";

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
        self.folder.join(file_name(name))
    }

    fn kept_path(&self, name: &str) -> PathBuf {
        self.folder.join(KEPT).join(file_name(name))
    }
}

fn file_name(name: &str) -> String {
    format!("{}.json", utf8_percent_encode(name, NON_ALPHANUMERIC))
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
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

    fn remove(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(on_disk(self.path(name), remove))
    }

    fn keep(&self, name: &str, what: Value) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(on_disk(self.kept_path(name), move |path| {
            let folder = path.parent().unwrap_or(path);
            if !folder.is_dir() {
                std::fs::create_dir_all(folder)?;
                sync_dir(folder.parent().unwrap_or(folder))?;
            }
            replace_file(path, &serde_json::to_vec(&what)?, MODE)
        }))
    }

    fn kept(&self) -> BoxFuture<'_, Result<Vec<(String, Value)>, StoreError>> {
        Box::pin(on_disk(self.folder.join(KEPT), |folder| {
            let entries = match std::fs::read_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                entries => entries?,
            };
            let mut found = Vec::new();
            for entry in entries {
                let path = entry?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let Some(name) = name.strip_suffix(".json") else { continue };
                match serde_json::from_slice(&std::fs::read(&path)?) {
                    Ok(what) => found.push((percent_decode_str(name).decode_utf8_lossy().into_owned(), what)),
                    Err(error) => {
                        tracing::error!(path = %path.display(), %error, "what was kept cannot be read")
                    }
                }
            }
            Ok(found)
        }))
    }

    fn let_go(&self, name: &str) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(on_disk(self.kept_path(name), remove))
    }
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
    async fn what_is_kept_is_there_until_it_is_let_go() {
        let dir = tempfile::tempdir().unwrap();
        let notes = FileNotes::new(dir.path(), &"telegram".parse().unwrap());
        assert_eq!(notes.kept().await.unwrap(), []);
        notes.put("7", json!("a note is not kept")).await.unwrap();
        notes.keep("-7", json!({ "a": 1 })).await.unwrap();
        notes.keep("-7", json!({ "a": 2 })).await.unwrap();
        assert_eq!(notes.kept().await.unwrap(), [("-7".to_owned(), json!({ "a": 2 }))]);
        notes.let_go("-7").await.unwrap();
        notes.let_go("-7").await.unwrap();
        assert_eq!(notes.kept().await.unwrap(), []);
        assert!(notes.get("7").await.unwrap().is_some());
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
