//! A small JSON file that several processes read and change: the daemon, and commands beside it.
//!
//! Reading costs one `stat` while the file does not change. A change is made under a lock that all processes take, on
//! the current content, so that none is lost. A file that cannot be parsed is never overwritten.

use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::atomic::replace_file;
use super::disk::refused;
use super::layout::{private_dir, private_file};
use crate::ports::{Audit, StoreError, StoreErrorKind};
use crate::store::access_records::AccessRecords;
use crate::store::document::{Document, Modified};
use crate::store::document_access::DocumentAccess;
use crate::store::grants::{DocumentGrants, GrantRecords};

const FILE_MODE: u32 = 0o600;

/// How long a change waits for the lock, and the pause between two attempts.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// The grants in `.ship/grants.json`.
pub type FileGrants = DocumentGrants<SharedFile<GrantRecords>>;
/// The access records in `.ship/access.json`.
pub type FileAccess = DocumentAccess<SharedFile<AccessRecords>>;

impl FileGrants {
    /// The grants of this `.ship` directory. Opens nothing.
    pub fn new(ship_dir: &Path, audit: Arc<dyn Audit>) -> Self {
        Self::over(SharedFile::new(ship_dir, "grants"), audit)
    }
}

impl FileAccess {
    /// The access records of this `.ship` directory. Opens nothing.
    pub fn new(ship_dir: &Path, audit: Arc<dyn Audit>) -> Self {
        Self::over(SharedFile::new(ship_dir, "access"), audit)
    }
}

/// Identifies a version of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileVersion {
    modified: (i64, i64),
    length: u64,
    inode: u64,
}

impl From<&Metadata> for FileVersion {
    fn from(facts: &Metadata) -> Self {
        Self { modified: (facts.mtime(), facts.mtime_nsec()), length: facts.len(), inode: facts.ino() }
    }
}

/// The file, and its last read content.
#[derive(Debug)]
pub struct SharedFile<T> {
    inner: Arc<SharedFileState<T>>,
}

#[derive(Debug)]
struct SharedFileState<T> {
    path: PathBuf,
    lock: PathBuf,
    patience: Duration,
    known: Mutex<Option<(FileVersion, Arc<T>)>>,
}

impl<T: Serialize + DeserializeOwned + Default> SharedFile<T> {
    /// The file `<name>.json` of a `.ship` directory. Opens nothing.
    fn new(ship_dir: &Path, name: &str) -> Self {
        let inner = SharedFileState {
            path: ship_dir.join(format!("{name}.json")),
            lock: ship_dir.join("run").join(format!("{name}.lock")),
            patience: PATIENCE,
            known: Mutex::new(None),
        };
        Self { inner: Arc::new(inner) }
    }
}

impl<T> Document<T> for SharedFile<T>
where
    T: Serialize + DeserializeOwned + Default + Send + Sync + std::fmt::Debug + 'static,
{
    async fn read(&self) -> Result<Arc<T>, StoreError> {
        let inner = self.inner.clone();
        let read = tokio::task::spawn_blocking(move || inner.read());
        read.await.map_err(|_| StoreError::closed())?
    }

    async fn change<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut T) -> (R, Modified) + Send + 'static,
    ) -> Result<R, StoreError> {
        let inner = self.inner.clone();
        let changed = tokio::task::spawn_blocking(move || inner.change(work));
        changed.await.map_err(|_| StoreError::closed())?
    }
}

impl<T: Serialize + DeserializeOwned + Default> SharedFileState<T> {
    /// Costs one `stat` while the file is unchanged.
    fn read(&self) -> Result<Arc<T>, StoreError> {
        let facts = match std::fs::metadata(&self.path) {
            Ok(facts) => facts,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(source) => return Err(refused(&self.path, source)),
        };
        let stamp = FileVersion::from(&facts);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, content)) = known.as_ref()
            && *of == stamp
        {
            return Ok(content.clone());
        }
        let content: Arc<T> = Arc::new(load(&self.path)?);
        // If the file was replaced since, the stamp is the old one's, and the next call reads it again.
        *known = Some((stamp, content.clone()));
        Ok(content)
    }

    fn change<R>(&self, work: impl FnOnce(&mut T) -> (R, Modified)) -> Result<R, StoreError> {
        let _turn = self.take_turn().map_err(|source| refused(&self.lock, source))?;
        let mut content = load(&self.path)?;
        let (result, touched) = work(&mut content);
        if touched == Modified::Yes {
            let bytes =
                serde_json::to_vec_pretty(&content).map_err(|error| refused(&self.path, error.into()))?;
            replace_file(&self.path, &bytes, FILE_MODE).map_err(|source| refused(&self.path, source))?;
        }
        Ok(result)
    }

    /// Takes the lock, which is released when the file is closed.
    fn take_turn(&self) -> io::Result<File> {
        if let Some(dir) = self.lock.parent() {
            private_dir(dir)?;
        }
        let file = private_file().create(true).truncate(false).write(true).open(&self.lock)?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if began.elapsed() < self.patience => {
                    std::thread::sleep(PAUSE);
                }
                // A process that is stopped while it holds the lock must not hold this one as well.
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "another process holds its lock"));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

/// The content of a file; the default where there is none.
fn load<T: DeserializeOwned + Default>(path: &Path) -> Result<T, StoreError> {
    match std::fs::read(path) {
        Ok(bytes) => parse(&bytes)
            .map_err(|source| StoreError::new(StoreErrorKind::Invalid, path.to_string_lossy(), source)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        Err(source) => Err(refused(path, source)),
    }
}

/// Parses an object, and nothing else: serde would accept a list of field values as well.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(serde::de::Error::custom("expected an object"));
    }
    serde_json::from_slice(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Serialize, serde::Deserialize)]
    struct Numbers {
        #[serde(default)]
        all: Vec<u32>,
    }

    fn file(dir: &Path) -> Arc<SharedFileState<Numbers>> {
        SharedFile::new(dir, "numbers").inner
    }

    #[test]
    fn changes_of_several_hands_are_all_there_and_every_reader_sees_them() {
        let dir = tempfile::tempdir().unwrap();
        let reader = file(dir.path());
        assert!(reader.read().unwrap().all.is_empty());
        std::thread::scope(|scope| {
            for hand in 0..4_u32 {
                let dir = dir.path();
                scope.spawn(move || {
                    let file = file(dir);
                    for number in 0..25 {
                        file.change(|numbers| (numbers.all.push(hand * 100 + number), Modified::Yes))
                            .unwrap();
                    }
                });
            }
        });
        assert_eq!(reader.read().unwrap().all.len(), 100);
    }

    #[test]
    fn a_file_that_did_not_change_is_not_parsed_again() {
        let dir = tempfile::tempdir().unwrap();
        let (file, other) = (file(dir.path()), file(dir.path()));
        let add = |number| other.change(|numbers| (numbers.all.push(number), Modified::Yes)).unwrap();
        add(1);
        let first = file.read().unwrap();
        assert!(Arc::ptr_eq(&first, &file.read().unwrap()));
        add(2);
        assert_eq!(file.read().unwrap().all, [1, 2], "what another process changed is seen");
    }

    #[test]
    fn a_change_gives_up_when_another_process_keeps_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(dir.path());
        file.change(|numbers| (numbers.all.push(1), Modified::Yes)).unwrap();
        let other = File::open(&file.lock).unwrap();
        other.lock().unwrap();
        let hasty = SharedFileState {
            path: file.path.clone(),
            lock: file.lock.clone(),
            patience: Duration::ZERO,
            known: Mutex::default(),
        };
        let refused = hasty.change(|numbers: &mut Numbers| (numbers.all.push(2), Modified::Yes)).unwrap_err();
        assert!(std::error::Error::source(&refused).is_some_and(|why| why.to_string().contains("lock")));
        drop(other);
        hasty.change(|numbers: &mut Numbers| (numbers.all.push(3), Modified::Yes)).unwrap();
        assert_eq!(file.read().unwrap().all, [1, 3]);
    }

    #[test]
    fn a_change_that_changes_nothing_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(file(dir.path()).change(|_| (7, Modified::No)).unwrap(), 7);
        assert!(!dir.path().join("numbers.json").exists());
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_told_and_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("numbers.json");
        for garbled in [&b"{\"all\": [1, 2"[..], b"[]", b"", b"{\"all\": 1}"] {
            replace_file(&path, garbled, FILE_MODE).unwrap();
            let file = file(dir.path());
            assert_eq!(file.read().unwrap_err().kind(), StoreErrorKind::Invalid, "{garbled:?}");
            assert_eq!(file.change(|_| ((), Modified::Yes)).unwrap_err().kind(), StoreErrorKind::Invalid);
            assert_eq!(std::fs::read(&path).unwrap(), garbled);
        }
    }
}
