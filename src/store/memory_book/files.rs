//! The files behind a memory book.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ports::{StoreError, StoreErrorKind};

/// Identifies a version of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    pub length: u64,
    /// In nanoseconds.
    pub modified: i128,
    /// Another file under the same name has another number.
    pub identity: u64,
}

/// Files below the state directory, by their paths from there. Blocking.
pub trait MemoryFiles: Send + Sync + std::fmt::Debug + 'static {
    type Guard;

    /// Holds all other writers off, also those in other processes, until the guard is dropped.
    fn lock(&self) -> io::Result<Self::Guard>;

    /// Facts about a file; `None` where there is none.
    fn facts(&self, name: &str) -> io::Result<Option<FileFacts>>;

    /// At most `most` bytes of a file from `offset` on.
    fn read(&self, name: &str, offset: u64, most: u64) -> io::Result<Vec<u8>>;

    /// Replaces a file's content at once and durably, creating it where it is missing.
    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Appends to a file durably, creating it where it is missing.
    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    fn truncate(&self, name: &str, length: u64) -> io::Result<()>;

    /// Removes a file; it may be missing.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names in a folder, sorted; none where there is no such folder.
    fn names(&self, folder: &str) -> io::Result<Vec<String>>;

    fn error(&self, name: &str, source: io::Error) -> StoreError;
}

/// Files in memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct HeldFiles(Arc<Mutex<BTreeMap<String, Held>>>);

#[derive(Clone, Debug, Default)]
struct Held {
    bytes: Vec<u8>,
    version: u64,
}

impl HeldFiles {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a file another content under the same number.
    #[cfg(test)]
    pub(super) fn rewrite(&self, name: &str, bytes: &[u8]) {
        self.all().entry(name.to_owned()).or_default().bytes = bytes.to_vec();
    }
}

impl MemoryFiles for HeldFiles {
    type Guard = ();

    fn lock(&self) -> io::Result<()> {
        Ok(())
    }

    fn facts(&self, name: &str) -> io::Result<Option<FileFacts>> {
        let facts = |held: &Held| FileFacts {
            length: held.bytes.len() as u64,
            modified: i128::from(held.version),
            identity: held.version,
        };
        Ok(self.all().get(name).map(facts))
    }

    fn read(&self, name: &str, offset: u64, most: u64) -> io::Result<Vec<u8>> {
        let place = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let all = self.all();
        let bytes = all.get(name).map(|held| held.bytes.as_slice()).unwrap_or_default();
        Ok(bytes.iter().skip(place(offset)).take(place(most)).copied().collect())
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut all = self.all();
        let held = all.entry(name.to_owned()).or_default();
        held.bytes = bytes.to_vec();
        held.version = held.version.saturating_add(1);
        Ok(())
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.all().entry(name.to_owned()).or_default().bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&self, name: &str, length: u64) -> io::Result<()> {
        if let Some(held) = self.all().get_mut(name) {
            held.bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.all().remove(name);
        Ok(())
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let all = self.all();
        let inside = |name: &str| {
            let name = name.strip_prefix(folder)?.strip_prefix('/')?;
            Some(name.split('/').next().unwrap_or(name).to_owned())
        };
        let mut names: Vec<String> = all.keys().filter_map(|name| inside(name)).collect();
        names.dedup();
        Ok(names)
    }

    fn error(&self, name: &str, source: io::Error) -> StoreError {
        StoreError::new(StoreErrorKind::Unavailable, name, source)
    }
}
