//! Reloads the instructions file when it has changed on the disk.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ports::{BoxFuture, CurrentInstructions, Instructions};

/// Reads and checks the whole file; the error is a text for the log.
pub type ReadInstructions = Box<dyn Fn() -> Result<String, String> + Send + Sync>;

#[derive(Clone)]
pub struct InstructionsFile {
    inner: Arc<InstructionsState>,
}

struct InstructionsState {
    path: PathBuf,
    read: ReadInstructions,
    last: Mutex<Last>,
}

/// The last text, and the version of the file it was read from.
struct Last {
    text: Arc<str>,
    version: Option<Version>,
}

/// Changes whenever the file is written or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl std::fmt::Debug for InstructionsFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InstructionsFile").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

impl InstructionsFile {
    /// The file at `path`, whose text was `text` when the daemon started.
    pub fn new(path: PathBuf, text: &str, read: ReadInstructions) -> Self {
        let last = Mutex::new(Last { text: text.into(), version: None });
        Self { inner: Arc::new(InstructionsState { path, read, last }) }
    }
}

impl Instructions for InstructionsFile {
    fn current(&self) -> BoxFuture<'_, CurrentInstructions> {
        let inner = self.inner.clone();
        Box::pin(async move {
            let looked = inner.clone();
            match tokio::task::spawn_blocking(move || looked.look()).await {
                Ok(current) => current,
                Err(_) => CurrentInstructions { text: inner.last().text.clone(), changed: false },
            }
        })
    }
}

impl InstructionsState {
    fn last(&self) -> std::sync::MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self) -> CurrentInstructions {
        let version = version_of(&self.path);
        {
            let last = self.last();
            if last.version == version && version.is_some() {
                return CurrentInstructions { text: last.text.clone(), changed: false };
            }
        }
        // Read outside the lock: a slow disk must not hold up other threads.
        let read = (self.read)();
        let mut last = self.last();
        let known = last.version == version;
        last.version = version;
        match read {
            Ok(text) if *text != *last.text => {
                tracing::info!(path = %self.path.display(), "instructions changed, read again");
                last.text = text.into();
                CurrentInstructions { text: last.text.clone(), changed: true }
            }
            Ok(_) => CurrentInstructions { text: last.text.clone(), changed: false },
            Err(error) => {
                if !known {
                    tracing::warn!(path = %self.path.display(), error, "instructions unreadable, last text kept");
                }
                CurrentInstructions { text: last.text.clone(), changed: false }
            }
        }
    }
}

fn version_of(path: &PathBuf) -> Option<Version> {
    let found = fs::metadata(path).ok()?;
    Some(Version {
        inode: found.ino(),
        length: found.len(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn write(path: &PathBuf, text: &str) {
        fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[tokio::test]
    async fn a_changed_file_is_read_again_and_an_unreadable_one_keeps_the_last_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("Agent.md");
        write(&path, "one");
        let source = path.clone();
        let read: ReadInstructions =
            Box::new(move || fs::read_to_string(&source).map_err(|error| error.to_string()));
        let file = InstructionsFile::new(path.clone(), "one", read);
        let current = async || {
            let current = file.current().await;
            (current.text.to_string(), current.changed)
        };
        assert_eq!(current().await, ("one".to_owned(), false));
        write(&path, "second");
        assert_eq!(current().await, ("second".to_owned(), true));
        assert_eq!(current().await, ("second".to_owned(), false));
        fs::remove_file(&path).unwrap();
        assert_eq!(current().await, ("second".to_owned(), false));
        write(&path, "third");
        assert_eq!(current().await, ("third".to_owned(), true));
    }
}
