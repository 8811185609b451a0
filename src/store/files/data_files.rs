//! The data files that are open for writing: a bounded number, each ending in a complete line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use super::disk::{Disk, refused};
use super::layout::{FileKey, Layout, Stream};
use super::lines::{last_end, length};
use crate::domain::ThreadId;
use crate::ports::StoreError;

const MAX_OPEN: usize = 128;

#[derive(Debug)]
struct CachedFile {
    file: File,
    /// The length after our last write; another length means that another program has written.
    length: u64,
    /// A counter value at its last use.
    used: u64,
}

/// Data files, opened on demand.
#[derive(Debug)]
pub(super) struct DataFiles {
    disk: Arc<dyn Disk>,
    layout: Layout,
    open: BTreeMap<FileKey, CachedFile>,
    turn: u64,
}

impl DataFiles {
    pub(super) fn new(disk: Arc<dyn Disk>, layout: Layout) -> Self {
        Self { disk, layout, open: BTreeMap::new(), turn: 0 }
    }

    /// The offset of the next line. A partial last line is cut off first: the next one would be appended to it, and
    /// both be lost.
    pub(super) fn end(&mut self, key: &FileKey) -> Result<u64, StoreError> {
        let found = self.find_end(key);
        if found.is_err() {
            self.forget(key);
        }
        found.map_err(|source| refused(self.layout.data(key), source))
    }

    fn find_end(&mut self, key: &FileKey) -> io::Result<u64> {
        let disk = Arc::clone(&self.disk);
        let opened = self.opened(key)?;
        let facts = opened.file.metadata()?;
        if facts.nlink() == 0 {
            // Another program has removed or replaced the file: a write to the open file would be lost.
            self.forget(key);
            let opened = self.opened(key)?;
            let length = opened.file.metadata()?.len();
            return settle_end(disk.as_ref(), opened, length);
        }
        settle_end(disk.as_ref(), opened, facts.len())
    }

    pub(super) fn append(&mut self, key: &FileKey, bytes: &[u8]) -> Result<(), StoreError> {
        let disk = Arc::clone(&self.disk);
        let write = |opened: &mut CachedFile| {
            disk.append(&opened.file, bytes)?;
            opened.length = opened.length.saturating_add(length(bytes));
            Ok(())
        };
        self.opened(key).and_then(write).map_err(|source| refused(self.layout.data(key), source))
    }

    /// Truncates the file to an earlier length.
    pub(super) fn cut(&mut self, key: &FileKey, to: u64) -> Result<(), StoreError> {
        self.forget(key);
        let cut = || {
            let file = self.disk.open(&self.layout.data(key))?;
            if file.metadata()?.len() > to {
                self.disk.cut(&file, to)?;
                forget_index(self.disk.as_ref(), &self.layout, key);
            }
            Ok(())
        };
        cut().map_err(|source| refused(self.layout.data(key), source))
    }

    /// Replaces the whole content.
    pub(super) fn replace(&mut self, key: &FileKey, bytes: &[u8]) -> Result<(), StoreError> {
        self.forget(key);
        let path = self.layout.data(key);
        self.disk.replace(&path, bytes).map_err(|source| refused(path, source))
    }

    /// Deletes the files of a thread.
    pub(super) fn delete(&mut self, thread: &ThreadId) -> Result<(), StoreError> {
        self.open.retain(|key, _| key.thread != *thread);
        delete_files(self.disk.as_ref(), &self.layout, thread)
    }

    fn forget(&mut self, key: &FileKey) {
        self.open.remove(key);
    }

    fn opened(&mut self, key: &FileKey) -> io::Result<&mut CachedFile> {
        self.turn = self.turn.saturating_add(1);
        if !self.open.contains_key(key) {
            if self.open.len() >= MAX_OPEN {
                let oldest =
                    self.open.iter().min_by_key(|(_, opened)| opened.used).map(|(key, _)| key.clone());
                oldest.map(|key| self.open.remove(&key));
            }
            let file = self.disk.open(&self.layout.data(key))?;
            self.open.insert(key.clone(), CachedFile { file, length: 0, used: self.turn });
        }
        let opened = self.open.get_mut(key).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        opened.used = self.turn;
        Ok(opened)
    }
}

fn settle_end(disk: &dyn Disk, opened: &mut CachedFile, length: u64) -> io::Result<u64> {
    if length != opened.length {
        let end = last_end(&opened.file, length)?;
        if end != length {
            tracing::warn!(cut = length.saturating_sub(end), at = end, "partial last line removed");
            disk.cut(&opened.file, end)?;
        }
        opened.length = end;
    }
    Ok(opened.length)
}

/// Deletes the files of a thread and its index. Files that are gone already are no error.
pub(super) fn delete_files(disk: &dyn Disk, layout: &Layout, thread: &ThreadId) -> Result<(), StoreError> {
    let data = [Stream::Thread, Stream::Outbox]
        .map(|stream| layout.data(&FileKey { thread: thread.clone(), stream }));
    for path in data.into_iter().chain([layout.index(thread)]) {
        match disk.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(refused(path, error)),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Removes the index of a thread whose file lost lines. A reader with the old index open keeps its own copy, so no
/// reader sees removed lines.
pub(super) fn forget_index(disk: &dyn Disk, layout: &Layout, key: &FileKey) {
    if key.stream == Stream::Thread {
        match disk.remove(&layout.index(&key.thread)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(thread = %key.thread, %error, "stale index not removed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::files::disk::SystemDisk;

    #[test]
    fn an_index_goes_with_the_lines_it_may_tell_of() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        layout.create().unwrap();
        let mut files = DataFiles::new(Arc::new(SystemDisk), layout.clone());
        let key = FileKey { thread: "web:chat:1".parse().unwrap(), stream: Stream::Thread };
        files.append(&key, b"one\ntwo\n").unwrap();
        let index = layout.index(&key.thread);
        File::create(&index).unwrap();
        files.cut(&key, 8).unwrap();
        assert!(index.exists(), "nothing was cut");
        files.cut(&key, 4).unwrap();
        assert!(!index.exists());
        assert_eq!(files.end(&key).unwrap(), 4);
    }

    #[test]
    fn many_threads_share_few_open_files() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        layout.create().unwrap();
        let mut files = DataFiles::new(Arc::new(SystemDisk), layout);
        for round in 1..=2u64 {
            for n in 0..MAX_OPEN + 20 {
                let thread = format!("web:chat:{n}").parse().unwrap();
                let key = FileKey { thread, stream: Stream::Outbox };
                files.append(&key, b"x\n").unwrap();
                assert_eq!(files.end(&key).unwrap(), 2 * round);
            }
            assert_eq!(files.open.len(), MAX_OPEN);
        }
    }
}
