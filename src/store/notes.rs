//! An adapter's notes: `.ship/state/<platform>/<name>.json`, one file each, replaced whole.

use std::io;
use std::path::PathBuf;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::domain::Platform;
use crate::ports::{BoxFuture, Notebook, StoreError};

/// The notes of one platform's adapter.
#[derive(Clone, Debug)]
pub struct FileNotes {
    folder: PathBuf,
}

impl FileNotes {
    /// The notes of `platform` under this `.ship` directory. Touches nothing.
    pub fn new(ship_dir: &std::path::Path, platform: &Platform) -> Self {
        Self { folder: ship_dir.join("state").join(platform.as_str()) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.json", utf8_percent_encode(name, NON_ALPHANUMERIC)))
    }
}

/// Runs work on a file off the runtime's threads.
async fn on_disk<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce(&std::path::Path) -> io::Result<T> + Send + 'static,
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
        let path = self.path(name);
        Box::pin(on_disk(path, |path| match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }))
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
    async fn a_torn_note_is_as_good_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let notes = FileNotes::new(dir.path(), &"qq".parse().unwrap());
        notes.put("session", json!("s")).await.unwrap();
        let torn = dir.path().join("state/qq/session.json");
        std::fs::File::create(torn).unwrap().write_all(b"{\"sess").unwrap();
        assert_eq!(notes.get("session").await.unwrap(), None);
    }
}
