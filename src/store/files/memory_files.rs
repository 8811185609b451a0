//! The files of memory and tasks under `.ship/`. People may edit them; each is read again whenever it is needed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::atomic::replace_file;
use super::disk::refused;
use super::layout::{Layout, private_dir, private_file};
use crate::ports::{StoreError, SystemClock};
use crate::store::memory_book::{FileFacts, MemoryBook, MemoryFiles};

/// Held by the process that writes memory.
const LOCK: &str = ".lock";

/// The memory of one project.
pub type FileMemory = MemoryBook<DiskFiles>;

impl FileMemory {
    /// The memory under this `.ship` directory. Opens nothing.
    pub fn new(ship_dir: impl Into<PathBuf>) -> Self {
        Self::over(DiskFiles { layout: Layout::new(ship_dir) }, Arc::new(SystemClock))
    }
}

/// Files under a `.ship` directory.
#[derive(Clone, Debug)]
pub struct DiskFiles {
    layout: Layout,
}

impl DiskFiles {
    fn path(&self, name: &str) -> PathBuf {
        self.layout.root().join(name)
    }

    fn make_folder_of(path: &Path) -> io::Result<()> {
        private_dir(path.parent().unwrap_or(path))
    }
}

/// The value, or nothing where there is no such file.
fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

impl MemoryFiles for DiskFiles {
    type Guard = File;

    fn lock(&self) -> io::Result<File> {
        let path = self.layout.memory().join(LOCK);
        Self::make_folder_of(&path)?;
        let file = private_file().read(true).write(true).create(true).truncate(false).open(path)?;
        file.lock()?;
        Ok(file)
    }

    fn facts(&self, name: &str) -> io::Result<Option<FileFacts>> {
        let Some(facts) = if_there(std::fs::metadata(self.path(name)))? else { return Ok(None) };
        let modified = i128::from(facts.mtime())
            .saturating_mul(1_000_000_000)
            .saturating_add(i128::from(facts.mtime_nsec()));
        Ok(Some(FileFacts { length: facts.len(), modified, identity: facts.ino() }))
    }

    fn read(&self, name: &str, offset: u64, most: u64) -> io::Result<Vec<u8>> {
        let Some(mut file) = if_there(File::open(self.path(name)))? else { return Ok(Vec::new()) };
        if offset > 0 {
            file.seek(SeekFrom::Start(offset))?;
        }
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(name);
        Self::make_folder_of(&path)?;
        replace_file(&path, bytes, 0o600)
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(name);
        Self::make_folder_of(&path)?;
        let mut file = private_file().append(true).create(true).open(&path)?;
        file.write_all(bytes)?;
        file.sync_data()
    }

    fn truncate(&self, name: &str, length: u64) -> io::Result<()> {
        match if_there(private_file().write(true).open(self.path(name)))? {
            Some(file) => file.set_len(length),
            None => Ok(()),
        }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        if_there(std::fs::remove_file(self.path(name))).map(drop)
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let Some(entries) = if_there(std::fs::read_dir(self.path(folder)))? else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for entry in entries {
            names.extend(entry?.file_name().into_string().ok());
        }
        names.sort();
        Ok(names)
    }

    fn error(&self, name: &str, source: io::Error) -> StoreError {
        refused(self.path(name), source)
    }
}
