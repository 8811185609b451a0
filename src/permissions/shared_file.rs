//! A small JSON file that several processes read and change: the daemon, and commands beside it.
//!
//! Reading costs a look at the file's facts while nobody changes it. A change is made under a lock that all take, on
//! what stands in the file at that moment, so that none is lost. A file that cannot be understood is never written
//! over.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Replace;
use crate::ports::StoreError;

const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

/// Whether a change changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touched {
    /// It did: the file is written.
    Yes,
    No,
}

/// What tells one content of the file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: (i64, i64),
    length: u64,
    inode: u64,
}

impl From<&Metadata> for Stamp {
    fn from(facts: &Metadata) -> Self {
        Self { modified: (facts.mtime(), facts.mtime_nsec()), length: facts.len(), inode: facts.ino() }
    }
}

#[derive(Debug)]
pub(super) struct SharedFile<T> {
    path: PathBuf,
    lock: PathBuf,
    replace: Replace,
    known: Mutex<Option<(Stamp, Arc<T>)>>,
}

impl<T: Serialize + DeserializeOwned + Default> SharedFile<T> {
    /// The file `<name>.json` of a `.ship` directory. Touches nothing.
    pub(super) fn new(ship_dir: &Path, name: &str, replace: Replace) -> Self {
        Self {
            path: ship_dir.join(format!("{name}.json")),
            lock: ship_dir.join("run").join(format!("{name}.lock")),
            replace,
            known: Mutex::new(None),
        }
    }

    /// What stands in it; the empty content where there is no file.
    pub(super) fn read(&self) -> Result<Arc<T>, StoreError> {
        let facts = match std::fs::metadata(&self.path) {
            Ok(facts) => facts,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(source) => return Err(self.refused(source)),
        };
        let stamp = Stamp::from(&facts);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, content)) = known.as_ref()
            && *of == stamp
        {
            return Ok(content.clone());
        }
        let content = Arc::new(self.load()?);
        // Should it have been replaced since, the stamp is that of the old one, and the next look reads it anew.
        *known = Some((stamp, content.clone()));
        Ok(content)
    }

    /// Changes it, with nobody else in between.
    pub(super) fn change<R>(&self, work: impl FnOnce(&mut T) -> (R, Touched)) -> Result<R, StoreError> {
        let _turn = self.take_turn().map_err(|source| StoreError::Io { path: self.lock.clone(), source })?;
        let mut content = self.load()?;
        let (result, touched) = work(&mut content);
        if touched == Touched::Yes {
            let bytes = serde_json::to_vec_pretty(&content).map_err(|error| self.refused(error.into()))?;
            (self.replace)(&self.path, &bytes, FILE_MODE).map_err(|source| self.refused(source))?;
        }
        Ok(result)
    }

    fn load(&self) -> Result<T, StoreError> {
        load(&self.path)
    }

    /// The lock, which goes when the file is closed.
    fn take_turn(&self) -> io::Result<File> {
        if let Some(dir) = self.lock.parent() {
            DirBuilder::new().recursive(true).mode(DIR_MODE).create(dir)?;
        }
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).mode(FILE_MODE).open(&self.lock)?;
        file.lock()?;
        Ok(file)
    }

    fn refused(&self, source: io::Error) -> StoreError {
        StoreError::Io { path: self.path.clone(), source }
    }
}

/// What stands in a file; the empty content where there is none.
pub(super) fn load<T: DeserializeOwned + Default>(path: &Path) -> Result<T, StoreError> {
    match std::fs::read(path) {
        Ok(bytes) => parse(&bytes).map_err(|source| StoreError::Garbled { path: path.to_owned(), source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        Err(source) => Err(StoreError::Io { path: path.to_owned(), source }),
    }
}

/// Reads an object, and nothing else: serde would take the fields of one from a list as well.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(serde::de::Error::custom("expected an object"));
    }
    serde_json::from_slice(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn replace(path: &Path, bytes: &[u8], _mode: u32) -> io::Result<()> {
        let mut temp = tempfile::NamedTempFile::new_in(path.parent().unwrap())?;
        temp.write_all(bytes)?;
        temp.persist(path)?;
        Ok(())
    }

    #[derive(Debug, Default, Serialize, serde::Deserialize)]
    struct Numbers {
        #[serde(default)]
        all: Vec<u32>,
    }

    fn file(dir: &Path) -> SharedFile<Numbers> {
        SharedFile::new(dir, "numbers", replace)
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
                        file.change(|numbers| (numbers.all.push(hand * 100 + number), Touched::Yes)).unwrap();
                    }
                });
            }
        });
        assert_eq!(reader.read().unwrap().all.len(), 100);
    }

    #[test]
    fn a_change_that_changes_nothing_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(file(dir.path()).change(|_| (7, Touched::No)).unwrap(), 7);
        assert!(!dir.path().join("numbers.json").exists());
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_told_and_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("numbers.json");
        for garbled in [&b"{\"all\": [1, 2"[..], b"[]", b"", b"{\"all\": 1}"] {
            replace(&path, garbled, 0).unwrap();
            let file = file(dir.path());
            assert!(matches!(file.read(), Err(StoreError::Garbled { .. })), "{garbled:?}");
            assert!(matches!(file.change(|_| ((), Touched::Yes)), Err(StoreError::Garbled { .. })));
            assert_eq!(std::fs::read(&path).unwrap(), garbled);
        }
    }
}
